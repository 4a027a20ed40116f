import { expect, onTestFinished, test } from 'vitest';
import { Loop } from '../../orchestrator/loop.js';
import { initialState } from '../../orchestrator/state.js';
import { createClock } from '../../src/clock.js';
import { config } from '../support/builders.js';

const HOUR = 3_600_000;

/** The clock of a machine that can be put to sleep: then wall time goes on and timers stand still. */
function sleepyClock() {
  let wallMs = Date.UTC(2026, 0, 1);
  let awakeMs = 0;
  const timers = new Set<{ readonly atMs: number; ring(): void }>();
  const clock = createClock({
    wallNow: () => wallMs,
    monotonicNow: () => awakeMs,
    setTimer: (ring, delayMs) => {
      const timer = { atMs: awakeMs + delayMs, ring };
      timers.add(timer);
      return () => timers.delete(timer);
    },
  });
  onTestFinished(() => clock.close());
  const pass = (ms: number) => {
    wallMs += ms;
    awakeMs += ms;
  };
  return {
    clock,
    sleep: (ms: number) => {
      wallMs += ms;
    },
    work: (ms: number) => {
      const endMs = awakeMs + ms;
      for (;;) {
        const [next] = [...timers].sort((a, b) => a.atMs - b.atMs);
        if (!next || next.atMs > endMs) break;
        timers.delete(next);
        pass(next.atMs - awakeMs);
        next.ring();
      }
      pass(endMs - awakeMs);
    },
  };
}

test('a reset that passed while the machine slept is noticed within a minute after waking', () => {
  const { clock, sleep, work } = sleepyClock();
  const { wallMs } = clock.now();
  const polledAtMs: number[] = [];
  const loop = new Loop({
    initial: initialState(config(), 'hash', 'test', wallMs),
    clock,
    perform: ({ type }) => type === 'poll' && polledAtMs.push(clock.now().wallMs),
    onFault: (error) => {
      throw error;
    },
  });
  loop.dispatch({ type: 'started', leftovers: [], limitedUntilMs: wallMs + 10 * HOUR });
  work(HOUR / 6);

  sleep(10 * HOUR);
  const wokeAtMs = clock.now().wallMs;
  work(HOUR);

  expect(polledAtMs).toHaveLength(1);
  expect((polledAtMs[0] ?? 0) - wokeAtMs).toBeLessThanOrEqual(60_000);
});
