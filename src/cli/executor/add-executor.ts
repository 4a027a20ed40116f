import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import type { Io } from '../io.js';

/** The commands about external executors. What they do is loaded when they are called. */
export function addExecutor(program: Command, io: Io, done: (code: number) => void): void {
  const executor = program.command('executor').description('look at external executors, and hold one to the protocol');
  executor
    .command('list')
    .description('print the executors that the workflow can use, and where they are defined')
    .argument('[workflow]', 'the workflow file', 'WORKFLOW.md')
    .action(async (workflowPath: string) => {
      const { listExecutors } = await import('../executor.js');
      done(await listExecutors({ workflowPath }, io));
    });
  executor
    .command('test')
    .description('start an executor a few times, for real, in an empty folder, and tell where it leaves the protocol')
    .argument('<name>', 'its name, as `baton executor list` shows it')
    .argument('[workflow]', 'the workflow file', 'WORKFLOW.md')
    .option('--input <file>', 'a JSON file with the input to give it, where it does nothing without one')
    .option('--limit <seconds>', 'how long it may take each time', toSeconds, 30)
    .action(async (name: string, workflowPath: string, { input, limit }: TestFlags) => {
      // `baton executor test other/WORKFLOW.md` has forgotten the name.
      if (/\.md$/i.test(name) && existsSync(resolve(io.cwd, name))) {
        executor.error(`error: ${name} is a workflow; name the executor first, see 'baton executor list ${name}'`);
      }
      const { testExecutor } = await import('./test-executor.js');
      done(await testExecutor({ name, workflowPath, inputPath: input, limitMs: limit * 1000 }, io));
    });
}

interface TestFlags {
  readonly input?: string;
  readonly limit: number;
}

function toSeconds(text: string): number {
  const seconds = Number(text);
  if (/^\d+(?:\.\d+)?$/.test(text) && seconds > 0 && seconds <= 86_400) return seconds;
  throw new InvalidArgumentError('It must be a number of seconds, up to 86400.');
}
