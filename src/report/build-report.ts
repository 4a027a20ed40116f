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
  /** Runs from before the period are not counted, but tell author and labels of an issue that left in it. */
  readonly runs: readonly RunRecord[];
  readonly finished: readonly FinishedIssue[];
  /** `null`, or without models: no money. */
  readonly pricing: PricingConfig | null;
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly by: ReportBy;
  /** The local day of a time, `YYYY-MM-DD`. */
  dayOf(wallMs: number): string;
}

/** What was done in a period. The order of what it is given does not matter. */
export function buildReport(input: ReportInput): Report {
  const { pricing, sinceMs, untilMs, by } = input;
  const parts = issueParts(input);
  const all: Bucket = {
    runs: parts.flatMap(({ runs }) => runs),
    finished: parts.flatMap(({ finished }) => finished ?? []),
  };
  const totals = sumUp(all, pricing);
  const unpriced = unpricedModels(all.runs, pricing);
  return {
    period: { sinceMs, untilMs },
    by,
    currency: totals.cost === null || pricing === null ? null : pricing.currency,
    totals,
    groups: by === 'issue' ? groupsByIssue(parts, pricing) : groupsByName(parts, input),
    unpriced,
    notes: notesOf(parts, by, unpriced),
  };
}

/** What has left comes first, done before handed over; then whatever moved last. */
function groupsByIssue(parts: readonly IssuePart[], pricing: PricingConfig | null): Group[] {
  const rank = ({ finished }: IssuePart) => (finished === null ? 2 : finished.isTerminal ? 0 : 1);
  return [...parts]
    .sort((a, b) => rank(a) - rank(b) || b.lastMs - a.lastMs || compareNames(a.identifier, b.identifier))
    .map((part) => ({
      name: part.identifier,
      issue: reportedIssue(part),
      ...sumUp({ runs: part.runs, finished: part.finished === null ? [] : [part.finished] }, pricing),
    }));
}

function reportedIssue({ id, title, finished, runs }: IssuePart): ReportedIssue {
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
    })),
  };
}

/** Days in their order; labels and authors by what they spent. */
function groupsByName(parts: readonly IssuePart[], { by, pricing, dayOf }: ReportInput): Group[] {
  const buckets = new Map<string | null, { runs: RunRecord[]; finished: FinishedIssue[] }>();
  const bucket = (name: string | null) => {
    const known = buckets.get(name) ?? { runs: [], finished: [] };
    buckets.set(name, known);
    return known;
  };
  const namesOf = (part: IssuePart, atMs: number): readonly (string | null)[] =>
    by === 'day' ? [dayOf(atMs)] : by === 'author' ? [part.author] : labelsOf(part);
  for (const part of parts) {
    for (const run of part.runs) for (const name of namesOf(part, run.startedAtMs)) bucket(name).runs.push(run);
    const { finished } = part;
    if (finished !== null) for (const name of namesOf(part, finished.atMs)) bucket(name).finished.push(finished);
  }
  return [...buckets]
    .map(([name, content]) => ({ name, issue: null, ...sumUp(content, pricing) }))
    .sort((a, b) => (by === 'day' ? 0 : b.tokens.billable - a.tokens.billable) || compareNames(a.name, b.name));
}

function labelsOf({ labels }: IssuePart): readonly (string | null)[] {
  return labels.length === 0 ? [null] : labels;
}

function notesOf(parts: readonly IssuePart[], by: ReportBy, unpriced: Report['unpriced']): ReportNote[] {
  const overlaps = by === 'label' && parts.some(({ labels }) => labels.length > 1);
  return [
    ...(overlaps ? [{ kind: 'overlap' } as const] : []),
    ...(unpriced.length === 0 ? [] : [{ kind: 'unpriced', models: unpriced.map(({ model }) => model) } as const]),
  ];
}

/** Runs, and issues that have left, which stand in one line of a report. */
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
 * A run that somebody stopped, or that was overtaken or interrupted, is stopped and nothing else; one that we had to end because
 * something was wrong with it has failed. So failures are just the runs that failed or took too long.
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

/**
 * A run that has not ended may be at work, or its daemon may be dead since last week: its time is not known. A clock that was set
 * back gives no time back.
 */
function timeOf({ startedAtMs, end }: RunRecord): number {
  return end === null ? 0 : Math.max(0, end.atMs - startedAtMs);
}

/** What a period has of one issue. */
interface IssuePart {
  readonly id: string;
  readonly identifier: string;
  readonly title: string;
  readonly author: string | null;
  readonly labels: readonly string[];
  /** Those that began in the period, the oldest first. */
  readonly runs: readonly RunRecord[];
  /** How it left our hands in the period, unless it came back to them. */
  readonly finished: FinishedIssue | null;
  /** When something was last heard of it. */
  readonly lastMs: number;
}

interface PartsInput {
  readonly runs: readonly RunRecord[];
  readonly finished: readonly FinishedIssue[];
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** Everything by issue. Its title, author and labels are the newest that are known, for all of its runs. */
function issueParts({ runs, finished, sinceMs, untilMs }: PartsInput): IssuePart[] {
  const isIn = (atMs: number) => atMs >= sinceMs && atMs < untilMs;
  const known = byIssue(runs.filter(({ startedAtMs }) => startedAtMs < untilMs));
  const left = byIssue(finished.filter(({ atMs }) => isIn(atMs)));
  return [...new Set([...known.keys(), ...left.keys()])].flatMap((id) => {
    const ofIssue = [...(known.get(id) ?? [])].sort(byNumber);
    const inPeriod = ofIssue.filter(({ startedAtMs }) => isIn(startedAtMs));
    const newest = ofIssue.at(-1);
    const last = lastOf(left.get(id) ?? []);
    // Counted by runs, not by the clock: one that was set back would make an issue that is done come back.
    const isBack = last !== null && newest !== undefined && newest.number > last.runs;
    const part = partOf(id, inPeriod, newest, isBack ? null : last);
    return part === null ? [] : [part];
  });
}

function partOf(
  id: string,
  runs: readonly RunRecord[],
  newest: RunRecord | undefined,
  finished: FinishedIssue | null,
): IssuePart | null {
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

/** It may leave several times, with runs in between. Of two at once the one that is final counts, in whichever order they come. */
function lastOf(finished: readonly FinishedIssue[]): FinishedIssue | null {
  const byTime = (a: FinishedIssue, b: FinishedIssue) =>
    a.runs - b.runs || a.atMs - b.atMs || Number(a.isTerminal) - Number(b.isTerminal);
  return [...finished].sort(byTime).at(-1) ?? null;
}

function byNumber(a: RunRecord, b: RunRecord): number {
  return a.number - b.number || a.startedAtMs - b.startedAtMs || compareNames(a.runId, b.runId);
}

const PER = 1_000_000;

/**
 * What runs cost. Tokens are added up by model first and priced once: however many runs there are, nothing is lost on the way.
 * `null` where there are no prices.
 */
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

/** Those that spent something, the most expensive guess first. */
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

/** Names in a fixed order of their own, whatever the language of the machine; none comes last. */
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

/** A part is no more than the whole, whatever an agent counts. */
function cachedOf({ cached, input }: TokenTotals): number {
  return Math.min(cached, input);
}
