import type { Claim } from '../src/domain/claim.js';
import type { Instant } from '../src/domain/clock.js';
import type { DurableChange, DurableClaim, RunRecord } from '../src/domain/durable.js';
import { failure } from '../src/domain/outcome.js';
import type { Draft } from './draft.js';
import { holdFor, liftHold } from './holds.js';
import { ledgerChanges } from './ledger.js';
import { markOnceStarted } from './once.js';
import { requeue } from './park-and-wait.js';
import { recordRunEnd, runRecord } from './run-record.js';
import { type ById, runOf, type State } from './state.js';

/**
 * Handlers do not order writes. The difference between the state before and after an event is written, so no change can be forgotten.
 * A run has no process until its claim is stored.
 */
export function orderPersist(draft: Draft, before: State, now: Instant): void {
  const { persist, holds } = draft.state;
  const change = changeBetween(before, draft.state);
  if (persist.broken) {
    const isInFlight = persist.orderedSeq > persist.settledSeq;
    if (!isInFlight && (holds.store?.untilMs ?? 0) <= now.wallMs) order(draft, everything(draft.state));
    else if (change !== null) draft.set({ persist: { ...persist, missed: true } });
  } else if (persist.missed) order(draft, everything(draft.state));
  else if (change !== null) order(draft, change);
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
  for (const claim of Object.values(draft.state.claims)) {
    const live = claim.live.run;
    if (claim.status.kind !== 'running' || live?.stage !== 'claiming' || live.persistSeq > seq) continue;
    start(draft, claim);
  }
}

/** A write failed: unstored claims go back to waiting, the daemon holds, and the next write contains the whole state. */
export function failPersist(draft: Draft, seq: number, message: string, now: Instant): void {
  const { persist } = draft.state;
  draft.set({ persist: { ...persist, settledSeq: Math.max(persist.settledSeq, seq), broken: true, fullSeq: null } });
  holdFor(draft, { code: 'store_failed', message, retryable: true }, now, null);
  for (const claim of Object.values(draft.state.claims)) {
    if (claim.status.kind !== 'running' || claim.live.run?.stage !== 'claiming') continue;
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
  draft.set({ persist: { ...persist, orderedSeq: seq, ...full } });
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

function changeBetween(before: State, after: State): DurableChange | null {
  const claims = changedClaims(before.claims, after.claims);
  const records = changedEntries(before.records, after.records);
  const { holds, pausedSinceMs } = after;
  const ended = Object.values(after.ended).flatMap(({ record, seq }) => (seq === null ? [record] : []));
  const isSame =
    Object.keys(claims).length === 0 &&
    Object.keys(records).length === 0 &&
    ended.length === 0 &&
    before.holds === holds &&
    before.pausedSinceMs === pausedSinceMs &&
    before.ledger === after.ledger &&
    before.finished === after.finished;
  if (isSame) return null;
  const ledger = ledgerChanges(before.ledger, after.ledger);
  const runs = [...openRecords(claims), ...ended];
  const finished = after.finished.filter((one) => !before.finished.includes(one));
  return { full: false, claims, records, holds, pausedSinceMs, ledger, runs, finished };
}

/** The records of active runs. */
function openRecords(claims: { readonly [issueId: string]: Claim | DurableClaim | null }): RunRecord[] {
  return Object.values(claims).flatMap((claim) => {
    const run = claim && runOf(claim);
    return run ? [runRecord(claim, run, null)] : [];
  });
}

function changedClaims(before: ById<Claim>, after: ById<Claim>): Record<string, DurableClaim | null> {
  const claims: Record<string, DurableClaim | null> = {};
  for (const [id, claim] of Object.entries(changedEntries(before, after))) {
    if (!isSameButLive(before[id], claim)) claims[id] = durableClaim(claim);
  }
  if (before !== after) for (const id of Object.keys(before)) if (!(id in after)) claims[id] = null;
  return claims;
}

function changedEntries<T>(before: ById<T>, after: ById<T>): Record<string, T> {
  if (before === after) return {};
  return Object.fromEntries(Object.entries(after).filter(([id, value]) => before[id] !== value));
}

function isSameButLive(a: Claim | undefined, b: Claim): boolean {
  return (
    a !== undefined &&
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
