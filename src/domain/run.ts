import type { TokenTotals } from './run-signal.js';

/** Why a run starts. */
export type RunReason = 'first' | 'continuation' | 'retry' | 'resumed' | 'answer';

/** Why a run is stopped. */
export type StopReason =
  | 'terminal'
  | 'inactive'
  | 'unroutable'
  | 'gone'
  | 'stalled'
  | 'budget'
  | 'day_budget'
  | 'input_timeout'
  | 'operator'
  | 'shutdown';

/** What caused a run: a poll, an earlier failure or interruption, an answer, or the request of a person. */
export const RUN_CAUSES = ['poll', 'retry', 'answer', 'operator'] as const;
export type RunCause = (typeof RUN_CAUSES)[number];

/** Facts about a run that do not affect its state. They are filled in while the run goes on. */
export interface RunAccount {
  readonly cause: RunCause;
  readonly daemonVersion: string;
  /** SHA-256 of WORKFLOW.md. */
  readonly workflowHash: string;
  /** SHA-256 of the rendered issue and of the first prompt; null until they are rendered. */
  readonly issueHash: string | null;
  readonly promptHash: string | null;
  /** As reported by the agent, or null. */
  readonly agentVersion: string | null;
  readonly model: string | null;
  readonly turns: number;
  /** Tokens of this run only. */
  readonly tokens: TokenTotals;
}
