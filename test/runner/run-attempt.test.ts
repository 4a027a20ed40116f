import { expect, test } from 'vitest';
import { ActiveRun } from '../../runner/active-run.js';
import { withComments } from '../../runner/run-attempt.js';
import type { StartOrder } from '../../src/domain/effects.js';
import { BatonError } from '../../src/domain/errors.js';
import type { Tracker } from '../../src/domain/ports.js';
import { issue, workflow } from '../support/builders.js';
import { FakeClock } from '../support/fake-clock.js';

const SAID = { author: 'ann', body: 'Use the other file.', created_at: null };

function setUp(readComments?: Tracker['readComments']) {
  const order: StartOrder = {
    ...{ runId: 'r', workflowHash: 'h', issue: issue({ id: 'A', comments: [{ ...SAID, body: 'old' }] }), number: 2 },
    ...{ reason: 'continuation', attempt: 1, resume: null },
  };
  const clock = new FakeClock();
  const run = new ActiveRun(order, workflow(), clock, () => {});
  const tracker = { issuesByIds: async () => ({ issues: [], unknown: [] }), ...(readComments ? { readComments } : {}) };
  return { order, clock, run, read: () => withComments(run, { clock, tracker }) };
}

test('a run has the comments of now, whatever its issue carried before', async () => {
  const { read } = setUp(async () => [SAID]);

  expect((await read()).issue.comments).toEqual([SAID]);
});

test('a tracker whose issues carry them is not asked', async () => {
  const { read, order } = setUp();

  expect(await read()).toBe(order);
});

test.each(['tracker_auth', 'tracker_rate_limited', 'tracker_status'] as const)(
  'a run does not begin without them: %s',
  async (code) => {
    const { read } = setUp(() => Promise.reject(new BatonError(code, 'no')));

    await expect(read()).rejects.toMatchObject({ code });
  },
);

test('reading the comments fails after a minute', async () => {
  const { read, clock } = setUp(() => new Promise(() => {}));
  const asked = read();
  await Promise.resolve();

  clock.advance(60_000);

  await expect(asked).rejects.toMatchObject({ code: 'tracker_request' });
});

test('a stopped run cancels reading the comments', async () => {
  const { read, run } = setUp(
    (_issue, signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('given up')))),
  );
  const asked = read();
  await Promise.resolve();

  run.stop('operator');

  await expect(asked).rejects.toThrow('given up');
});
