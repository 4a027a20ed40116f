import type { Clock } from '../../src/domain/clock.js';
import type { Config } from '../../src/domain/config.js';
import type { ResumeOrder } from '../../src/domain/effects.js';
import type { Issue } from '../../src/domain/issue.js';
import type { Outcome } from '../../src/domain/outcome.js';
import type { HostTool } from '../../src/domain/ports.js';
import type { Answer } from '../../src/domain/question.js';
import type { RunSignal } from '../../src/domain/run-signal.js';
import type { ContainedProcess } from '../process.js';

/** What runs a step. One interface for every kind. */
export interface Executor {
  readonly kind: string;
  /** Never throws, and returns only once every process it started is gone. */
  execute(step: AgentStep, context: StepContext): Promise<Outcome>;
}

/** The agent step: the only kind that a workflow without `steps:` has. */
export interface AgentStep {
  readonly id: string;
  readonly kind: 'agent';
  readonly prompt: string;
  readonly resume: ResumeOrder | null;
}

export interface StepContext {
  readonly runId: string;
  readonly issue: Issue;
  readonly config: Config;
  /** Real path of the workspace, and of the run's own TMPDIR. */
  readonly workspace: string;
  readonly tmpDir: string;
  readonly clock: Clock;
  readonly tools: readonly HostTool[];
  /** Aborted when the run must end; `signal.reason` is the `StopReason`. */
  readonly signal: AbortSignal;
  emit(signal: RunSignal): void;
  /** Runs a shell command in the workspace, contained, with the environment of agents. Throws `BatonError`. */
  launch(command: string): Promise<ContainedProcess>;
  /** Asks the tracker after a good turn. `null`: the issue is no longer ours to work on. Throws `BatonError`. */
  refreshIssue(): Promise<Issue | null>;
  /** The guidance for turn `turn` (2, 3, …) on the same thread. Throws `BatonError`. */
  continuationPrompt(issue: Issue, turn: number): string;
  /** Answers and steering messages of people, for as long as the step runs. */
  readonly controls: StepControls;
}

export interface StepControls {
  onAnswer(listener: (questionId: string, answer: Answer) => void): void;
  onSteer(listener: (text: string) => void): void;
}
