import type { State } from '../../orchestrator/state.js';
import { HOLD_SOURCES, PARK_REASONS } from '../../src/domain/claim.js';
import type { Effect } from '../../src/domain/effects.js';
import type { RunReason, StopReason } from '../../src/domain/run.js';
import type { Coverage } from './coverage.js';

const STOPS: { readonly [reason in StopReason]: true } = {
  terminal: true,
  inactive: true,
  unroutable: true,
  gone: true,
  stalled: true,
  budget: true,
  day_budget: true,
  input_timeout: true,
  operator: true,
  shutdown: true,
};
const RUNS: { readonly [reason in RunReason]: true } = {
  first: true,
  continuation: true,
  retry: true,
  resumed: true,
  answer: true,
};

/** The places in the core that a batch must reach. Faults without effect would prove nothing. */
export const REACHED: readonly string[] = [
  ...Object.keys(STOPS).map((reason) => `core: stops, ${reason}`),
  ...Object.keys(RUNS).map((reason) => `core: starts, ${reason}`),
  ...HOLD_SOURCES.map((source) => `core: holds, ${source}`),
  // No run error leads to it any more.
  ...PARK_REASONS.filter((reason) => reason !== 'configuration').map((reason) => `core: parks, ${reason}`),
];

export function markReached(coverage: Coverage, before: State, after: State, effects: readonly Effect[]): void {
  for (const effect of effects) {
    if (effect.type === 'stop_run') coverage.mark(`core: stops, ${effect.reason}`);
    if (effect.type === 'start_run') coverage.mark(`core: starts, ${effect.order.reason}`);
  }
  if (before.holds !== after.holds) {
    for (const source of HOLD_SOURCES) {
      if (after.holds[source] && !before.holds[source]) coverage.mark(`core: holds, ${source}`);
    }
  }
  if (before.claims === after.claims) return;
  for (const [id, { status }] of Object.entries(after.claims)) {
    const was = before.claims[id]?.status;
    if (status.kind === 'parked' && was?.kind !== 'parked') coverage.mark(`core: parks, ${status.reason}`);
  }
}
