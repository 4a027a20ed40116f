import type { Clock } from '../domain/clock.js';
import type { PricingConfig } from '../domain/config.js';
import type { JsonObject } from '../domain/json.js';
import type { StoredPast } from '../domain/ports.js';
import { buildReport } from '../report/build-report.js';
import { localDay } from '../text/local-time.js';
import { pastSince } from '../report/past-since.js';
import { reportJson } from '../report/report-json.js';
import { reportSummary } from '../report/report-summary.js';

export interface DailyReportParts {
  readonly past: StoredPast;
  readonly clock: Clock;
  readonly stateDir: string;
  pricing(): PricingConfig;
}

const DAY_MS = 86_400_000;

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
