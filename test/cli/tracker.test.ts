import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { livingWith } from '../runner/contain/workbench.js';
import { commandOf } from '../tracker/command/program-fixture.js';
import { baton, type World, world } from './cli-fixture.js';

const EXAMPLE = fileURLToPath(new URL('../../templates/trackers/json-file.mjs', import.meta.url));

const trackerTest = (io: World, ...args: string[]) => baton(io, 'tracker', 'test', ...args);

const ISSUE = { id: '1', identifier: 'B-1', title: 'Try it', state: 'Todo' };
const BOARD = { states: ['Todo', 'In Progress', 'Done'], issues: [ISSUE, { ...ISSUE, id: '2', state: 'Done' }] };

/** Puts the example that ships into the folder, with a board; the command that starts it. */
function putExample(io: World, board: object = BOARD): string {
  cpSync(EXAMPLE, join(io.dir, 'json-file.mjs'));
  io.write('board.json', JSON.stringify(board));
  return `${process.execPath} json-file.mjs board.json`;
}

const boardOf = (io: World) => JSON.parse(readFileSync(join(io.dir, 'board.json'), 'utf8'));

const workflow = (provider: string, more = '') => `---
tracker:
  kind: command
  active_states: [Ready]
  terminal_states: [Done]
  provider: ${provider}
${more}---
Work on {{ issue.identifier }}.
`;

describe('the example that ships', () => {
  test('has at most forty lines and keeps the protocol, including changes', async () => {
    const io = world();
    const command = putExample(io);

    const code = await trackerTest(io, command, '--write', '1');

    expect(io.out()).toMatch(/It keeps the protocol: 16 checks passed\.\n$/);
    expect(io.out()).toContain('✓ moves an issue to another state, and back: "Todo", "In Progress", "Todo"');
    expect(code).toBe(0);
    expect(io.err()).toBe('');
    expect(boardOf(io).issues[0]).toMatchObject({ state: 'Todo', comments: [{ author: 'baton' }] });
    expect(livingWith(io.dir)).toEqual([]);
    expect(readFileSync(join(io.dir, 'json-file.mjs'), 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(40);
  });

  test('keeps the protocol with numbers as ids', async () => {
    const io = world();
    const command = putExample(io, {
      ...BOARD,
      issues: BOARD.issues.map((each) => ({ ...each, id: Number(each.id) })),
    });

    const code = await trackerTest(io, command, '--write', '1');

    expect(io.out()).toMatch(/It keeps the protocol: 16 checks passed\.\n$/);
    expect(code).toBe(0);
    expect(boardOf(io).issues[0]).toMatchObject({ id: 1, comments: [{ author: 'baton' }] });
  });

  test('changes nothing without --write', async () => {
    const io = world();
    const command = putExample(io);

    const code = await trackerTest(io, command);

    expect(code).toBe(0);
    expect(io.out().match(/ {2}- .*: skipped: it changes an issue; name one .* --write <id>/g)).toHaveLength(3);
    expect(io.out()).toMatch(/13 checks passed, 3 skipped\.\n$/);
    expect(boardOf(io)).toEqual(BOARD);
  });

  test('is read for its states when no issue is in a default state', async () => {
    const io = world();
    const command = putExample(io, {
      states: ['Ready'],
      issues: [{ id: '7', identifier: 'A', title: 'T', state: 'Ready' }],
    });

    const code = await trackerTest(io, command);

    expect(code).toBe(0);
    expect(io.out()).toContain('✓ answers issues_by_states with a list of issues: 0 in Todo,');
    expect(io.out()).toContain('✓ finds issues by their ids\n');
  });
});

describe('programs that keep the protocol', () => {
  test('a program that exits after each answer passes, with a note about its starts', async () => {
    const io = world();

    const code = await trackerTest(io, commandOf('exits-after-each', 'late'));

    expect(code).toBe(0);
    expect(io.out()).toContain('· was given two requests at once: it answered 13\n      Baton waits for each answer');
    expect(io.out()).toMatch(/· was started: (\d+) times for \1 answers\n {6}That is fine, but/);
  });

  test('a program that exits a moment after each answer gets changes only when it is new', async () => {
    const io = world();
    const command = `head -n 1 | ${putExample(io)}; sleep 0.1`;

    const code = await trackerTest(io, command, '--write', '1');

    expect(io.out()).toContain('✓ comments on an issue');
    expect(io.out()).toContain('✓ moves an issue to another state, and back: "Todo", "In Progress", "Todo"');
    expect(code).toBe(0);
    expect(boardOf(io).issues[0].comments).toHaveLength(1);
  });

  test('an empty board skips checks, with the advice to name states', async () => {
    const io = world();

    const code = await trackerTest(io, putExample(io, { states: [], issues: [] }), '--states', 'Here, There');

    expect(code).toBe(0);
    expect(io.out()).toContain('0 in Here, There');
    expect(io.out()).toContain('- finds issues by their ids: skipped: there are no issues');
  });
});

describe('a failed check shows request, answer and action', () => {
  test('on lines of their own', async () => {
    const io = world();

    const code = await trackerTest(io, commandOf('faulty', 'ignores the requested states'));

    expect(code).toBe(1);
    expect(io.out()).toContain(
      [
        '  ✗ sends only issues in the requested states: it sent X-2, which is in "Done", when asked for "Todo"',
        '      sent  {"v":1,"id":15,"method":"issues_by_states","params":{"states":["Todo"]}}',
        '      came  {"id":15,"result":{"issues":[{"id":"1",',
      ].join('\n'),
    );
    expect(io.out()).toContain('      Send only issues in the requested states; where there is none, an empty list.\n');
    expect(io.out()).toMatch(/1 of 14 checks failed, 3 skipped\.\n$/);
  });

  test('for processes that write too much, run too long or leave child processes', async () => {
    const io = world();
    const faulty = commandOf('faulty', 'ends badly', io.dir);

    const code = await trackerTest(io, faulty);

    expect(code).toBe(1);
    expect(io.out()).toContain('  ✗ writes nothing but answers: it wrote 2 lines\n');
    expect(io.out()).toMatch(/came {2}\{"id":5,.* ⏎ by the way\n {6}Write nothing but answers to stdout/);
    expect(io.out()).toContain('  ✗ leaves no process behind: it left 1 process behind\n');
    expect(livingWith(io.dir)).toEqual([]);
  });

  test('a program that does not end is ended', async () => {
    const io = world();

    const code = await trackerTest(io, commandOf('faulty', 'never ends', io.dir));

    expect(code).toBe(1);
    expect(io.out()).toContain('  ✗ exits when its stdin ends: it was still there after 1 s\n');
    expect(livingWith(io.dir)).toEqual([]);
  });
});

describe('the program of a workflow', () => {
  test('gets its settings: folder, environment, states', async () => {
    const io = world({ env: { MY_BOARD: 'board.json', OTHER: 'kept-away' } });
    const command = putExample(io, { states: ['Ready', 'Done'], issues: [] }).replace(' board.json', ' $BOARD');
    const text = workflow(`{ command: '[ -z "$OTHER" ] && exec ${command}', env: { BOARD: $MY_BOARD } }`);
    io.write('WORKFLOW.md', text);
    io.write('other/flow.md', workflow('{ command: no-such-program }'));

    const codes = [await trackerTest(io), await trackerTest(io, 'other/flow.md')];

    expect(codes).toEqual([0, 1]);
    expect(io.out()).toContain('0 in Ready, Done');
  });

  test('SEC-20 its secrets are not shown', async () => {
    const io = world({ env: { MY_TOKEN: 'canary-4711-secret' } });
    io.write('WORKFLOW.md', workflow(`{ command: "${commandOf('prints-secrets')}", env: { TOKEN: $MY_TOKEN } }`));

    const code = await trackerTest(io);

    expect(code).toBe(1);
    expect(io.out()).toContain('it answered with the error auth (bad token ***, hidden (none)');
    expect(io.out() + io.err()).not.toContain('canary');
    expect(io.out()).not.toContain('\u001b');
  });
});

describe('errors before the first check', () => {
  test.each([
    ['a missing workflow', [], 'missing_workflow_file'],
    ['a workflow of another tracker', ['local.md'], 'has tracker.kind "local", which is not a program'],
    ['a secret that is not set', ['secret.md'], 'env.TOKEN stands for NOT_SET, which is not set'],
    ['an empty command', ['  '], 'the command is empty'],
    ['a limit of zero', ['true', '--limit', '0'], 'It must be a number of seconds'],
    ['states without a name', ['true', '--states', 'Todo,,'], 'It must be names of states'],
    ['an issue without a name', ['true', '--write', ' '], 'It must be the id of an issue'],
  ])('%s is an error with exit code 2', async (_, args, words) => {
    const io = world();
    io.write('local.md', '---\ntracker: { kind: local }\n---\nGo.\n');
    io.write('secret.md', workflow('{ command: x, env: { TOKEN: $NOT_SET } }'));

    expect(await trackerTest(io, ...args)).toBe(2);
    expect(io.err()).toContain(words);
    expect(io.out()).toBe('');
  });
});
