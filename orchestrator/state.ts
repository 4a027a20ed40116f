import type { Claim, Hold, HoldSource, IssueRecord, RunFacts } from '../src/domain/claim.js';
import type { Config } from '../src/domain/config.js';
import type { FinishedIssue, Ledger, RunRecord } from '../src/domain/durable.js';
import type { ErrorCode } from '../src/domain/errors.js';
import type { Issue } from '../src/domain/issue.js';
import type { RateLimit } from '../src/domain/ports.js';

/** Everything the core knows. Plain JSON; only the loop holds the current one. */
export interface State {
  /** Random per process: makes run ids unique across restarts. */
  readonly instance: string;
  /** Of Baton, for the records of runs. */
  readonly version: string;
  readonly config: Config;
  readonly workflowHash: string;
  readonly claims: ById<Claim>;
  /** Which issue a run belongs to, for every run that takes a slot. */
  readonly runs: { readonly [runId: string]: string };
  /** Unclaimed issues of the last good observation, eligible or not. */
  readonly candidates: ById<Issue>;
  /** The poll that brought them: a read that was asked for before it tells nothing new about them. */
  readonly candidatesSeq: number;
  /**
   * Issues with a workspace and no claim, until an observation has told whether they are terminal: those that own one at the start, and
   * those whose workspace could not be removed, from the time on at which it is tried again.
   */
  readonly leftovers: ById<{ readonly notBeforeMs: number }>;
  /** Workspaces being removed, by issue: the identifier. */
  readonly removals: ById<string>;
  /** Issues given up or read by themselves since the last observation was asked for: the seq up to which answers about them are old. */
  readonly released: ById<number>;
  readonly records: ById<IssueRecord>;
  /** Runs that are over and whose record is not safe yet, with the write that carries it. */
  readonly ended: { readonly [runId: string]: { readonly record: RunRecord; readonly seq: number | null } };
  /** The last ones, the newest last. */
  readonly finished: readonly FinishedIssue[];
  readonly holds: { readonly [source in HoldSource]?: Hold };
  readonly pausedSinceMs: number | null;
  readonly ledger: Ledger;
  readonly poll: PollState;
  /** The batched read in flight before a start. */
  readonly read: { readonly seq: number } | null;
  /** Numbers reads and polls in the order in which they were asked for. */
  readonly seq: number;
  readonly runSeq: number;
  readonly persist: PersistState;
  /** Set for a daemon that works everything off once and leaves, see once.ts. */
  readonly once: Once | null;
  readonly shutdown: { readonly deadlineAwakeMs: number; readonly exited: boolean } | null;
}

export type ById<T> = { readonly [issueId: string]: T };

interface PollState {
  readonly inFlightSeq: number | null;
  readonly nextAtMs: number;
  readonly lastOkAtMs: number | null;
  /** "Cannot see", as against "no work". */
  readonly failure: { readonly code: ErrorCode; readonly message: string; readonly sinceMs: number } | null;
  readonly rateLimit: RateLimit | null;
  /** The newest question when the tracker last refused: what was asked up to then may be answered, and says nothing against it. */
  readonly limitSeq: number;
  /** The time between polls while a low quota stretches it; `null`: the usual pace. */
  readonly slowMs: number | null;
  /** What the last list of candidates could not read, a sentence each. */
  readonly problems: readonly string[];
  /** Who asked for a poll while one was in flight: a person has it at once, the tracker only while its quota lasts. */
  readonly again: 'person' | 'tracker' | null;
  /** The newest question when it last changed whom to trust: an answer to what was asked up to then is by the old rule. */
  readonly trustSeq: number;
}

export interface Once {
  /** The name of the only issue that is wanted, as a person typed it; `null`: all. */
  readonly only: string | null;
  /** Issues that have their run still before them; `null` until the first good poll has named them. */
  readonly due: readonly string[] | null;
  readonly results: ById<OnceResult>;
  /** Nothing is left to start: the first poll asked for after this one is the last look. */
  readonly lookBackAfterSeq: number | null;
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
  /** The newest change ordered, and the newest that has been answered. */
  readonly orderedSeq: number;
  readonly settledSeq: number;
  /** A write failed: only one that carries everything makes it good again. */
  readonly broken: boolean;
  /** That one, while it is in flight. */
  readonly fullSeq: number | null;
  /** Something changed while a write could not be ordered: it is in no write yet. */
  readonly missed: boolean;
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
    persist: { orderedSeq: 0, settledSeq: 0, broken: false, fullSeq: null, missed: false },
    once: null,
    shutdown: null,
  };
}

export const NO_RECORD: IssueRecord = { runs: 0, tokens: 0, budgetFrom: 0, threads: [] };

export function recordOf(state: State, issueId: string): IssueRecord {
  return (Object.hasOwn(state.records, issueId) ? state.records[issueId] : undefined) ?? NO_RECORD;
}

/** The run that occupies a slot: a running one, or one whose processes cannot be killed. */
export function runOf(claim: Pick<Claim, 'status'>): RunFacts | null {
  return claim.status.kind === 'waiting' ? null : claim.status.run;
}

export function isAsking(claim: Claim): boolean {
  return claim.status.kind === 'running' && claim.live.run?.stage !== 'left' && claim.status.run.questions.length > 0;
}
