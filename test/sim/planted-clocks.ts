import type { Planted } from './planted.js';

/** Bugs in clocks, timers and the shutdown. */
export const CLOCKS: readonly Planted[] = [
  {
    name: 'the wall clock of the core runs fast',
    plant: {
      clock: (clock) => ({
        ...clock,
        now() {
          const now = clock.now();
          return { ...now, wallMs: now.wallMs + now.awakeMs / 2 };
        },
      }),
    },
  },
  {
    name: 'sleep counts as silence',
    plant: {
      clock(clock) {
        const first = clock.now();
        return {
          ...clock,
          now() {
            const now = clock.now();
            return { ...now, awakeMs: Math.max(now.awakeMs, first.awakeMs + now.wallMs - first.wallMs) };
          },
        };
      },
    },
  },
  {
    name: 'a timer rings at once',
    plant: { clock: (clock) => ({ ...clock, after: (_, callback) => clock.after(0, callback) }) },
  },
  {
    name: 'one timer in thirty never rings',
    plant: {
      clock(clock) {
        let set = 0;
        return {
          ...clock,
          after(delayMs, callback) {
            set += 1;
            return set % 30 === 0 ? () => {} : clock.after(delayMs, callback);
          },
        };
      },
    },
  },
  {
    name: 'a daemon that is asked to leave leaves at once, as if in order',
    plant: {
      perform: (perform, life) => (effect) => {
        const isLeaving = life.state !== null && life.state.shutdown !== null;
        if (isLeaving && effect.type === 'stop_run') perform({ type: 'exit', forced: false });
        else perform(effect);
      },
    },
  },
  {
    name: 'a daemon that is asked to leave stays',
    plant: { perform: (perform) => (effect) => (effect.type === 'exit' ? undefined : perform(effect)) },
  },
];
