import { expect, test } from 'vitest';
import type { Attempt } from '../../runner/run-attempt.js';
import { withComments } from '../../runner/run-attempt.js';
import { BatonError } from '../../src/domain/errors.js';
import type { Tracker } from '../../src/domain/ports.js';
import { issue, workflow } from '../support/builders.js';
import { FakeClock } from '../support/fake-clock.js';

const SAID = { author: 'ann', body: 'Use the other file.', created_at: null };

function setUp(readComments?: Tracker['readComments']) {
  const controller = new AbortController();
  let stoppedAtAwakeMs: number | null = null;
  const attempt: Attempt = {
    order: {
      ...{ runId: 'r', workflowHash: 'h', issue: issue({ id: 'A', comments: [{ ...SAID, body: 'old' }] }), number: 2 },
      ...{ reason: 'continuation', attempt: 1, resume: null },
    },
    ...{ workflow: workflow(), signal: controller.signal, controls: {} as Attempt['controls'] },
    get stoppedAtAwakeMs() {
      return stoppedAtAwakeMs;
    },
    emit: () => {},
  };
  const clock = new FakeClock();
  const tracker = { issuesByIds: async () => ({ issues: [], unknown: [] }), ...(readComments ? { readComments } : {}) };
  return {
    ...{ attempt, clock, controller },
    stop: () => {
      stoppedAtAwakeMs = 7;
    },
    read: () => withComments(attempt, { clock, tracker }),
  };
}

test('a run has the comments of now, whatever its issue carried before', async () => {
  const { read } = setUp(async () => [SAID]);

  expect((await read()).order.issue.comments).toEqual([SAID]);
});

test('a tracker whose issues carry them is not asked', async () => {
  const { read, attempt } = setUp();

  expect(await read()).toBe(attempt);
});

test('that the run is stopped is still seen', async () => {
  const { read, stop } = setUp(async () => []);
  const prepared = await read();

  stop();

  expect(prepared.stoppedAtAwakeMs).toBe(7);
});

test.each(['tracker_auth', 'tracker_rate_limited', 'tracker_status'] as const)(
  'a run does not begin without them: %s',
  async (code) => {
    const { read } = setUp(() => Promise.reject(new BatonError(code, 'no')));

    await expect(read()).rejects.toMatchObject({ code });
  },
);

test('a tracker that does not tell them within a minute is left', async () => {
  const { read, clock } = setUp(() => new Promise(() => {}));
  const asked = read();
  await Promise.resolve();

  clock.advance(60_000);

  await expect(asked).rejects.toMatchObject({ code: 'tracker_request' });
});

test('a run that is stopped gives the question up', async () => {
  const { read, controller } = setUp(
    (_issue, signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('given up')))),
  );
  const asked = read();
  await Promise.resolve();

  controller.abort();

  await expect(asked).rejects.toThrow('given up');
});
