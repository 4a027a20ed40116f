import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command, CommanderError } from 'commander';
import { addTracker } from '../../../src/cli/program-tools.js';
import type { World } from '../cli-fixture.js';

const EXAMPLE = fileURLToPath(new URL('../../../templates/trackers/json-file.mjs', import.meta.url));

/** The exit code of `baton tracker test …`, in this process. */
export async function batonTrackerTest(io: World, ...args: string[]): Promise<number> {
  let code = -1;
  const program = new Command('baton').exitOverride().configureOutput({ writeErr: (text) => io.stderr.write(text) });
  addTracker(program, io, (given) => {
    code = given;
  });
  try {
    await program.parseAsync(['node', 'baton', 'tracker', 'test', ...args]);
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return 2;
    throw error;
  }
}

export const ISSUE = { id: '1', identifier: 'B-1', title: 'Try it', state: 'Todo' };
export const BOARD = { states: ['Todo', 'In Progress', 'Done'], issues: [ISSUE, { ...ISSUE, id: '2', state: 'Done' }] };

/** Puts the example that ships into the folder, with a board; the command that starts it. */
export function putExample(io: World, board: object = BOARD): string {
  cpSync(EXAMPLE, join(io.dir, 'json-file.mjs'));
  io.write('board.json', JSON.stringify(board));
  return `${process.execPath} json-file.mjs board.json`;
}
