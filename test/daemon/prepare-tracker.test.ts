import pino from 'pino';
import { expect, test } from 'vitest';
import { prepareTracker } from '../../src/daemon/tracker.js';
import { BatonError } from '../../src/domain/errors.js';
import type { Tracker } from '../../src/domain/ports.js';
import { FakeClock } from '../support/fake-clock.js';

const LOG = pino({ level: 'silent' });

const prepare = (tracker: Tracker, clock = new FakeClock(), signal?: AbortSignal) =>
  prepareTracker({ tracker, clock, log: LOG, signal });

/** Only what is asked before the first poll. */
function trackerWith(prepare?: Tracker['prepare']): Tracker {
  return (prepare ? { prepare } : {}) as unknown as Tracker;
}

test('settings that must not start do not start', async () => {
  const open = trackerWith(async () => {
    throw new BatonError('invalid_tracker_config', 'it is public');
  });

  await expect(prepare(open)).rejects.toMatchObject({ code: 'invalid_tracker_config' });
});

test.each([
  new BatonError('tracker_request', 'down'),
  new BatonError('tracker_auth', 'no'),
  new BatonError('tracker_rate_limited', 'later'),
  new Error('anything'),
])('a tracker that cannot be looked at starts all the same, and polls say why: %s', async (error) => {
  const tracker = trackerWith(() => Promise.reject(error));

  await expect(prepare(tracker)).resolves.toEqual({});
});

test('a tracker that hangs holds the start up for ten seconds, and is left', async () => {
  const clock = new FakeClock();
  let wasLeft = false;
  const tracker = trackerWith(
    (signal) =>
      new Promise(() => {
        signal.addEventListener('abort', () => {
          wasLeft = true;
        });
      }),
  );

  const prepared = prepare(tracker, clock);
  await Promise.resolve();
  clock.advance(10_000);

  await expect(prepared).resolves.toEqual({});
  expect(wasLeft).toBe(true);
});

test('a tracker that has nothing to look at is not asked', async () => {
  await expect(prepare(trackerWith())).resolves.toEqual({});
});

test('a limit that it meets is not forgotten: the first poll waits for its end', async () => {
  const limited = trackerWith(() => Promise.reject(new BatonError('tracker_rate_limited', 'later', { resetAtMs: 7 })));

  await expect(prepare(limited)).resolves.toEqual({ limitedUntilMs: 7 });
});

test('a stop before the start does not wait for a silent tracker', async () => {
  const leave = new AbortController();
  const silent = trackerWith(
    (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  );

  const prepared = prepare(silent, new FakeClock(), leave.signal);
  await Promise.resolve();
  leave.abort();

  await expect(prepared).resolves.toEqual({});
});
