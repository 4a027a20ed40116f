import { cancelled, type Outcome } from '../domain/outcome.js';
import type { StopReason } from '../domain/run.js';

/** How a run ended: goes on from "the run …". */
export const OUTCOME_TEXTS: { readonly [state in Outcome['state']]: string } = {
  success: 'finished',
  failed: 'failed',
  timeout: 'took too long',
  cancelled: 'was stopped',
};

/** Why a run is being stopped. */
export function stopText(reason: StopReason): string {
  return cancelled(reason).error.message;
}

/** In place of the error `no_slot`, which tells programs that a waiting issue is due: goes on from "it …". */
export const WAITS_FOR_SLOT = 'waits for a free slot; agent.max_concurrent_agents is the limit';

/** Beside the outcome of a run, which does not depend on it, and beside a finished issue. */
export const AFTER_RUN_FAILED = 'after_run failed, so its work may not be pushed';
