import { join } from 'node:path';
import type { Logger } from 'pino';
import type { State } from '../../orchestrator/state.js';
import type { Containment } from '../../runner/contain/process.js';
import { readPrivateFile, writePrivateFile } from '../api/access.js';
import { type Clock, DAY_MS } from '../domain/clock.js';
import type { PricingConfig } from '../domain/config.js';
import { fieldsOf, type JsonObject, listOf } from '../domain/json.js';
import type { StoredPast } from '../domain/ports.js';
import type { Workflow } from '../domain/workflow.js';
import type { Redactor } from '../logging/redact.js';
import { type Collapse, collapse, collapseEnd, NOTHING_COLLAPSED } from '../notify/collapse.js';
import { createNotifier } from '../notify/deliver.js';
import { type Notice, nextReportAtMs, type ReportNotice, reportTodayMs, withDay } from '../notify/notice.js';
import { noticeJson } from '../notify/notice-json.js';
import { noticesBetween } from '../notify/notices-between.js';
import { buildReport } from '../report/build-report.js';
import { pastSince } from '../report/past-since.js';
import { reportJson } from '../report/report-json.js';
import { reportSummary } from '../report/report-summary.js';
import { localDay } from '../text/format-time.js';
import { neutraliseJson } from '../text/neutralise.js';
import { notifyTargets } from './notify-targets.js';

/** States come by the thousand in a second; people read slower. What comes and goes within this time is no news. */
const LOOK_MS = 250;

interface NotifyOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly redactor: Redactor;
  readonly env: NodeJS.ProcessEnv;
  readonly version: string;
  readonly containment: Containment;
  readonly stateDir: string;
  /** For commands, as their TMPDIR. */
  readonly tmpDir: string;
  /** In force now. */
  workflow(): Workflow;
  /** Of the daemon's page, for an issue or for all, without the token; `null`: there is none. */
  page(identifier: string | null): string | null;
  dailyReport(): Promise<{ readonly text: string; readonly report: JsonObject }>;
}

export interface Notify {
  /** After every decision, with the state before it. Cheap, and never throws. */
  decided(before: State, after: State): void;
  /** Sends what is held back, and waits for it for a few seconds at most; not when it is in a hurry. */
  close(isHurried?: boolean): Promise<void>;
}

/** Tells people what they want to hear about, by the settings of the moment. Whatever fails here is logged, and disturbs nothing else. */
export function startNotify(options: NotifyOptions): Notify {
  const { clock, log, redactor } = options;
  let unseen: { readonly before: State; after: State } | null = null;
  let held: Collapse = NOTHING_COLLAPSED;
  let isClosed = false;
  let [cancelLook, cancelWake] = [() => {}, () => {}];

  const notifier = createNotifier({
    clock,
    targets: () => notifyTargets({ ...options, workflow: options.workflow() }),
    encode: (told, missed) => {
      const context = { mask: redactor.mask, workflow: options.workflow(), page: options.page };
      return neutraliseJson(redactor.maskJson(JSON.stringify(noticeJson(told, missed, context))));
    },
    onFailure: (failure) => log.warn(failure, 'notice could not be delivered'),
    onRecovered: (target, missed) => log.info({ target, missed }, 'notices are delivered again'),
  });

  const guarded = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      log.error({ err: error }, 'notices could not be made');
    }
  };

  const tell = (notices: readonly Notice[]): void => {
    cancelWake();
    const now = clock.now().awakeMs;
    const { state, told, wakeMs } = collapse(held, notices, now);
    held = state;
    for (const one of told) notifier.tell(one);
    if (wakeMs !== null) cancelWake = clock.after(wakeMs - now, () => guarded(() => tell([])));
  };

  const look = (): void => {
    if (unseen === null) return;
    const { before, after } = unseen;
    unseen = null;
    const { on } = options.workflow().config.notify;
    const notices = noticesBetween(before, after, clock.now().wallMs);
    const wanted = notices.filter(({ kind }) => kind !== 'digest' && on.includes(kind));
    if (wanted.length > 0) tell(wanted);
  };

  const daily = startDailyReport({
    clock,
    log,
    stateDir: options.stateDir,
    reportAt: () => {
      const { notify } = options.workflow().config;
      return hasTarget(notify) && notify.on.includes('daily_report') ? notify.reportAt : null;
    },
    make: options.dailyReport,
    tell: (notice) => guarded(() => void (isClosed || tell([notice]))),
  });

  return {
    decided(before, after) {
      const isSame =
        before.claims === after.claims && before.finished === after.finished && before.holds === after.holds;
      if (isSame || isClosed) return;
      if (unseen !== null) unseen.after = after;
      else if (hasTarget(options.workflow().config.notify)) {
        unseen = { before, after };
        cancelLook = clock.after(LOOK_MS, () => guarded(look));
      }
    },
    async close(isHurried = false) {
      guarded(look);
      isClosed = true;
      cancelLook();
      cancelWake();
      daily.close();
      for (const one of collapseEnd(held)) notifier.tell(one);
      await notifier.close(isHurried);
    },
  };
}

function hasTarget({ url, command }: Workflow['config']['notify']): boolean {
  return url !== null || command !== null;
}

/** A wall clock that jumps, by sleep or by hand, is noticed within this time. */
const NOTIFY_REPORT_LOOK_MS = 60_000;
const MAX_FAILURES = 3;

interface DailyReportOptions {
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
    if (reportAt === null) return NOTIFY_REPORT_LOOK_MS;
    const isCatchUp = isFirst && days.length > 0;
    if (isNew && !isCatchUp && reportTodayMs(clock.now(), reportAt) <= clock.now().wallMs) {
      await remember(clock.now().day);
    }
    if (nextReportAtMs(clock.now(), reportAt, days) <= clock.now().wallMs) await send();
    const now = clock.now();
    return Math.min(Math.max(nextReportAtMs(now, reportAt, days) - now.wallMs, 1_000), NOTIFY_REPORT_LOOK_MS);
  };

  const lookAgain = (): void => {
    void look()
      .catch((error: Error) => {
        log.error({ err: error }, 'daily report could not be looked after');
        return NOTIFY_REPORT_LOOK_MS;
      })
      .then((delayMs) => {
        if (!isClosed) cancel = clock.after(failures > 0 ? NOTIFY_REPORT_LOOK_MS : delayMs, lookAgain);
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

interface DailyReportParts {
  readonly past: StoredPast;
  readonly clock: Clock;
  readonly stateDir: string;
  pricing(): PricingConfig;
}

/** What was done in the last 24 hours, for the notice of the day. */
export async function dailyReport(parts: DailyReportParts): Promise<{ text: string; report: JsonObject }> {
  const untilMs = parts.clock.now().wallMs;
  const sinceMs = untilMs - DAY_MS;
  const { runs, finished } = await pastSince(parts.past, sinceMs);
  const report = buildReport({
    runs,
    finished,
    pricing: parts.pricing(),
    sinceMs,
    untilMs,
    by: 'issue',
    dayOf: localDay,
  });
  return { text: reportSummary(report), report: reportJson(report, parts.stateDir) as JsonObject };
}
