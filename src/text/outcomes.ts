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
