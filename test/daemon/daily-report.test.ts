import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { startDailyReport } from '../../src/daemon/daily-report.js';
import { createLogger } from '../../src/logging/logger.js';
import { createRedactor } from '../../src/logging/redact.js';
import type { ReportNotice } from '../../src/notify/notice.js';
import { FakeClock } from '../support/fake-clock.js';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const ZONE = process.env.TZ;

// The days of the fake clock are those of UTC.
beforeEach(() => {
  process.env.TZ = 'UTC';
});

afterEach(() => {
  if (ZONE === undefined) delete process.env.TZ;
  else process.env.TZ = ZONE;
});

function stateDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'baton-report-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Of a daemon that has sent a report yesterday. */
function usedStateDir(): string {
  const dir = stateDir();
  writeFileSync(join(dir, 'notify-state'), '{"report_days":["2025-12-31"]}', { mode: 0o600 });
  return dir;
}

interface Options {
  readonly dir?: string;
  readonly clock?: FakeClock;
  make?(): Promise<{ text: string; report: Record<string, never> }>;
}

/** A daemon's reports, by the time they were sent. Midnight at its start unless the clock says otherwise. */
async function begin({ dir = stateDir(), clock = new FakeClock(), make }: Options = {}) {
  const sent: string[] = [];
  const lines: { [key: string]: unknown }[] = [];
  const stream = { write: (line: string) => lines.push(JSON.parse(line)) };
  const wanted = { at: '09:00' as string | null };
  const reports = startDailyReport({
    clock,
    log: createLogger({ level: 'debug', redactor: createRedactor(), stream, pretty: false }),
    stateDir: dir,
    reportAt: () => wanted.at,
    create: make ?? (() => Promise.resolve({ text: 'report', report: {} })),
    send: ({ atMs }: ReportNotice) => sent.push(new Date(atMs).toISOString().slice(8, 16)),
  });
  onTestFinished(() => reports.close());
  const settled = async () => {
    while (clock.pendingTimers === 0) await setImmediate();
  };
  await settled();
  return {
    dir,
    clock,
    sent,
    lines,
    wanted,
    reports,
    /** A look a minute, as each is over before the next begins. */
    async pass(ms: number) {
      for (let left = ms; left > 0; left -= MINUTE_MS) {
        clock.advance(Math.min(left, MINUTE_MS));
        await settled();
      }
    },
  };
}

function clockAt(hours: number): FakeClock {
  const clock = new FakeClock();
  clock.advance(hours * HOUR_MS);
  return clock;
}

describe('the daily report', () => {
  test('is sent at its time, once a day', async () => {
    const { sent, pass } = await begin({ clock: clockAt(8.5) });

    await pass(HOUR_MS);
    await pass(24 * HOUR_MS);

    expect(sent).toEqual(['01T09:00', '02T09:00']);
  });

  test('is not sent again by a daemon that starts later on the same day', async () => {
    const clock = clockAt(8.9);
    const first = await begin({ clock });
    await first.pass(HOUR_MS / 2);
    first.reports.close();

    const second = await begin({ clock, dir: first.dir });
    await second.pass(HOUR_MS);

    expect([first.sent, second.sent]).toEqual([['01T09:00'], []]);
    expect(statSync(join(first.dir, 'notify-state')).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(join(first.dir, 'notify-state'), 'utf8'))).toEqual({ report_days: ['2026-01-01'] });
  });

  test('is sent when a machine wakes that slept over its time, if the day is still the same', async () => {
    const same = await begin({ clock: clockAt(8) });
    same.clock.sleep(4 * HOUR_MS);
    await same.pass(2 * MINUTE_MS);
    const next = await begin({ clock: clockAt(8) });
    next.clock.sleep(17 * HOUR_MS);
    await next.pass(2 * MINUTE_MS);

    expect(same.sent).toEqual(['01T12:01']);
    expect(next.sent).toEqual([]);
  });

  test('is sent late by a daemon that was not running at its time and has sent one before', async () => {
    const { sent } = await begin({ dir: usedStateDir(), clock: clockAt(10) });

    expect(sent).toEqual(['01T10:00']);
  });

  test('comes tomorrow when it is first enabled after its time, at the start or later', async () => {
    const fresh = await begin({ clock: clockAt(10) });
    const later = await begin({ clock: clockAt(8) });
    later.wanted.at = null;
    await later.pass(2 * HOUR_MS);
    later.wanted.at = '09:00';
    await later.pass(HOUR_MS);
    await Promise.all([fresh.pass(24 * HOUR_MS), later.pass(24 * HOUR_MS)]);

    expect([fresh.sent, later.sent]).toEqual([['02T09:00'], ['02T09:00']]);
  });

  test('that cannot be made is tried three times', async () => {
    let failures = 0;
    const failing = () => {
      failures += 1;
      return Promise.reject(new Error('no numbers'));
    };
    const never = await begin({ clock: clockAt(8.9), make: failing });
    await never.pass(HOUR_MS);
    let calls = 0;
    const recovering = () => {
      calls += 1;
      return calls === 1 ? Promise.reject(new Error('busy')) : Promise.resolve({ text: 'report', report: {} });
    };
    const late = await begin({ clock: clockAt(8.9), make: recovering });
    await late.pass(HOUR_MS);

    expect([never.sent, failures, late.sent]).toEqual([[], 3, ['01T09:01']]);
    expect(never.lines).toHaveLength(3);
    expect(never.lines[0]).toMatchObject({ msg: 'daily report could not be made', detail: 'no numbers', tries: 1 });
  });

  test.each([
    ['no JSON', '{', 0o600],
    ['open to others', '{"report_days":["2026-01-01"]}', 0o644],
  ])('does not believe a file that is %s, and says so', async (_, text, mode) => {
    const dir = stateDir();
    writeFileSync(join(dir, 'notify-state'), text);
    chmodSync(join(dir, 'notify-state'), mode);

    const { sent, lines, pass } = await begin({ dir, clock: clockAt(8.9) });
    await pass(HOUR_MS / 2);

    expect(sent).toEqual(['01T09:00']);
    expect(lines).toMatchObject([{ msg: 'days of earlier reports are not known' }]);
  });

  test('is left to the next daemon when the daemon ends meanwhile', async () => {
    const open: { give(): void }[] = [];
    const make = () =>
      new Promise<{ text: string; report: Record<string, never> }>((resolve) => {
        open.push({ give: () => resolve({ text: 'report', report: {} }) });
      });
    const clock = clockAt(8.99);
    const first = await begin({ clock, make, dir: usedStateDir() });
    clock.advance(MINUTE_MS);
    while (open.length === 0) await setImmediate();
    first.reports.close();
    open[0]?.give();

    const second = await begin({ clock, dir: first.dir });

    expect([first.sent, second.sent]).toEqual([[], ['01T09:00']]);
  });
});
