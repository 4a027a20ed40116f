import type { Claim, Hold, Waiting } from '../src/domain/claim.js';
import type { Instant } from '../src/domain/clock.js';
import type { Config } from '../src/domain/config.js';
import type { Durable, DurableClaim } from '../src/domain/durable.js';
import { cancelled } from '../src/domain/outcome.js';
import { longestBackoffMs } from './backoff.js';
import { Draft } from './draft.js';
import { interruptedRun } from './live-run.js';
import { endRun } from './run-end.js';
import { runOf, type State } from './state.js';

/**
 * Rebuilds the state from what an earlier daemon stored. Interrupted runs keep their slot until their remains are cleaned up
 * (`closeInterruptedRuns`); then they resume their thread, without counting a failure. Due times, counts, questions, holds and the
 * pause are kept.
 */
export function restore(fresh: State, durable: Durable, wallMs: number): State {
  const { records, pausedSinceMs, ledger, finished } = durable;
  // Drop the store hold: only a write lifts it, and nothing is written while it lasts.
  const { store: _, ...kept } = durable.holds;
  const latestMs = wallMs + longestBackoffMs(fresh.config.agent.maxRetryBackoffMs);
  const holds = Object.fromEntries(
    Object.entries(kept).map(([source, hold]) => [source, restoredHold(hold, wallMs, latestMs)]),
  );
  const claims = Object.fromEntries(
    Object.entries(durable.claims).map(([id, claim]) => [id, reviveClaim(claim, fresh.config, wallMs, latestMs)]),
  );
  const runs = Object.values(claims).flatMap((claim) => {
    const run = runOf(claim);
    return run ? [[run.runId, claim.issue.id]] : [];
  });
  return { ...fresh, claims, runs: Object.fromEntries(runs), records, holds, pausedSinceMs, ledger, finished };
}

/** Orders the cleanup of interrupted runs. Called before anything starts, so every existing run is one. */
export function closeInterruptedRuns(draft: Draft): void {
  const { claims, workflowHash } = draft.state;
  for (const claim of Object.values(claims)) {
    const run = runOf(claim);
    if (!run) continue;
    const { runId, number, reason, attempt, resume } = run;
    draft.noteOn(claim, 'info', 'closing the run that an earlier daemon left', { run_number: number });
    const order = { runId, workflowHash, issue: claim.issue, number, reason, attempt, resume };
    draft.order({ type: 'close_run', order });
  }
}

/** The state after the cleanup of all interrupted runs, for a dry run. */
export function afterClosing(state: State, now: Instant): State {
  const draft = new Draft(state);
  for (const claim of Object.values(state.claims)) {
    const run = runOf(claim);
    if (run) endRun(draft, claim, run, cancelled('shutdown'), now);
  }
  return draft.state;
}

function reviveClaim(claim: DurableClaim, config: Config, wallMs: number, latestMs: number): Claim {
  const { status } = claim;
  return {
    ...claim,
    status: status.kind === 'waiting' ? restoredWaiting(status, wallMs, latestMs) : status,
    live: { issueSeq: 0, refusals: 0, run: status.kind === 'running' ? interruptedRun(status.run, config) : null },
  };
}

/**
 * Corrects due times that were stored before the clock was set back, so a ten-second wait does not take a year. A due time may have
 * been moved after `sinceMs`, so the wait is also capped by the longest backoff.
 */
function restoredWaiting(status: Waiting, wallMs: number, latestMs: number): Waiting {
  const aheadMs = Math.max(0, status.sinceMs - wallMs);
  const dueAtMs = Math.min(status.dueAtMs - aheadMs, latestMs);
  return { ...status, sinceMs: status.sinceMs - aheadMs, dueAtMs };
}

/** The reset time of a quota comes from the service and may be far away, so it is not capped. */
function restoredHold(hold: Hold, wallMs: number, latestMs: number): Hold {
  const aheadMs = Math.max(0, hold.sinceMs - wallMs);
  const sinceMs = hold.sinceMs - aheadMs;
  if (hold.untilMs === null) return { ...hold, sinceMs };
  const isOurs = hold.code !== 'agent_quota' && hold.code !== 'budget_exceeded';
  const untilMs = hold.untilMs - aheadMs;
  return { ...hold, sinceMs, untilMs: isOurs ? Math.min(untilMs, latestMs) : untilMs };
}
