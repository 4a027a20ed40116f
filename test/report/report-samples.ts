import type { PricingConfig } from '../../src/domain/config.js';
import type { FinishedIssue, RunEnd, RunRecord } from '../../src/domain/durable.js';
import { buildReport, type ReportInput } from '../../src/report/build-report.js';
import type { Report } from '../../src/report/report.js';

export const HOUR_MS = 3_600_000;
export const NOON_MS = Date.UTC(2026, 10, 17, 12);

export const PRICING: PricingConfig = {
  currency: 'USD',
  models: { big: { input: 2, cachedInput: 0.5, output: 10 }, small: { input: 1, cachedInput: 1, output: 1 } },
};

export type RunSample = Partial<Omit<RunRecord, 'end'>> & { readonly end?: Partial<RunEnd> | null };

let made = 0;

/** A run that began an hour before noon and succeeded after ten minutes. */
export function run(overrides: RunSample = {}): RunRecord {
  const { end, ...rest } = overrides;
  const issueId = rest.issueId ?? 'A';
  const startedAtMs = rest.startedAtMs ?? NOON_MS - HOUR_MS;
  return {
    runId: `run-${++made}`,
    identifier: issueId,
    title: `Title of ${issueId}`,
    author: null,
    labels: [],
    number: 1,
    reason: 'first',
    attempt: null,
    threadId: null,
    cause: 'poll',
    daemonVersion: '1',
    workflowHash: 'w',
    issueHash: null,
    promptHash: null,
    agentVersion: null,
    model: 'big',
    turns: 1,
    tokens: { input: 0, cached: 0, output: 0 },
    ...rest,
    issueId,
    startedAtMs,
    end:
      end === null ? null : { atMs: startedAtMs + HOUR_MS / 6, outcome: 'success', code: null, message: null, ...end },
  };
}

/** An issue that is done since noon, after one run. */
export function finished(overrides: Partial<FinishedIssue> = {}): FinishedIssue {
  const issueId = overrides.issueId ?? 'A';
  return {
    ...{ identifier: issueId, title: `Title of ${issueId}`, url: null, state: 'Done', isTerminal: true },
    ...{ atMs: NOON_MS, runs: 1, tokens: 0, ...overrides, issueId },
  };
}

/** Of the day before noon, until an hour after it; days are those of UTC. */
export function reportOf(input: Partial<ReportInput>): Report {
  return buildReport({
    ...{ runs: [], finished: [], pricing: null, sinceMs: NOON_MS - 24 * HOUR_MS, untilMs: NOON_MS + HOUR_MS },
    ...{ by: 'issue', dayOf: (ms: number) => new Date(ms).toISOString().slice(0, 10), ...input },
  });
}

export const failed = { outcome: 'failed', code: 'turn_failed', message: 'x' } as const;
