import { expect, test } from 'vitest';
import type { Question } from '../../../../src/domain/run-signal.js';
import { issue } from '../../../support/builders.js';
import { agent, start } from './harness.js';

const question: Question = { id: 'q1', kind: 'approval', text: 'Run rm?', fields: [] };
const DECLINED = { question, answer: { kind: 'decline' } } as const;

/** What the agent got to begin its turns. */
const textsOf = (run: ReturnType<typeof start>) =>
  run
    .received()
    .filter(({ method }) => method === 'turn/start')
    .map(({ params }) => (params as unknown as { input: [{ text: string }] }).input[0].text);

test.each([
  ['the first turn', 'obedient', null, /^the whole prompt$/],
  ['a resumed thread', 'obedient', { threadId: 'thread-1', answer: null }, /^go on with AB-1, turn 1$/],
  [
    'an answer to a parked issue',
    'obedient',
    { threadId: 'thread-1', answer: DECLINED },
    /^You asked a person:\nRun rm\?\n\nThe answer: no/,
  ],
] as const)('%s is told exactly as it is sent', async (_, script, resume, first) => {
  const run = start({ command: agent(script), step: { resume } });
  await run.done;

  expect(run.prompts[0]).toMatch(first);
  expect(run.prompts).toEqual(textsOf(run));
});

test('a thread that cannot be resumed is told with the text of the new one', async () => {
  const run = start({
    command: agent('refuses', 'thread/resume'),
    step: { resume: { threadId: 'old', answer: DECLINED } },
  });
  await run.done;

  expect(run.prompts[0]).toMatch(/^the whole prompt\n\nYou asked a person:/);
  expect(run.prompts).toEqual(textsOf(run));
});

test('every turn is told as it is sent, with the messages that came with it', async () => {
  const run = start({ command: agent('refuses-steer'), refreshes: [issue(), null] });
  run.steer('first this');
  await run.next('session');
  run.steer('and mind the gap');
  await run.done;

  expect(run.prompts).toEqual([
    'the whole prompt\n\nA message from a person:\nfirst this',
    'go on with AB-1, turn 2\n\nA message from a person:\nand mind the gap',
  ]);
  expect(run.prompts).toEqual(textsOf(run));
});

test('an agent that never began a turn was sent nothing', async () => {
  const run = start({ command: agent('refuses', 'thread/start') });
  await run.done;

  expect(run.prompts).toEqual([]);
});
