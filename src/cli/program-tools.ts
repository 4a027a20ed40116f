import { type Command, InvalidArgumentError } from 'commander';
import type { Io } from './io.js';

/** The commands about capabilities and their executors. What they do is loaded when they are called. */
export function addCapability(program: Command, io: Io, done: (code: number) => void): void {
  const capability = program
    .command('capability')
    .description('look at capabilities and their executors, try one, make a new executor');
  addList(capability, io, done);
  addRun(capability, io, done);
  addCreate(capability, io, done);
  addRefresh(capability, io, done);
}

function addList(capability: Command, io: Io, done: (code: number) => void): void {
  capability
    .command('list')
    .description('print the executors and capabilities of a project, who runs what, and what is wrong with them')
    .argument('[workflow]', 'the workflow file whose folder is the project (default: this folder)')
    .option('--json', 'print it as JSON')
    .action(async (workflow: string | undefined, { json = false }: { readonly json?: boolean }) => {
      const { listCapability } = await import('./capability.js');
      done(await listCapability({ workflow, json }, io));
    });
}

function addRun(capability: Command, io: Io, done: (code: number) => void): void {
  capability
    .command('run')
    .description('run one capability right here, without a daemon; its result goes to the output as JSON')
    .argument('<type>', 'its type, such as skill')
    .argument('<name>', 'its name')
    .option('--params <json>', 'what it is called with, as a JSON object')
    .option('--param <key=value>', 'one parameter; as often as needed, and wins over --params', collect, [])
    .option('--workspace <dir>', 'the folder that it works in (default: this one)')
    .option('--timeout <seconds>', 'end it after so long (default: never)', toSeconds)
    .option('--workflow <file>', 'the workflow whose project and settings are meant (default: that of this folder)')
    .action(async (type: string, name: string, flags: RunFlags) => {
      const { runCapability } = await import('./capability-run.js');
      const { params, param, workspace, timeout, workflow } = flags;
      const timeoutMs = timeout === undefined ? null : timeout * 1000;
      done(await runCapability({ type, name, params, param, workspace, timeoutMs, workflow }, io));
    });
}

interface RunFlags {
  readonly params?: string;
  readonly param: readonly string[];
  readonly workspace?: string;
  readonly timeout?: number;
  readonly workflow?: string;
}

function addCreate(capability: Command, io: Io, done: (code: number) => void): void {
  capability
    .command('create')
    .description('make the folder of a new executor, with code to be replaced; never overwrites anything')
    .argument('<name>', 'its name')
    .requiredOption('--type <type>', 'a type of capability that it runs; as often as needed', collect)
    .option('--description <text>', 'what it is for')
    .option('--global', 'for all projects of this user, in the home folder')
    .option('--workflow <file>', 'the workflow file whose folder is the project (default: this folder)')
    .action(async (name: string, { type, global: isGlobal = false, ...flags }: CreateFlags) => {
      const { createExecutor } = await import('./capability/create-executor.js');
      done(await createExecutor({ name, types: type, isGlobal, ...flags }, io));
    });
}

interface CreateFlags {
  readonly type: readonly string[];
  readonly description?: string;
  readonly global?: boolean;
  readonly workflow?: string;
}

function addRefresh(capability: Command, io: Io, done: (code: number) => void): void {
  capability
    .command('refresh')
    .description('let the running daemon look again for executors and capabilities, and print what it finds')
    .argument('[workflow]', 'the workflow file that the daemon works with (default: WORKFLOW.md)')
    .option('--state-dir <dir>', 'the state directory of the daemon')
    .action(async (workflow: string | undefined, { stateDir }: { readonly stateDir?: string }) => {
      const { refreshCapabilities } = await import('./capability/refresh-capabilities.js');
      done(await refreshCapabilities({ workflow, stateDir }, io));
    });
}

function collect(text: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, text];
}

function toSeconds(text: string): number {
  const seconds = Number(text);
  if (/^\d+(?:\.\d+)?$/.test(text) && seconds > 0 && seconds <= 86_400) return seconds;
  throw new InvalidArgumentError('It must be a number of seconds, up to 86400.');
}
