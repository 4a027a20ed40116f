import type { ModelPrice, PricingConfig } from '../domain/config.js';
import type { FinishedIssue, RunRecord } from '../domain/durable.js';
import { ERRORS } from '../domain/error-table.js';
import type { ErrorCode } from '../domain/errors.js';
import type { TokenTotals } from '../domain/run-signal.js';
import type {
  Cost,
  Group,
  Report,
  ReportBy,
  ReportedIssue,
  ReportNote,
  RunCounts,
  RunState,
  Sums,
  TokenSums,
  UnpricedModel,
} from './report.js';

export interface ReportInput {
  /** Runs from before the period are not counted; they hold the author and labels of an issue that left in it. */
  readonly runs: readonly RunRecord[];
  readonly finished: readonly FinishedIssue[];
  /** Null or without models: the report has no cost. */
  readonly pricing: PricingConfig | null;
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly by: ReportBy;
  /** The local day of a time, `YYYY-MM-DD`. */
  dayOf(wallMs: number): string;
}

/** Builds the report of a period. The order of the records does not matter. */
export function buildReport(input: ReportInput): Report {
  const { pricing, sinceMs, untilMs, by } = input;
  const periods = issuePeriods(input);
  const all: Bucket = {
    runs: periods.flatMap(({ runs }) => runs),
    finished: periods.flatMap(({ finished }) => finished ?? []),
  };
  const totals = sumUp(all, pricing);
  const unpriced = unpricedModels(all.runs, pricing);
  return {
    period: { sinceMs, untilMs },
    by,
    currency: totals.cost === null || pricing === null ? null : pricing.currency,
    totals,
    groups: by === 'issue' ? groupsByIssue(periods, pricing) : groupsByName(periods, input),
    unpriced,
    notes: notesOf(periods, by, unpriced),
  };
}

/** Issues that left come first, done ones before those handed over; then the latest activity. */
function groupsByIssue(periods: readonly IssuePeriod[], pricing: PricingConfig | null): Group[] {
  const rank = ({ finished }: IssuePeriod) => (finished === null ? 2 : finished.isTerminal ? 0 : 1);
  return [...periods]
    .sort((a, b) => rank(a) - rank(b) || b.lastMs - a.lastMs || compareNames(a.identifier, b.identifier))
    .map((period) => ({
      name: period.identifier,
      issue: reportedIssue(period),
      ...sumUp({ runs: period.runs, finished: period.finished === null ? [] : [period.finished] }, pricing),
    }));
}

function reportedIssue({ id, title, finished, runs }: IssuePeriod): ReportedIssue {
  return {
    id,
    title,
    state: finished?.state ?? null,
    isDone: finished?.isTerminal ?? false,
    runs: runs.map((run) => ({
      id: run.runId,
      number: run.number,
      startedAtMs: run.startedAtMs,
      endedAtMs: run.end?.atMs ?? null,
      outcome: stateOf(run),
      code: run.end?.code ?? null,
      model: run.model,
      tokens: tokensOf([run]),
      afterRunFailed: run.end?.afterRunFailed ?? false,
    })),
  };
}

/** Days in chronological order; labels and authors by spent tokens. */
function groupsByName(periods: readonly IssuePeriod[], { by, pricing, dayOf }: ReportInput): Group[] {
  const buckets = new Map<string | null, { runs: RunRecord[]; finished: FinishedIssue[] }>();
  const bucket = (name: string | null) => {
    const known = buckets.get(name) ?? { runs: [], finished: [] };
    buckets.set(name, known);
    return known;
  };
  const namesOf = (period: IssuePeriod, atMs: number): readonly (string | null)[] =>
    by === 'day' ? [dayOf(atMs)] : by === 'author' ? [period.author] : labelsOf(period);
  for (const period of periods) {
    for (const run of period.runs) for (const name of namesOf(period, run.startedAtMs)) bucket(name).runs.push(run);
    const { finished } = period;
    if (finished !== null) for (const name of namesOf(period, finished.atMs)) bucket(name).finished.push(finished);
  }
  return [...buckets]
    .map(([name, content]) => ({ name, issue: null, ...sumUp(content, pricing) }))
    .sort((a, b) => (by === 'day' ? 0 : b.tokens.billable - a.tokens.billable) || compareNames(a.name, b.name));
}

function labelsOf({ labels }: IssuePeriod): readonly (string | null)[] {
  return labels.length === 0 ? [null] : labels;
}

function notesOf(periods: readonly IssuePeriod[], by: ReportBy, unpriced: Report['unpriced']): ReportNote[] {
  const overlaps = by === 'label' && periods.some(({ labels }) => labels.length > 1);
  return [
    ...(overlaps ? [{ kind: 'overlap' } as const] : []),
    ...(unpriced.length === 0 ? [] : [{ kind: 'unpriced', models: unpriced.map(({ model }) => model) } as const]),
  ];
}

/** The runs and finished issues of one line of a report. */
interface Bucket {
  readonly runs: readonly RunRecord[];
  readonly finished: readonly FinishedIssue[];
}

function sumUp({ runs, finished }: Bucket, pricing: PricingConfig | null): Sums {
  const done = finished.filter(({ isTerminal }) => isTerminal).length;
  return {
    issues: {
      workedOn: new Set(runs.map(({ issueId }) => issueId)).size,
      done,
      handedOver: finished.length - done,
    },
    runs: countRuns(runs),
    failures: failuresOf(runs),
    tokens: tokensOf(runs),
    cost: costOf(runs, pricing),
    timeMs: runs.reduce((sum, run) => sum + timeOf(run), 0),
  };
}

/**
 * The state of a run in the report. A run that was stopped by a person, overtaken or interrupted counts as cancelled. A run that Baton ended
 * because of an error counts as failed.
 */
function stateOf({ end }: RunRecord): RunState {
  if (end === null) return 'running';
  if (end.code === null || end.outcome === 'success') return end.outcome;
  if (isStop(end.code)) return 'cancelled';
  return end.outcome === 'cancelled' ? 'failed' : end.outcome;
}

function isStop(code: ErrorCode): boolean {
  return code === 'STOPPED_BY_OPERATOR' || ERRORS[code].scope === 'none';
}

function countRuns(runs: readonly RunRecord[]): RunCounts {
  const of = (state: RunState) => runs.filter((run) => stateOf(run) === state).length;
  return {
    all: runs.length,
    success: of('success'),
    failed: of('failed'),
    timeout: of('timeout'),
    cancelled: of('cancelled'),
    running: of('running'),
    retries: runs.filter(({ reason }) => reason === 'retry').length,
  };
}

function failuresOf(runs: readonly RunRecord[]): Sums['failures'] {
  const counts = new Map<ErrorCode, number>();
  for (const run of runs) {
    const code = run.end?.code ?? null;
    if (code !== null && ['failed', 'timeout'].includes(stateOf(run))) counts.set(code, (counts.get(code) ?? 0) + 1);
  }
  return [...counts]
    .map(([code, count]) => ({ code, runs: count }))
    .sort((a, b) => b.runs - a.runs || compareNames(a.code, b.code));
}

/** The duration of a run. It is unknown for a run that has not ended, as its daemon may be dead, and never negative. */
function timeOf({ startedAtMs, end }: RunRecord): number {
  return end === null ? 0 : Math.max(0, end.atMs - startedAtMs);
}

/** One issue in the period. */
interface IssuePeriod {
  readonly id: string;
  readonly identifier: string;
  readonly title: string;
  readonly author: string | null;
  readonly labels: readonly string[];
  /** The runs that started in the period, the oldest first. */
  readonly runs: readonly RunRecord[];
  /** How it left in the period, unless it came back. */
  readonly finished: FinishedIssue | null;
  /** The time of its last activity. */
  readonly lastMs: number;
}

interface PeriodInput {
  readonly runs: readonly RunRecord[];
  readonly finished: readonly FinishedIssue[];
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** Groups the records by issue. Title, author and labels are the newest known ones. */
function issuePeriods({ runs, finished, sinceMs, untilMs }: PeriodInput): IssuePeriod[] {
  const isIn = (atMs: number) => atMs >= sinceMs && atMs < untilMs;
  const known = byIssue(runs.filter(({ startedAtMs }) => startedAtMs < untilMs));
  const left = byIssue(finished.filter(({ atMs }) => isIn(atMs)));
  return [...new Set([...known.keys(), ...left.keys()])].flatMap((id) => {
    const ofIssue = [...(known.get(id) ?? [])].sort(byNumber);
    const inPeriod = ofIssue.filter(({ startedAtMs }) => isIn(startedAtMs));
    const newest = ofIssue.at(-1);
    const last = lastOf(left.get(id) ?? []);
    // Compared by run numbers: with a clock that was set back, a done issue would seem to come back.
    const isBack = last !== null && newest !== undefined && newest.number > last.runs;
    const period = periodOf(id, inPeriod, newest, isBack ? null : last);
    return period === null ? [] : [period];
  });
}

function periodOf(
  id: string,
  runs: readonly RunRecord[],
  newest: RunRecord | undefined,
  finished: FinishedIssue | null,
): IssuePeriod | null {
  const names = finished ?? newest;
  if (names === undefined || (runs.length === 0 && finished === null)) return null;
  return {
    id,
    identifier: names.identifier,
    title: names.title,
    author: newest?.author ?? null,
    labels: [...new Set(newest?.labels ?? [])],
    runs,
    finished,
    lastMs: runs.reduce((last, { startedAtMs, end }) => Math.max(last, end?.atMs ?? startedAtMs), finished?.atMs ?? 0),
  };
}

function byIssue<T extends { readonly issueId: string }>(all: readonly T[]): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const one of all) {
    const known = found.get(one.issueId);
    if (known) known.push(one);
    else found.set(one.issueId, [one]);
  }
  return found;
}

/** An issue may leave several times, with runs in between. Of two at the same time the terminal one counts. */
function lastOf(finished: readonly FinishedIssue[]): FinishedIssue | null {
  const byTime = (a: FinishedIssue, b: FinishedIssue) =>
    a.runs - b.runs || a.atMs - b.atMs || Number(a.isTerminal) - Number(b.isTerminal);
  return [...finished].sort(byTime).at(-1) ?? null;
}

function byNumber(a: RunRecord, b: RunRecord): number {
  return a.number - b.number || a.startedAtMs - b.startedAtMs || compareNames(a.runId, b.runId);
}

const PER = 1_000_000;

/** The cost of runs; null without prices. Tokens are summed by model and priced once, so that no rounding adds up. */
export function costOf(runs: readonly RunRecord[], pricing: PricingConfig | null): Cost | null {
  if (pricing === null || Object.keys(pricing.models).length === 0) return null;
  let millionths = 0;
  let isPartial = false;
  for (const [model, tokens] of tokensByModel(runs)) {
    const price = priceOf(model, pricing);
    if (price !== null) millionths += priced(tokens, price);
    else isPartial ||= spentAny(tokens);
  }
  return { amount: millionths / PER, isPartial };
}

/** Models that spent tokens and have no price, the largest first. */
export function unpricedModels(runs: readonly RunRecord[], pricing: PricingConfig | null): UnpricedModel[] {
  if (pricing === null || Object.keys(pricing.models).length === 0) return [];
  return [...tokensByModel(runs)]
    .filter(([model, tokens]) => priceOf(model, pricing) === null && spentAny(tokens))
    .map(([model, tokens]) => ({ model, tokens: tokens.billable }))
    .sort((a, b) => b.tokens - a.tokens || compareNames(a.model, b.model));
}

function tokensOf(runs: readonly RunRecord[]): TokenSums {
  let [input, cached, output] = [0, 0, 0];
  for (const { tokens } of runs) {
    input += tokens.input;
    cached += cachedOf(tokens);
    output += tokens.output;
  }
  return { input, cached, output, billable: input - cached + output };
}

/** Compares names independently of the locale; null comes last. */
function compareNames(a: string | null, b: string | null): number {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? 1 : -1;
  return a < b ? -1 : 1;
}

function tokensByModel(runs: readonly RunRecord[]): Map<string | null, TokenSums> {
  const byModel = new Map<string | null, RunRecord[]>();
  for (const run of runs) {
    const known = byModel.get(run.model);
    if (known) known.push(run);
    else byModel.set(run.model, [run]);
  }
  return new Map([...byModel].map(([model, some]) => [model, tokensOf(some)]));
}

function priceOf(model: string | null, { models }: PricingConfig): ModelPrice | null {
  return model !== null && Object.hasOwn(models, model) ? (models[model] ?? null) : null;
}

function priced({ input, cached, output }: TokenSums, price: ModelPrice): number {
  return (input - cached) * price.input + cached * price.cachedInput + output * price.output;
}

function spentAny({ input, output }: TokenSums): boolean {
  return input > 0 || output > 0;
}

/** The cached period cannot be more than the input, whatever the agent reports. */
function cachedOf({ cached, input }: TokenTotals): number {
  return Math.min(cached, input);
}
