import { describe, expect, test } from 'vitest';
import { answer } from '../../../src/cli/control/answer.js';
import type { World } from '../cli-fixture.js';
import type { Place } from '../command.js';
import { daemonIn, issue, person, project, received } from './working-daemon.js';

const NOTHING = { text: undefined, accept: false, decline: false, fields: [] };

async function asking(...question: string[]): Promise<{ here: Place; ended: () => Promise<unknown> }> {
  const here = project('asks', question, 'agent: { max_turns: 1 }');
  issue(here, 1);
  const daemon = await daemonIn(here);
  await daemon.said('run asks a person');
  return { here, ended: () => daemon.said('run ended') };
}

const replies = (here: Place) =>
  received(here).flatMap(({ result }) => (result?.decision || result?.answers ? [result] : []));
const ask = (io: World) => answer({ issue: 'TASK-1', given: NOTHING, question: undefined, target: {} }, io);

describe('baton answer on a terminal', () => {
  test('shows the question in full and asks until it is told yes or no', async () => {
    const { here, ended } = await asking(
      'item/commandExecution/requestApproval',
      '{"command":"ls \\u001b[2J\\n| TASK-9"}',
    );
    const io = person(here);

    const code = ask(io);
    io.stdin.write('maybe\ny\n');

    expect(await code).toBe(0);
    await ended();
    expect(io.out()).toMatch(
      /^TASK-1 {2}Title 1\n {2}│ Run a command\n {2}│ Command: ls \\u001b\[2J\n {2}│ \| TASK-9\n/,
    );
    expect(io.out().match(/Accept or decline\?/g)).toHaveLength(2);
    expect(io.out()).toContain('The agent of TASK-1 has your answer.');
    expect(replies(here)).toEqual([{ decision: 'accept' }]);
  });

  test('Enter alone, or the end of the input, leaves the question open', async () => {
    const { here } = await asking('item/commandExecution/requestApproval', '{"command":"ls"}');
    const [enter, gone] = [person(here), person(here)];

    enter.stdin.write('\n');
    gone.stdin.end();

    for (const io of [enter, gone]) {
      expect(await ask(io)).toBe(1);
      expect(io.err()).toBe('baton: nothing was answered; it is still open\n');
    }
    expect(replies(here)).toEqual([]);
  });

  test('asks for each blank, with its options by number or in own words', async () => {
    const questions = ['a', 'b'].map((id) => ({
      id,
      question: `${id}?`,
      options: [{ label: 'red' }, { label: 'blue' }],
    }));
    const { here, ended } = await asking('item/tool/requestUserInput', JSON.stringify({ questions }));
    const io = person(here);

    io.stdin.write('\n2\n17 shades of grey\n');

    expect(await ask(io)).toBe(0);
    await ended();
    expect(io.out()).toMatch(/ {2}1 {2}red\n {2}2 {2}blue\na\? \(a number, or your own words\)/);
    expect(replies(here)).toEqual([{ answers: { a: { answers: ['blue'] }, b: { answers: ['17 shades of grey'] } } }]);
  });

  test('blanks can be declined', async () => {
    const { here, ended } = await asking('item/tool/requestUserInput', '{"questions":[{"id":"a","question":"a?"}]}');
    const io = person(here);

    io.stdin.write('decline\n');

    expect(await ask(io)).toBe(0);
    await ended();
    expect(replies(here)).toEqual([{ answers: {} }]);
  });
});
