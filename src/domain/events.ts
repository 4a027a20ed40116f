import type { Config } from './config.js';
import type { ErrorCode } from './errors.js';
import type { Issue } from './issue.js';
import type { Outcome } from './outcome.js';
import type { RateLimit, RemovalReport } from './ports.js';
import type { Answer, RunSignal } from './run-signal.js';

/** A past fact. `decide` handles events one at a time. */
export type OrchestratorEvent =
  /** `leftovers`: issues that own a workspace; terminal ones are cleaned up after the first observation. */
  | {
      readonly type: 'started';
      readonly leftovers: readonly { readonly issueId: string; readonly identifier: string }[];
      /** Give every eligible issue one run and exit; `only` restricts this to one issue, by the name that the user typed. */
      readonly once?: { readonly only: string | null };
      /** The tracker's rate limit rejects requests until then. */
      readonly limitedUntilMs?: number;
    }
  | { readonly type: 'config_changed'; readonly config: Config; readonly workflowHash: string }
  /**
   * Settings changed that take effect only when the daemon is opened again: nothing starts from now on, and a `reopen` effect follows once no
   * run is active. Without keys the request is withdrawn.
   */
  | { readonly type: 'reopen_requested'; readonly keys: readonly string[] }
  /** Time has passed. Only due work is done, so a stale timer is harmless. */
  | { readonly type: 'ticked' }
  | { readonly type: 'clock_set_back'; readonly byMs: number }
  | { readonly type: 'observed'; readonly observation: Observation }
  | {
      readonly type: 'issues_read';
      readonly seq: number;
      readonly asked: readonly string[];
      readonly result: ReadResult;
    }
  | { readonly type: 'persisted'; readonly seq: number }
  | { readonly type: 'persist_failed'; readonly seq: number; readonly message: string }
  | { readonly type: 'run_signalled'; readonly runId: string; readonly signal: Exclude<RunSignal, { type: 'event' }> }
  | { readonly type: 'run_unkillable'; readonly runId: string }
  /** The run has ended, and its process tree is gone. */
  | { readonly type: 'run_exited'; readonly runId: string; readonly outcome: Outcome }
  | { readonly type: 'workspace_removed'; readonly issueId: string; readonly report: RemovalReport }
  /** The tracker announced a change: poll early, unless its quota is low. */
  | { readonly type: 'change_announced' }
  // Requests of people
  | { readonly type: 'refresh_requested' }
  | { readonly type: 'stop_requested'; readonly issueId: string }
  | { readonly type: 'retry_requested'; readonly issueId: string }
  | { readonly type: 'answer_given'; readonly issueId: string; readonly questionId: string; readonly answer: Answer }
  | { readonly type: 'message_given'; readonly issueId: string; readonly text: string }
  | { readonly type: 'pause_requested' }
  | { readonly type: 'resume_requested' }
  | { readonly type: 'shutdown_requested' };

export interface Observation {
  readonly seq: number;
  /** The ids that were read. The observation says nothing about other issues. */
  readonly asked: readonly string[];
  readonly refresh: ReadResult;
  readonly candidates: ReadResult;
  readonly freeDiskMb: number | null;
}

export type ReadResult =
  | {
      readonly ok: true;
      readonly issues: readonly Issue[];
      readonly unknown: readonly string[];
      readonly rateLimit?: RateLimit;
      readonly problems?: readonly string[];
    }
  | { readonly ok: false; readonly code: ErrorCode; readonly message: string; readonly resetAtMs?: number };

export type Dispatch = (event: OrchestratorEvent) => void;
