import type { PricingConfig } from '../domain/config.js';
import type { FinishedIssue } from '../domain/finished.js';
import type { RunRecord } from '../domain/run-record.js';
import { type IssuePart, issueParts } from './issue-parts.js';
import { compareNames, tokensOf, unpricedModels } from './price-tokens.js';
import type { Group, Report, ReportBy, ReportedIssue, ReportNote } from './report.js';
import { type Bucket, stateOf, sumUp } from './sum-up.js';

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
