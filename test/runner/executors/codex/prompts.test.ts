import { expect, test } from 'vitest';
import type { Comment } from '../../../../src/domain/issue.js';
import type { Question } from '../../../../src/domain/run-signal.js';
import { issue } from '../../../support/builders.js';
import { agent, run, start } from './harness.js';

const question: Question = { id: 'q1', kind: 'approval', text: 'Run rm?', fields: [] };
const DECLINED = { question, answer: { kind: 'decline' } } as const;

/** The text of each turn/start that the agent received. */
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
] as const)('the transcript has the exact text of %s', async (_, script, resume, first) => {
  const run = start({ command: agent(script), step: { resume } });
  await run.done;

  expect(run.prompts[0]).toMatch(first);
  expect(run.prompts).toEqual(textsOf(run));
});

test('when a thread cannot be resumed, the transcript has the text of the new thread', async () => {
  const run = start({
    command: agent('refuses', 'thread/resume'),
    step: { resume: { threadId: 'old', answer: DECLINED } },
  });
  await run.done;

  expect(run.prompts[0]).toMatch(/^the whole prompt\n\nYou asked a person:/);
  expect(run.prompts).toEqual(textsOf(run));
});

test('the transcript has the exact text of every turn, with the messages in it', async () => {
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

test('no prompt is recorded when no turn began', async () => {
  const run = start({ command: agent('refuses', 'thread/start') });
  await run.done;

  expect(run.prompts).toEqual([]);
});

const LAST_RUN_AT = Date.parse('2026-01-31T12:00:00Z');
const said = (body: string, created_at: string | null): Comment => ({ author: 'ann', body, created_at });

async function opening(
  comments: readonly Comment[],
  resume: { commentsReadAtMs?: number; answer?: { question: Question; answer: { kind: 'accept' } } },
): Promise<string> {
  const { received } = await run({
    command: agent('obedient'),
    comments,
    step: { resume: { threadId: 'thread-1', answer: null, ...resume } },
  });
  const { input } = (received().at(-1)?.params ?? {}) as unknown as { input: [{ text: string }] };
  return input[0].text;
}

test('a resumed thread gets only the comments made since its last run began', async () => {
  const comments = [said('Old.', '2026-01-31T11:00:00Z'), said('Use tabs.', '2026-01-31T12:30:00Z')];

  const text = await opening(comments, { commentsReadAtMs: LAST_RUN_AT });

  expect(text).toBe('go on with AB-1, turn 1\n\nNew comments on the issue, oldest first:\n\nann: Use tabs.');
});

test('undated comments, and comments within a minute before that run began, are included', async () => {
  const comments = [said('Undated.', null), said('Just before.', '2026-01-31T11:59:30Z')];

  const text = await opening(comments, { commentsReadAtMs: LAST_RUN_AT });

  expect(text).toContain('ann: Undated.\n\nann: Just before.');
});

test('without a record of the last run all comments are included, after the answer', async () => {
  const question: Question = { id: 'q1', kind: 'approval', text: 'Run rm?', fields: [] };

  const text = await opening([said('Old.', '2020-01-01T00:00:00Z')], {
    answer: { question, answer: { kind: 'accept' } },
  });

  expect(text).toMatch(/^You asked a person:\nRun rm\?\n\nThe answer: yes\..*\n\nNew comments .*\n\nann: Old\.$/);
});

test('a message that the agent confirmed is delivered', async () => {
  const started = start({ command: agent('hangs', 'on') });
  await started.event('notification', 'fake/ready');

  started.steer('mind the gap');
  await started.event('notification', 'fake/steered');
  started.stop('shutdown');
  await started.done;

  expect(started.unread()).toEqual([]);
});

test('a message that the agent did not confirm before its end is unread', async () => {
  const started = start({ command: agent('late') });
  await started.event('notification', 'fake/ready');

  started.steer('mind the gap');
  await expect.poll(() => started.received().map(({ method }) => method)).toContain('turn/steer');
  started.stop('shutdown');
  await started.done;

  expect(started.unread()).toEqual(['mind the gap']);
});

test('a message in the text of a turn that never began is unread', async () => {
  const started = start({ command: agent('refuses', 'turn/start') });
  started.steer('mind the gap');

  const outcome = await started.done;

  expect(outcome.state).toBe('failed');
  expect(started.unread()).toEqual(['mind the gap']);
});

test('a message from before the start is part of the first prompt and delivered', async () => {
  const started = start({ command: agent('obedient') });
  started.steer('mind the gap');

  await started.done;

  const first = started.received().find(({ method }) => method === 'turn/start');
  expect(JSON.stringify(first)).toContain('the whole prompt\\n\\nA message from a person:\\nmind the gap');
  expect(started.unread()).toEqual([]);
});
