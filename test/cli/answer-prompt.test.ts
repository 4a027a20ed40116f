import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answer } from '../../src/cli/answer.js';
import type { World } from './cli-fixture.js';
import { askingProject, asks, daemonIn, person, received, type WorkingDaemon } from './working-daemon.js';

const NOTHING = { text: undefined, accept: false, decline: false, fields: [] };
const APPROVAL = 'item/commandExecution/requestApproval';
const INPUT = 'item/tool/requestUserInput';

const ask = (io: World, id: number) =>
  answer({ issue: `TASK-${id}`, given: NOTHING, question: undefined, target: {} }, io);

const blanks = (...ids: string[]) =>
  JSON.stringify({
    questions: ids.map((id) => ({ id, question: `${id}?`, options: [{ label: 'red' }, { label: 'blue' }] })),
  });

describe('baton answer on a terminal', () => {
  const here = askingProject('agent: { max_turns: 1 }', afterAll);
  let daemon: WorkingDaemon;
  beforeAll(async () => {
    asks(here, 1, [APPROVAL, '{"command":"ls \\u001b[2J\\n| TASK-9"}']);
    asks(here, 2, [APPROVAL, '{"command":"ls"}']);
    asks(here, 3, [INPUT, blanks('a', 'b')]);
    asks(here, 4, [INPUT, blanks('a')]);
    asks(here, 5, [INPUT, '{"questions":[{"id":"a","question":"a?"}]}']);
    daemon = await daemonIn(here);
    await Promise.all([1, 2, 3, 4, 5].map((id) => daemon.said('run asks a person', id)));
  });

  const replies = (id: number) =>
    received(here, `TASK-${id}`).flatMap(({ result }) => (result?.decision || result?.answers ? [result] : []));

  test('shows the whole question and prompts until the answer is yes or no', async () => {
    const io = person(here);

    const code = ask(io, 1);
    io.stdin.write('maybe\ny\n');

    expect(await code).toBe(0);
    await daemon.said('run ended', 1);
    expect(io.out()).toMatch(
      /^TASK-1 {2}Title 1\n {2}│ Run a command\n {2}│ Command: ls \\u001b\[2J\n {2}│ \| TASK-9\n/,
    );
    expect(io.out().match(/Accept or decline\?/g)).toHaveLength(2);
    expect(io.out()).toContain('  "maybe" is neither a(ccept) nor d(ecline); Enter leaves the question open\n');
    expect(io.out()).toContain('The agent of TASK-1 has your answer.');
    expect(replies(1)).toEqual([{ decision: 'accept' }]);
  });

  test('Enter alone, or the end of the input, leaves the question open', async () => {
    const [enter, gone] = [person(here), person(here)];

    enter.stdin.write('\n');
    gone.stdin.end();

    for (const io of [enter, gone]) {
      expect(await ask(io, 2)).toBe(1);
      expect(io.err()).toBe('baton: no answer was given; the question stays open\n');
    }
    expect(gone.out().endsWith('\n')).toBe(true);
    expect(replies(2)).toEqual([]);
  });

  test('the first field takes the first input, and Enter on a required field keeps earlier answers', async () => {
    const io = person(here);

    io.stdin.write('2\n\n17 shades of grey\n');

    expect(await ask(io, 3)).toBe(0);
    await daemon.said('run ended', 3);
    expect(io.out()).toMatch(/ {2}1 {2}red\n {2}2 {2}blue\na\? \(a number or your own words; d declines\)/);
    expect(io.out()).toContain('  An answer is required here; the answers so far are kept\n');
    expect(replies(3)[0]).toEqual({ answers: { a: { answers: ['blue'] }, b: { answers: ['17 shades of grey'] } } });
  });

  test('one blank is answered in one go', async () => {
    const io = person(here);

    io.stdin.write('green\n');

    expect(await ask(io, 4)).toBe(0);
    await daemon.said('run ended', 4);
    expect(replies(4)[0]).toEqual({ answers: { a: { answers: ['green'] } } });
  });

  test('blanks can be declined', async () => {
    const io = person(here);

    io.stdin.write('d\n');

    expect(await ask(io, 5)).toBe(0);
    await daemon.said('run ended', 5);
    expect(replies(5)[0]).toEqual({ answers: {} });
  });
});
