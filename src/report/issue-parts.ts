import type { FinishedIssue } from '../domain/finished.js';
import type { RunRecord } from '../domain/run-record.js';
import { compareNames } from './price-tokens.js';

/** What a period has of one issue. */
export interface IssuePart {
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

export interface PartsInput {
  readonly runs: readonly RunRecord[];
  readonly finished: readonly FinishedIssue[];
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** Everything by issue. Its title, author and labels are the newest that are known, for all of its runs. */
export function issueParts({ runs, finished, sinceMs, untilMs }: PartsInput): IssuePart[] {
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
