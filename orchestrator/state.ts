import type { Claim, Hold, HoldSource, IssueRecord, RunFacts } from '../src/domain/claim.js';
import type { Config } from '../src/domain/config.js';
import type { FinishedIssue, Ledger, RunRecord } from '../src/domain/durable.js';
import type { ErrorCode } from '../src/domain/errors.js';
import type { Issue } from '../src/domain/issue.js';
import type { RateLimit } from '../src/domain/ports.js';

/** The complete state of the core: plain JSON. Only the loop holds the current state. */
export interface State {
  /** Random per process: makes run ids unique across restarts. */
  readonly instance: string;
  /** Baton's version, stored in run records. */
  readonly version: string;
  readonly config: Config;
  readonly workflowHash: string;
  readonly claims: ById<Claim>;
  /** Maps each run that occupies a slot to its issue. */
  readonly runs: { readonly [runId: string]: string };
  /** Unclaimed issues of the last good observation, eligible or not. */
  readonly candidates: ById<Issue>;
  /** Sequence number of the poll that returned the candidates. Answers to older reads are ignored. */
  readonly candidatesSeq: number;
  /** Ids of the candidates that can start as far as it depends on them, in start order. Some may have left the candidates since. */
  readonly line: readonly string[];
  /**
   * Issues that have a workspace but no claim: those found at start, and those whose workspace could not be removed. An observation
   * decides whether the workspace goes; `notBeforeMs` delays the next attempt.
   */
  readonly leftovers: ById<{ readonly notBeforeMs: number }>;
  /** Workspaces that are being removed: issue id to identifier. */
  readonly removals: ById<string>;
  /** Issues released or read individually since the last poll was ordered. Answers up to this seq are outdated for them. */
  readonly released: ById<number>;
  readonly records: ById<IssueRecord>;
  /** Ended runs whose record is not stored yet, with the seq of the write that contains it. */
  readonly ended: { readonly [runId: string]: { readonly record: RunRecord; readonly seq: number | null } };
  /** The most recently finished issues, newest last. */
  readonly finished: readonly FinishedIssue[];
  readonly holds: { readonly [source in HoldSource]?: Hold };
  readonly pausedSinceMs: number | null;
  readonly ledger: Ledger;
  readonly poll: PollState;
  /** The batched read in flight before a start. */
  readonly read: { readonly seq: number } | null;
  /** Numbers reads and polls in the order in which they are ordered. */
  readonly seq: number;
  readonly runSeq: number;
  readonly persist: PersistState;
  /** Set when the daemon runs with `--once` or `--issue`, see once.ts. */
  readonly once: Once | null;
  readonly shutdown: { readonly deadlineAwakeMs: number; readonly exited: boolean } | null;
  /** Changed settings that wait until no run is active, because the daemon must be opened again for them; empty: none. */
  readonly reopenFor: readonly string[];
}

export type ById<T> = { readonly [issueId: string]: T };

interface PollState {
  readonly inFlightSeq: number | null;
  readonly nextAtMs: number;
  readonly lastOkAtMs: number | null;
  /** Set while the tracker cannot be read, to distinguish that from "no work". */
  readonly failure: { readonly code: ErrorCode; readonly message: string; readonly sinceMs: number } | null;
  readonly rateLimit: RateLimit | null;
  /** The newest seq when the tracker last rejected a request. Answers to requests up to it do not lift the limit. */
  readonly limitSeq: number;
  /** The poll interval while a low quota stretches it, or null at the configured interval. */
  readonly slowMs: number | null;
  /** Problems in the last list of candidates, one sentence each. */
  readonly problems: readonly string[];
  /** Who requested another poll while one was in flight. A person gets it at once, a webhook only while the quota is sufficient. */
  readonly again: 'person' | 'tracker' | null;
  /** The newest seq when the trust rule last changed. Answers to requests up to it follow the old rule. */
  readonly trustSeq: number;
}

export interface Once {
  /** The only issue to run, as the user typed it, or null for all issues. */
  readonly only: string | null;
  /** Issues that have not started their run yet, or null until the first successful poll. */
  readonly due: readonly string[] | null;
  readonly results: ById<OnceResult>;
  /** Set when nothing is left to start. The first poll ordered after this seq is the final one. */
  readonly finalPollAfterSeq: number | null;
  readonly isOver: boolean;
}

export interface OnceResult {
  readonly identifier: string;
  readonly runId: string;
  readonly ok: boolean;
  readonly code: ErrorCode | null;
  readonly message: string | null;
}

export interface PersistState {
  /** The newest ordered write, and the newest answered one. */
  readonly orderedSeq: number;
  readonly settledSeq: number;
  /** A write failed. Only a full write repairs the store. */
  readonly broken: boolean;
  /** The seq of the full write that is in flight. */
  readonly fullSeq: number | null;
  /** The state changed while no write could be ordered, so no write contains the change yet. */
  readonly missed: boolean;
  /** The keys of changes that can wait and are not ordered yet; null: none. */
  readonly waiting: ChangedKeys | null;
  /** When such changes were last written on their own. */
  readonly relaxedAtAwakeMs: number | null;
}

/** What is changed, as keys of `claims`, `records` and `ledger`. Only days with a changed record have changed. */
export interface ChangedKeys {
  readonly claims: readonly string[];
  readonly records: readonly string[];
  readonly days: readonly string[];
}

export function initialState(
  config: Config,
  workflowHash: string,
  instance: string,
  wallMs: number,
  version = '',
): State {
  return {
    instance,
    version,
    config,
    workflowHash,
    claims: {},
    runs: {},
    candidates: {},
    candidatesSeq: 0,
    line: [],
    leftovers: {},
    removals: {},
    released: {},
    records: {},
    ended: {},
    finished: [],
    holds: {},
    pausedSinceMs: null,
    ledger: {},
    poll: {
      inFlightSeq: null,
      nextAtMs: wallMs,
      lastOkAtMs: null,
      failure: null,
      rateLimit: null,
      limitSeq: 0,
      slowMs: null,
      problems: [],
      again: null,
      trustSeq: 0,
    },
    read: null,
    seq: 0,
    runSeq: 0,
    persist: {
      orderedSeq: 0,
      settledSeq: 0,
      broken: false,
      fullSeq: null,
      missed: false,
      waiting: null,
      relaxedAtAwakeMs: null,
    },
    once: null,
    shutdown: null,
    reopenFor: [],
  };
}

export const NO_RECORD: IssueRecord = { runs: 0, tokens: 0, budgetFrom: 0, threads: [] };

export function recordOf(state: State, issueId: string): IssueRecord {
  return (Object.hasOwn(state.records, issueId) ? state.records[issueId] : undefined) ?? NO_RECORD;
}

/** The run that occupies a slot: an active run, or one whose processes cannot be killed. */
export function runOf(claim: Pick<Claim, 'status'>): RunFacts | null {
  return claim.status.kind === 'waiting' ? null : claim.status.run;
}

export function isAsking(claim: Claim): boolean {
  return claim.status.kind === 'running' && claim.live.run?.stage !== 'left' && claim.status.run.questions.length > 0;
}
