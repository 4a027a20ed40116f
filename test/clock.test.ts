import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as realTime } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { createClock, type SystemClock } from '../src/clock.js';
import { DIST } from './support/dist.js';

/** Time sources that only move when told to. */
class FakeTime {
  wallMs = Date.UTC(2026, 5, 15, 12);
  monotonicMs = 5_000;
  longestDelayMs = 0;
  #timers = new Set<{ atMs: number; callback: () => void }>();

  readonly sources = {
    wallNow: () => this.wallMs,
    monotonicNow: () => this.monotonicMs,
    setTimer: (callback: () => void, delayMs: number) => {
      this.longestDelayMs = Math.max(this.longestDelayMs, delayMs);
      const timer = { atMs: this.monotonicMs + delayMs, callback };
      this.#timers.add(timer);
      return () => void this.#timers.delete(timer);
    },
  };

  pass(ms: number): void {
    const target = this.monotonicMs + ms;
    for (;;) {
      const due = [...this.#timers].filter(({ atMs }) => atMs <= target).sort((a, b) => a.atMs - b.atMs)[0];
      if (!due) break;
      this.#timers.delete(due);
      this.#moveTo(Math.max(due.atMs, this.monotonicMs));
      due.callback();
    }
    this.#moveTo(target);
  }

  /** Nothing runs meanwhile; afterwards, what is overdue rings at once. */
  freeze(ms: number): void {
    this.#moveTo(this.monotonicMs + ms);
    this.pass(0);
  }

  /** Time passes within a call. */
  stop(ms: number): void {
    this.#moveTo(this.monotonicMs + ms);
  }

  get timers(): number {
    return this.#timers.size;
  }

  #moveTo(ms: number): void {
    this.wallMs += ms - this.monotonicMs;
    this.monotonicMs = ms;
  }
}

let clock: SystemClock | null = null;
afterEach(() => clock?.close());

function fakeClock(): { time: FakeTime; clock: SystemClock } {
  const time = new FakeTime();
  clock = createClock(time.sources);
  return { time, clock };
}

describe('awake time', () => {
  test('starts at zero and passes like the monotonic clock', () => {
    const { time, clock } = fakeClock();

    expect(clock.now().awakeMs).toBe(0);
    time.pass(12_345);

    expect(clock.now().awakeMs).toBe(12_345);
  });

  test('counts an hour of sleep as about a second', () => {
    const { time, clock } = fakeClock();
    time.pass(10_000);

    time.freeze(3_600_000);

    expect(clock.now().awakeMs).toBe(11_000);
    expect(clock.now().wallMs).toBe(time.wallMs);
  });

  test('counts a short block of the event loop in full', () => {
    const { time, clock } = fakeClock();

    time.freeze(2_500);

    expect(clock.now().awakeMs).toBe(2_500);
  });

  test('does not depend on the wall clock', () => {
    const { time, clock } = fakeClock();

    time.pass(1_000);
    time.wallMs += 86_400_000;
    time.pass(1_000);
    time.wallMs -= 10 * 86_400_000;
    time.pass(1_000);

    expect(clock.now().awakeMs).toBe(3_000);
  });
});

describe('a timer', () => {
  test('rings when its time has passed and not before', () => {
    const { time, clock } = fakeClock();
    let rings = 0;
    clock.after(5_000, () => rings++);

    time.pass(4_999);
    expect(rings).toBe(0);
    time.pass(1);
    expect(rings).toBe(1);
    time.pass(60_000);
    expect(rings).toBe(1);
  });

  test('does not ring early because the machine slept', () => {
    const { time, clock } = fakeClock();
    const rungAt: number[] = [];
    clock.after(60_000, () => rungAt.push(clock.now().awakeMs));
    time.pass(10_000);

    time.freeze(3_600_000);
    expect(rungAt).toEqual([]);
    time.pass(60_000);

    expect(rungAt).toEqual([60_000]);
  });

  test('may be longer than a timer of Node can be', () => {
    const { time, clock } = fakeClock();
    clock.after(2 ** 31 + 500, () => expect.unreachable());

    // Past this, Node rings after a millisecond.
    expect(time.longestDelayMs).toBeLessThan(2 ** 31);
  });

  test('that is cancelled never rings, also after it was set again, and may be cancelled twice', () => {
    const { time, clock } = fakeClock();
    let rings = 0;
    const cancel = clock.after(5_000, () => rings++);
    time.freeze(20_000);

    cancel();
    cancel();
    time.pass(60_000);

    expect(rings).toBe(0);
  });

  test('with no or negative delay rings at once, but not inside the call', () => {
    const { time, clock } = fakeClock();
    let rings = 0;
    clock.after(-5, () => rings++);

    expect(rings).toBe(0);
    time.pass(0);
    expect(rings).toBe(1);
  });

  test('is dropped when the clock is closed, with the heartbeat', () => {
    const { time, clock } = fakeClock();
    clock.after(5_000, () => expect.unreachable());

    clock.close();
    clock.after(5_000, () => expect.unreachable());

    expect(time.timers).toBe(0);
    time.pass(60_000);
  });

  test('works on real time', async () => {
    const real = createClock();
    clock = real;
    const before = real.now();

    await new Promise<void>((resolve) => real.after(20, resolve));

    expect(real.now().awakeMs - before.awakeMs).toBeGreaterThanOrEqual(20);
  });
});

describe('a wall clock that is set back', () => {
  test('is reported once, with the amount', () => {
    const { time, clock } = fakeClock();
    const reports: number[] = [];
    const stop = clock.onSetBack((byMs) => reports.push(byMs));

    time.wallMs -= 3_600_000;
    time.pass(10_000);
    expect(reports).toEqual([3_600_000]);

    stop();
    time.wallMs -= 3_600_000;
    time.pass(10_000);
    expect(reports).toHaveLength(1);
  });

  test('is not confused with slewing, a jump ahead, or sleep', () => {
    const { time, clock } = fakeClock();
    clock.onSetBack(() => expect.unreachable());

    for (let i = 0; i < 100; i++) {
      time.wallMs -= 50;
      time.pass(1_000);
    }
    time.wallMs += 7_200_000;
    time.pass(5_000);
    time.freeze(7_200_000);
    time.pass(5_000);
  });

  test('is not confused with a stop between two looks at the clocks', () => {
    const { time } = fakeClock();
    let readings = 0;
    const stopped = createClock({
      ...time.sources,
      wallNow: () => {
        // The process is stopped for a minute after it read one clock and before it reads the other.
        if (++readings === 2) time.stop(60_000);
        return time.wallMs;
      },
    });
    stopped.onSetBack(() => expect.unreachable());

    for (let i = 0; i < 20; i++) time.pass(1_000);
    stopped.close();
  });
});

describe('the local day', () => {
  const zone = process.env.TZ;
  afterEach(() => {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  });

  test.each([
    ['UTC', '2026-03-29T10:00:00Z', '2026-03-29', '2026-03-30T00:00:00Z'],
    ['Europe/Berlin', '2026-03-28T23:30:00Z', '2026-03-29', '2026-03-29T22:00:00Z'],
    ['Europe/Berlin', '2026-10-25T10:00:00Z', '2026-10-25', '2026-10-25T23:00:00Z'],
    ['America/New_York', '2026-01-01T04:59:59Z', '2025-12-31', '2026-01-01T05:00:00Z'],
    ['America/Sao_Paulo', '2018-11-03T12:00:00Z', '2018-11-03', '2018-11-04T03:00:00Z'],
    ['Pacific/Apia', '2011-12-29T20:00:00Z', '2011-12-29', '2011-12-30T10:00:00Z'],
    ['Asia/Kathmandu', '2026-12-31T18:15:00Z', '2027-01-01', '2027-01-01T18:15:00Z'],
  ])('in %s at %s is %s and ends at %s', (timeZone, wall, day, end) => {
    process.env.TZ = timeZone;
    const { time, clock } = fakeClock();
    time.wallMs = Date.parse(wall);

    const now = clock.now();

    expect(now).toMatchObject({ wallMs: Date.parse(wall), day, dayEndsAtMs: Date.parse(end) });
    time.wallMs = now.dayEndsAtMs - 1;
    expect(clock.now().day).toBe(day);
    time.wallMs = now.dayEndsAtMs;
    expect(clock.now().day).not.toBe(day);
  });
});

test('time during which the daemon is stopped does not count, nor does it make a timer ring early', async () => {
  const script = `
    import { createClock } from ${JSON.stringify(pathToFileURL(join(DIST, 'src/clock.js')).href)};
    const clock = createClock({ heartbeatMs: 20, maxGapMs: 150 });
    const startedMs = performance.now();
    clock.after(300, () => {
      console.log(JSON.stringify({ awakeMs: clock.now().awakeMs, realMs: performance.now() - startedMs }));
      clock.close();
    });
    process.kill(process.pid, 'SIGSTOP');`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    await expect.poll(() => readFileSync(`/proc/${child.pid}/stat`, 'utf8'), { timeout: 10_000 }).toMatch(/\) T /);

    // What is waited for is time itself: it has to pass while the process is stopped.
    await realTime(700);
    child.kill('SIGCONT');
    const { awakeMs, realMs } = JSON.parse((await lines.next()).value);

    expect(awakeMs).toBeGreaterThanOrEqual(300);
    expect(realMs - awakeMs).toBeGreaterThanOrEqual(600);
  } finally {
    child.kill('SIGKILL');
  }
});
