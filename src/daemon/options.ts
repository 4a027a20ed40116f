import type { Logger } from 'pino';
import type { State } from '../../orchestrator/state.js';
import type { RunObserver } from '../../runner/run-observer.js';
import type { Dispatch, OrchestratorEvent } from '../domain/events.js';
import type { Store } from '../domain/ports.js';
import type { Redactor } from '../logging/redact.js';
import type { StateDir } from '../state-dir.js';
import type { TrackerRegistry } from '../tracker/registry.js';
import type { LoadedWorkflow } from '../workflow/load-workflow.js';

export interface DaemonOptions {
  readonly loaded: LoadedWorkflow;
  readonly stateDir: StateDir;
  /** The locks that keep the daemons of this user apart. */
  readonly lockDir: string;
  readonly trackers: TrackerRegistry;
  readonly log: Logger;
  readonly redactor: Redactor;
  readonly env: NodeJS.ProcessEnv;
  readonly homeDir: string;
  readonly version: string;
  readonly store?: Store;
  /** Overrides `server.port`. */
  readonly port?: number;
  /** The value of `--backend`, for agent steps with `backend: auto`. */
  readonly backend?: string;
  /** Every content of WORKFLOW.md takes effect at once, also one that changes what runs. */
  readonly allowChanges?: boolean;
  /** Aborted when the daemon is to stop before it has started: then it does not wait for a silent tracker. */
  readonly signal?: AbortSignal;
  /** Work off everything once and exit; `only`: one issue, by its name. */
  readonly once?: { readonly only: string | null };
  /** Watches runs, besides the log. */
  readonly observer?: Partial<RunObserver>;
  /** Watches decisions: every event with the state it led to. */
  onDecided?(event: OrchestratorEvent, state: State): void;
}

export interface Daemon {
  readonly dispatch: Dispatch;
  readonly state: State;
  /** The exit code, once everything is closed. */
  readonly exited: Promise<number>;
}
