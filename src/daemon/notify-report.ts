import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Clock } from '../domain/clock.js';
import { fieldsOf, listOf } from '../domain/fields.js';
import type { JsonObject } from '../domain/json.js';
import { nextReportAtMs, reportTodayMs, withDay } from '../notify/daily-report.js';
import type { ReportNotice } from '../notify/notice.js';
import { readPrivateFile, writePrivateFile } from '../status/private-file.js';

/** A wall clock that jumps, by sleep or by hand, is noticed within this time. */
const LOOK_MS = 60_000;
const MAX_FAILURES = 3;

export interface DailyReportOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly stateDir: string;
  /** The time of the settings in force; `null`: nobody wants a report. */
  reportAt(): string | null;
  make(): Promise<{ readonly text: string; readonly report: JsonObject }>;
  tell(notice: ReportNotice): void;
}

/**
 * Sends the daily report once a day, at its time or as soon after it as the machine is awake. The days that had theirs are in `notify-state`
 * of the state directory, written before the report is sent: a restart brings none again, a kill at that very moment none at all.
 * Whoever asks for reports after the time of the day has passed gets the first one tomorrow.
 */
export function startDailyReport(options: DailyReportOptions): { close(): void } {
  const { clock, log } = options;
  const path = join(options.stateDir, 'notify-state');
  let days: readonly string[] | null = null;
  let wasWanted = false;
  let failures = 0;
  let isClosed = false;
  let cancel = (): void => {};

  const remember = async (day: string): Promise<void> => {
    days = withDay(days ?? [], day);
    await writePrivateFile(path, `${JSON.stringify({ report_days: days })}\n`).catch((error: Error) =>
      log.warn({ path, detail: error.message }, 'day of the report could not be noted, a restart may send it again'),
    );
  };

  const send = async (): Promise<void> => {
    const { day, wallMs } = clock.now();
    try {
      const { text, report } = await options.make();
      if (isClosed) return; // The next daemon sends it.
      await remember(day);
      failures = 0;
      options.tell({ kind: 'daily_report', atMs: wallMs, text, report });
    } catch (error) {
      failures += 1;
      log.warn({ detail: (error as Error).message, tries: failures }, 'daily report could not be made');
      if (failures < MAX_FAILURES) return;
      failures = 0;
      await remember(day);
    }
  };

  /** Returns after how long to look again. */
  const look = async (): Promise<number> => {
    const isFirst = days === null;
    days ??= await readDays(path, log);
    const reportAt = options.reportAt();
    const isNew = reportAt !== null && !wasWanted;
    wasWanted = reportAt !== null;
    if (reportAt === null) return LOOK_MS;
    const isCatchUp = isFirst && days.length > 0;
    if (isNew && !isCatchUp && reportTodayMs(clock.now(), reportAt) <= clock.now().wallMs) {
      await remember(clock.now().day);
    }
    if (nextReportAtMs(clock.now(), reportAt, days) <= clock.now().wallMs) await send();
    const now = clock.now();
    return Math.min(Math.max(nextReportAtMs(now, reportAt, days) - now.wallMs, 1_000), LOOK_MS);
  };

  const lookAgain = (): void => {
    void look()
      .catch((error: Error) => {
        log.error({ err: error }, 'daily report could not be looked after');
        return LOOK_MS;
      })
      .then((delayMs) => {
        if (!isClosed) cancel = clock.after(failures > 0 ? LOOK_MS : delayMs, lookAgain);
      });
  };
  lookAgain();
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
