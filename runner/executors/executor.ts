import type { Clock } from '../../src/domain/clock.js';
import type { Config } from '../../src/domain/config.js';
import type { ResumeOrder } from '../../src/domain/effects.js';
import type { Issue } from '../../src/domain/issue.js';
import type { Json } from '../../src/domain/json.js';
import type { Outcome } from '../../src/domain/outcome.js';
import type { HostTool } from '../../src/domain/ports.js';
import type { Answer, RunSignal } from '../../src/domain/run-signal.js';
import type { RenderedAction } from '../../src/domain/steps/plan.js';
import type { Workflow } from '../../src/domain/workflow.js';
import type { ContainedProcess } from '../contain/process.js';
import type { Environment } from '../environment.js';

/**
 * What runs a step. One interface for every kind. `execute` never throws, ends soon after `context.signal` is aborted with
 * `cancelled(signal.reason)`, and returns only once every process that it started is gone. It keeps no time of its own: the
 * step loop aborts it when its limit is over, and gives the outcome the right code. It tells of its work by `context.emit`
 * (progress) and `context.audit` (transcript) and keeps no books: starts, ends and durations are told by the step loop.
 */
export interface Executor<A extends RenderedAction = RenderedAction> {
  execute(action: A, context: StepContext): Promise<Outcome>;
}

export interface StepContext {
  readonly runId: string;
  /** `null` on the first run of a claim. */
  readonly attempt: number | null;
  readonly issue: Issue;
  readonly workflow: Workflow;
  readonly config: Config;
  readonly step: StepFacts;
  /** Real path of the workspace, and of the run's own TMPDIR. */
  readonly workspace: string;
  readonly tmpDir: string;
  readonly clock: Clock;
  readonly tools: readonly HostTool[];
  /** Aborted when the step must end; `signal.reason` is the `AbortReason`. */
  readonly signal: AbortSignal;
  emit(signal: RunSignal): void;
  /** Into the run's transcript: whatever is worth keeping and nobody decides on. Bounded by the caller. */
  audit(kind: string, data: Json): void;
  /** Into the log: what an operator should know. */
  warn(message: string, fields: { readonly [key: string]: unknown }): void;
  /** The environment of agents under the policy of the workflow, with `extra` on top. */
  environment(extra: { readonly [name: string]: string }): Environment;
  /** Runs a shell command (`bash -lc`) in the workspace, contained, with the environment of agents. Throws `BatonError`. */
  launch(command: string): Promise<ContainedProcess>;
  /**
   * Starts a program without a shell, contained. Throws `BatonError`. Whoever calls it calls `stop()` in `finally`, which settles
   * only once nothing of it is left: what outlives SIGKILL is told from here, and becomes the outcome of the step.
   */
  start(program: Program): Promise<ContainedProcess>;
  /** The value behind a `$NAME` of the settings, or the text itself; `null`: missing or empty. Masked from then on. */
  secret(written: string): string | null;
  /** What lives as long as the run and is shared by its steps. */
  readonly run: RunResources;
  /** The conversation so far: the prompt of the workflow, then what each finished step gave. */
  messages(): readonly ThreadMessage[];
  /** A thread for an agent step to go on with; `null`: it begins anew. */
  readonly resume: ResumeOrder | null;
  /** Asks the tracker after a good turn. `null`: the issue is no longer ours to work on. Throws `BatonError`. */
  refreshIssue(): Promise<Issue | null>;
  /** The guidance for turn `turn` (2, 3, …) on the same thread. Throws `BatonError`. */
  continuationPrompt(issue: Issue, turn: number): string;
  /** Told by whoever sends an agent its words, in the moment of sending: exactly these words stand in the transcript. */
  promptSent(text: string): void;
  /** Answers and messages of people. */
  readonly controls: StepControls;
}

export interface StepFacts {
  readonly id: string;
  /** Counts the executions of steps in this run, from 0. */
  readonly index: number;
  readonly timeoutMs: number | null;
  /** Rendered; the same for each retry of the step. */
  readonly idempotencyKey: string | null;
}

export interface Program {
  readonly file: string;
  readonly args: readonly string[];
  /** The whole environment. */
  readonly env: { readonly [name: string]: string };
  /** `null`: the workspace. */
  readonly cwd: string | null;
  readonly stdin: 'pipe' | 'ignore';
  /** With a Node.js IPC channel (`process.send` in the child), as JSON lines on `ContainedProcess.channel`. */
  readonly channel: boolean;
}

export interface RunResources {
  /** What `make` gave the first time it was asked for under this key. */
  get<T>(key: string, make: () => T): T;
  /** Called when the run's steps are over, however they ended; the last one first. Each has a few seconds. Must not throw. */
  atEnd(release: () => Promise<void>): void;
}

export interface ThreadMessage {
  readonly messageId: string;
  readonly content: string;
  readonly sender: 'user' | 'agent' | 'system';
  /** UTC, ISO 8601. */
  readonly timestamp: string;
}

export interface StepControls {
  /**
   * For as long as an agent is at work. Messages that have waited for one come at once. Whoever attends calls what comes back at its end,
   * with the messages that its agent has not heard: the next agent of the run is told them.
   */
  attend(listener: PersonListener): (unheard: readonly string[]) => void;
}

/** What people say to the agent of a run. */
export interface PersonListener {
  onAnswer(questionId: string, answer: Answer): void;
  onMessage(text: string): void;
}
