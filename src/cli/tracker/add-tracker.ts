import { type Command, InvalidArgumentError } from 'commander';
import type { Io } from '../io.js';

/** The command about tracker programs. What it does is loaded when it is called. */
export function addTracker(program: Command, io: Io, done: (code: number) => void): void {
  const tracker = program
    .command('tracker')
    .description('hold a program that serves issues (tracker.kind: command) to the protocol');
  tracker
    .command('test')
    .description('start the program as the daemon would, ask it everything, and tell where it leaves the protocol')
    .argument('[command]', 'the command, or a workflow with its environment (default: WORKFLOW.md)')
    .option('--write <id>', 'comment on this issue, move it and move it back: people will see that', toText)
    .option('--states <states>', 'look for issues in these, with commas between them', toStates)
    .option('--limit <seconds>', 'how long an answer may take (default: timeout_ms of the workflow, or 30)', toSeconds)
    .action(async (named: string | undefined, { write, states, limit }: TestFlags) => {
      const { testTracker } = await import('./test-tracker.js');
      const limitMs = limit === undefined ? undefined : limit * 1000;
      done(await testTracker({ named, writeId: write, states, limitMs }, io));
    });
}

interface TestFlags {
  readonly write?: string;
  readonly states?: readonly string[];
  readonly limit?: number;
}

function toText(text: string): string {
  if (text.trim() !== '') return text.trim();
  throw new InvalidArgumentError('It must be the id of an issue.');
}

function toStates(text: string): readonly string[] {
  const states = text.split(',').map((state) => state.trim());
  if (states.every((state) => state !== '')) return states;
  throw new InvalidArgumentError('It must be names of states, such as "Todo,In Progress".');
}

function toSeconds(text: string): number {
  const seconds = Number(text);
  if (/^\d+(?:\.\d+)?$/.test(text) && seconds > 0 && seconds <= 600) return seconds;
  throw new InvalidArgumentError('It must be a number of seconds, up to 600.');
}
