import { Registry } from 'prom-client';
import type { State } from '../../orchestrator/state.js';
import type { Instant } from '../domain/clock.js';
import type { OrchestratorEvent } from '../domain/events.js';
import { Counts } from '../status/metric-counts.js';
import { ProcessGauges } from '../status/metric-process.js';
import { StateGauges } from '../status/metric-state.js';
import type { Totals } from './totals.js';

export interface MetricsOptions {
  state(): State;
  now(): Instant;
  /** Tokens since this daemon began: summed up once, by whoever tells them to people too. */
  totals(): Totals;
  readonly version: string;
}

export interface Metrics {
  /** To be called after every event of the core. What agents say a thousand times a second costs a few comparisons here. */
  decided(event: OrchestratorEvent, before: State, after: State, now: Instant): void;
  /** In the format of Prometheus. */
  text(): Promise<{ readonly text: string; readonly type: string }>;
  close(): void;
}

/**
 * What the daemon tells a Prometheus: what has happened is counted when it happens, how things stand is looked up when somebody asks.
 *
 * No label ever holds what a tracker or an agent wrote, an identifier or the state of an issue included. Each value of a label is a series that a
 * Prometheus keeps for weeks, so that whoever files issues could fill its memory; and its pages show labels to people who may see no issue.
 * All labels come from lists in the code (`ERRORS`, `PARK_REASONS`, …), and a code that is in none of them is `other`.
 */
export function createMetrics({ state, now, totals, version }: MetricsOptions): Metrics {
  // Its own and not the package's one for all: several daemons may live in one process.
  const registry = new Registry();
  const counts = new Counts(registry);
  const gauges = new StateGauges(registry, now().wallMs, version);
  const itself = new ProcessGauges(registry);
  return {
    decided: (event, before, after, at) => counts.decided(event, before, after, at),
    async text() {
      counts.tell(totals());
      gauges.tell(state(), now());
      itself.tell();
      return { text: await registry.metrics(), type: registry.contentType };
    },
    close() {
      itself.close();
      registry.clear();
    },
  };
}
