import { expect, test } from 'vitest';
import type { Comment } from '../../../../src/domain/issue.js';
import type { Question } from '../../../../src/domain/run-signal.js';
import { agent, run } from './harness.js';

const HEARD_AT = Date.parse('2026-01-31T12:00:00Z');
const said = (body: string, created_at: string | null): Comment => ({ author: 'ann', body, created_at });

async function opening(
  comments: readonly Comment[],
  resume: { heardAtMs?: number; answer?: { question: Question; answer: { kind: 'accept' } } },
): Promise<string> {
  const { received } = await run({
    command: agent('obedient'),
    comments,
    step: { resume: { threadId: 'thread-1', answer: null, ...resume } },
  });
  const { input } = (received().at(-1)?.params ?? {}) as unknown as { input: [{ text: string }] };
  return input[0].text;
}

test('a resumed thread is told what people said since its last run began, and no more', async () => {
  const comments = [said('Old.', '2026-01-31T11:00:00Z'), said('Use tabs.', '2026-01-31T12:30:00Z')];

  const text = await opening(comments, { heardAtMs: HEARD_AT });

  expect(text).toBe(
    'go on with AB-1, turn 1\n\nWhat was said about the issue meanwhile, oldest first:\n\nann: Use tabs.',
  );
});

test('what nobody dated, or was said within a minute of the beginning, may be news', async () => {
  const comments = [said('Undated.', null), said('Just before.', '2026-01-31T11:59:30Z')];

  const text = await opening(comments, { heardAtMs: HEARD_AT });

  expect(text).toContain('ann: Undated.\n\nann: Just before.');
});

test('of a thread whose last run nobody remembers all is told, after the answer that it waits for', async () => {
  const question: Question = { id: 'q1', kind: 'approval', text: 'Run rm?', fields: [] };

  const text = await opening([said('Old.', '2020-01-01T00:00:00Z')], {
    answer: { question, answer: { kind: 'accept' } },
  });

  expect(text).toMatch(/^You asked a person:\nRun rm\?\n\nThe answer: yes\..*\n\nWhat was said .*\n\nann: Old\.$/);
});
