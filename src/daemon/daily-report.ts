import { join } from 'node:path';
import type { Logger } from 'pino';
import { readPrivateFile, writePrivateFile } from '../api/access.js';
import { type Clock, DAY_MS } from '../domain/clock.js';
import type { PricingConfig } from '../domain/config.js';
import { fieldsOf, type JsonObject, listOf } from '../domain/json.js';
import type { StoredPast } from '../domain/ports.js';
import type { ReportNotice } from '../notify/notice.js';
import { nextReportAtMs, reportTodayMs, withDay } from '../notify/report-schedule.js';
import { buildReport } from '../report/build-report.js';
import { pastSince } from '../report/past-since.js';
import { reportJson } from '../report/report-json.js';
import { reportSummary } from '../report/report-sentences.js';
import { localDay } from '../text/format-time.js';

/** A wall clock that jumps is noticed within this time. */
const CHECK_INTERVAL_MS = 60_000;
const MAX_FAILURES = 3;

export interface DailyReport {
  readonly text: string;
  readonly report: JsonObject;
}

interface DailyReportOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly stateDir: string;
  /** The time of the settings in force; null when reports are off. */
  reportAt(): string | null;
  create(): Promise<DailyReport>;
  send(notice: ReportNotice): void;
}

/**
 * Sends the daily report once a day, at its time or as soon after it as the machine is awake. The days with a report are recorded in
 * `notify-state` of the state directory before the report is sent: a restart does not send it again, and a kill at that moment loses it.
 * When reports are turned on after their time of the day, the first one is sent tomorrow.
 */
export function startDailyReport(options: DailyReportOptions): { close(): void } {
  const { clock, log } = options;
  const path = join(options.stateDir, 'notify-state');
  let days: readonly string[] | null = null;
  let wasOn = false;
  let failures = 0;
  let isClosed = false;
  let cancel = (): void => {};

  const record = async (day: string): Promise<void> => {
    days = withDay(days ?? [], day);
    await writePrivateFile(path, `${JSON.stringify({ report_days: days })}\n`).catch((error: Error) =>
      log.warn({ path, detail: error.message }, 'day of the report could not be recorded, a restart may send it again'),
    );
  };

  const sendReport = async (): Promise<void> => {
    const { day, wallMs } = clock.now();
    try {
      const { text, report } = await options.create();
      if (isClosed) return; // The next daemon sends it.
      await record(day);
      failures = 0;
      options.send({ kind: 'daily_report', atMs: wallMs, text, report });
    } catch (error) {
      failures += 1;
      log.warn({ detail: (error as Error).message, tries: failures }, 'daily report could not be made');
      if (failures < MAX_FAILURES) return;
      failures = 0;
      await record(day);
    }
  };

  /** Returns the delay before the next check. */
  const check = async (): Promise<number> => {
    const isFirst = days === null;
    days ??= await readDays(path, log);
    const reportAt = options.reportAt();
    const isNew = reportAt !== null && !wasOn;
    wasOn = reportAt !== null;
    if (reportAt === null) return CHECK_INTERVAL_MS;
    const isCatchUp = isFirst && days.length > 0;
    if (isNew && !isCatchUp && reportTodayMs(clock.now(), reportAt) <= clock.now().wallMs) {
      await record(clock.now().day);
    }
    if (nextReportAtMs(clock.now(), reportAt, days) <= clock.now().wallMs) await sendReport();
    const now = clock.now();
    return Math.min(Math.max(nextReportAtMs(now, reportAt, days) - now.wallMs, 1_000), CHECK_INTERVAL_MS);
  };

  const checkAgain = (): void => {
    void check()
      .catch((error: Error) => {
        log.error({ err: error }, 'daily report could not be checked');
        return CHECK_INTERVAL_MS;
      })
      .then((delayMs) => {
        if (!isClosed) cancel = clock.after(failures > 0 ? CHECK_INTERVAL_MS : delayMs, checkAgain);
      });
  };
  checkAgain();
  return {
    close() {
      isClosed = true;
      cancel();
    },
  };
}

async function readDays(path: string, log: Logger): Promise<readonly string[]> {
  try {
    const found = await readPrivateFile(path);
    if (found === null) return [];
    if ('problem' in found) throw new Error(`it ${found.problem}`);
    const written = listOf(fieldsOf(JSON.parse(found.text)).report_days);
    return written.filter((day): day is string => typeof day === 'string');
  } catch (error) {
    log.warn({ path, detail: (error as Error).message }, 'days of earlier reports are not known');
    return [];
  }
}

interface ReportSource {
  readonly past: StoredPast;
  readonly clock: Clock;
  readonly stateDir: string;
  pricing(): PricingConfig;
}

/** The report about the last 24 hours. */
export async function createDailyReport(source: ReportSource): Promise<DailyReport> {
  const untilMs = source.clock.now().wallMs;
  const sinceMs = untilMs - DAY_MS;
  const { runs, finished } = await pastSince(source.past, sinceMs);
  const report = buildReport({
    runs,
    finished,
    pricing: source.pricing(),
    sinceMs,
    untilMs,
    by: 'issue',
    dayOf: localDay,
  });
  return { text: reportSummary(report), report: reportJson(report, source.stateDir) as JsonObject };
}
