import type { State } from '../../orchestrator/state.js';
import type { Clock } from '../../src/domain/clock.js';
import type { Config } from '../../src/domain/config.js';
import type { Effect } from '../../src/domain/effects.js';
import type { Dispatch } from '../../src/domain/events.js';
import type { Runner, Store } from '../../src/domain/ports.js';
import type { TrackerPort } from './tracker.js';

/** The parts of the daemon that a planted bug can access. */
export interface Insight {
  readonly state: State | null;
  readonly clock: Clock | null;
  readonly dispatch: Dispatch;
}

/** A bug, created by wrapping the ports of the core. The product has no switch for it. */
export interface Plant {
  store?(store: Store, life: Insight): Store;
  tracker?(tracker: TrackerPort, life: Insight): TrackerPort;
  runner?(runner: Runner, life: Insight): Runner;
  clock?(clock: Clock, life: Insight): Clock;
  dispatch?(dispatch: Dispatch, life: Insight): Dispatch;
  perform?(perform: (effect: Effect) => void, life: Insight): (effect: Effect) => void;
  restore?(restored: State, fresh: State): State;
  config?(config: Config): Config;
  /** Selects the leftover processes that are killed at start. */
  reaps?(marker: string): boolean;
}

export const NO_PLANT: Plant = {};
