import type { Claim } from '../src/domain/claim.js';
import type { Instant } from '../src/domain/clock.js';
import type { DurableChange, DurableClaim, RunRecord } from '../src/domain/durable.js';
import { failure } from '../src/domain/outcome.js';
import type { Draft } from './draft.js';
import { holdFor, liftHold } from './holds.js';
import { spendingOf } from './ledger.js';
import { markOnceStarted } from './once.js';
import { requeue } from './park-and-wait.js';
import { recordRunEnd, runRecord } from './run-record.js';
import { type ChangedKeys, type PersistState, recordOf, runOf, type State } from './state.js';

/** Changes that can wait are stored with the next other change, and at most this often on their own. */
const RELAXED_MS = 1_000;

/**
 * Handlers do not order writes. What the event has changed is written, so no change can be forgotten. A run has no process until its claim
 * is stored. `canWait`: a kill may undo the change, as it would a moment before the event.
 */
export function orderPersist(draft: Draft, before: State, canWait: boolean, now: Instant): void {
  const { persist, holds } = draft.state;
  const changed = changedSince(draft, before, now);
  if (persist.broken) {
    const isInFlight = persist.orderedSeq > persist.settledSeq;
    if (!isInFlight && (holds.store?.untilMs ?? 0) <= now.wallMs) order(draft, everything(draft.state));
    else if (changed !== null) draft.set({ persist: { ...persist, missed: true } });
  } else if (persist.missed) order(draft, everything(draft.state));
  else if (changed !== null && !canWait) order(draft, changeOf(before, draft.state, changed, persist.waiting));
  else orderRelaxed(draft, before, changed, now);
}

function orderRelaxed(draft: Draft, before: State, changed: ChangedKeys | null, now: Instant): void {
  const { persist } = draft.state;
  const waiting = changed === null ? persist.waiting : merge(persist.waiting, changed);
  if (waiting === null) return;
  if (relaxedDelayMs(persist, now) > 0) return draft.set({ persist: { ...persist, waiting } });
  order(draft, changeOf(before, draft.state, waiting, null));
  draft.set({ persist: { ...draft.state.persist, relaxedAtAwakeMs: now.awakeMs } });
}

/** The time until changes that can wait may be written on their own. */
export function relaxedDelayMs({ relaxedAtAwakeMs }: PersistState, now: Instant): number {
  return relaxedAtAwakeMs === null ? 0 : relaxedAtAwakeMs + RELAXED_MS - now.awakeMs;
}

/** A write succeeded: runs whose claim it stored may start. */
export function confirmPersist(draft: Draft, seq: number): void {
  const { persist } = draft.state;
  const isGoodAgain = persist.broken && seq === persist.fullSeq;
  const settledSeq = Math.max(persist.settledSeq, seq);
  draft.set({
    persist: isGoodAgain ? { ...persist, settledSeq, broken: false, fullSeq: null } : { ...persist, settledSeq },
  });
  if (isGoodAgain) liftHold(draft, 'store', 'the state can be stored again');
  for (const [runId, { seq: carriedBy }] of Object.entries(draft.state.ended)) {
    if (carriedBy !== null && carriedBy <= seq) draft.drop('ended', runId);
  }
  for (const issueId of Object.values(draft.state.runs)) {
    const claim = draft.claim(issueId);
    const live = claim?.live.run;
    if (claim?.status.kind !== 'running' || live?.stage !== 'claiming' || live.persistSeq > seq) continue;
    start(draft, claim);
  }
}

/** A write failed: unstored claims go back to waiting, the daemon holds, and the next write contains the whole state. */
export function failPersist(draft: Draft, seq: number, message: string, now: Instant): void {
  const { persist } = draft.state;
  draft.set({ persist: { ...persist, settledSeq: Math.max(persist.settledSeq, seq), broken: true, fullSeq: null } });
  holdFor(draft, { code: 'store_failed', message, retryable: true }, now, null);
  for (const issueId of Object.values(draft.state.runs)) {
    const claim = draft.claim(issueId);
    if (claim?.status.kind !== 'running' || claim.live.run?.stage !== 'claiming') continue;
    draft.drop('runs', claim.status.run.runId);
    // The failed write may be on disk anyway, so its run record must be closed.
    recordRunEnd(
      draft,
      claim,
      claim.status.run,
      failure('INTERRUPTED', 'its claim could not be stored', { state: 'cancelled' }),
      now,
    );
    requeue(draft, { ...claim, live: { ...claim.live, run: null } }, claim.status.run, now);
  }
}

function start(draft: Draft, claim: Claim): void {
  const live = claim.live.run;
  if (claim.status.kind !== 'running' || !live) return;
  const { runId, number, reason, attempt, resume } = claim.status.run;
  draft.putClaim({ ...claim, live: { ...claim.live, run: { ...live, stage: 'started' } } });
  markOnceStarted(draft, claim.issue.id);
  const { title } = claim.issue;
  draft.noteOn(claim, 'info', 'run started', {
    run_number: number,
    reason,
    ...(attempt === null ? {} : { attempt }),
    title,
  });
  const { workflowHash } = draft.state;
  draft.order({
    type: 'start_run',
    order: { runId, workflowHash, issue: claim.issue, number, reason, attempt, resume },
  });
}

function order(draft: Draft, change: DurableChange): void {
  const { persist } = draft.state;
  const seq = persist.orderedSeq + 1;
  const full = change.full ? { fullSeq: seq, missed: false } : {};
  draft.set({ persist: { ...persist, orderedSeq: seq, waiting: null, ...full } });
  for (const { runId } of change.runs) {
    const ended = draft.state.ended[runId];
    if (ended) draft.put('ended', runId, { ...ended, seq });
  }
  draft.order({ type: 'persist', seq, change });
}

function everything(state: State): DurableChange {
  const claims = Object.fromEntries(Object.entries(state.claims).map(([id, claim]) => [id, durableClaim(claim)]));
  const { records, holds, pausedSinceMs, ledger, finished } = state;
  const runs = [...openRecords(state.claims), ...Object.values(state.ended).map(({ record }) => record)];
  return { full: true, claims, records, holds, pausedSinceMs, ledger, runs, finished };
}

/** The keys of what the event has changed; null when nothing that is stored has changed. */
function changedSince(draft: Draft, before: State, now: Instant): ChangedKeys | null {
  const { claims, holds, pausedSinceMs, ledger, finished, ended } = draft.state;
  const changed = {
    claims: draft.touched('claims').filter((id) => !isSameButLive(before.claims[id], claims[id])),
    records: draft.touched('records').filter((id) => before.records[id] !== draft.state.records[id]),
    days: before.ledger === ledger ? [] : [now.day],
  };
  const isSame =
    changed.claims.length === 0 &&
    changed.records.length === 0 &&
    changed.days.length === 0 &&
    Object.values(ended).every(({ seq }) => seq !== null) &&
    before.holds === holds &&
    before.pausedSinceMs === pausedSinceMs &&
    before.finished === finished;
  return isSame ? null : changed;
}

/** `waiting`: changed keys of earlier events that are not written yet. */
function changeOf(before: State, after: State, changed: ChangedKeys, waiting: ChangedKeys | null): DurableChange {
  const keys = merge(waiting, changed);
  const claims = Object.fromEntries(
    keys.claims.map((id) => {
      const claim = after.claims[id];
      return [id, claim ? durableClaim(claim) : null];
    }),
  );
  const records = Object.fromEntries(keys.records.map((id) => [id, recordOf(after, id)]));
  const ended = Object.values(after.ended).flatMap(({ record, seq }) => (seq === null ? [record] : []));
  const { holds, pausedSinceMs } = after;
  const known = new Set(before.finished);
  const finished = before.finished === after.finished ? [] : after.finished.filter((one) => !known.has(one));
  const ledger = spendingOf(after.ledger, keys.days, keys.records);
  return {
    full: false,
    claims,
    records,
    holds,
    pausedSinceMs,
    ledger,
    runs: [...openRecords(claims), ...ended],
    finished,
  };
}

function merge(a: ChangedKeys | null, b: ChangedKeys): ChangedKeys {
  if (a === null) return b;
  const union = (one: readonly string[], other: readonly string[]) => [...new Set([...one, ...other])];
  return { claims: union(a.claims, b.claims), records: union(a.records, b.records), days: union(a.days, b.days) };
}

/** The records of active runs. */
function openRecords(claims: { readonly [issueId: string]: Claim | DurableClaim | null }): RunRecord[] {
  return Object.values(claims).flatMap((claim) => {
    const run = claim && runOf(claim);
    return run ? [runRecord(claim, run, null)] : [];
  });
}

function isSameButLive(a: Claim | undefined, b: Claim | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return (
    a.issue === b.issue &&
    a.status === b.status &&
    a.failures === b.failures &&
    a.idleRuns === b.idleRuns &&
    a.failedAsProbe === b.failedAsProbe &&
    a.daemonDeaths === b.daemonDeaths
  );
}

function durableClaim({ issue, failures, idleRuns, failedAsProbe, daemonDeaths, status }: Claim): DurableClaim {
  return { issue, failures, idleRuns, failedAsProbe, daemonDeaths, status };
}
