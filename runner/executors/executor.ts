import type { Clock } from '../../src/domain/clock.js';
import type { Config } from '../../src/domain/config.js';
import type { ResumeOrder } from '../../src/domain/effects.js';
import type { KnownSecrets } from '../../src/domain/find-secrets.js';
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
 * Runs a step; every kind of step has one. `execute` never throws, ends with `cancelled(signal.reason)` soon after `context.signal` is
 * aborted, and returns only once every process that it started is gone, or is stopping and awaited by the run (`resources.atEnd`). It
 * enforces no time limit: the step loop aborts it when the limit is over and gives the outcome the right code. It reports progress by
 * `context.emit` and writes the transcript by `context.audit`. Starts, ends and durations are recorded by the step loop.
 */
export interface Executor<A extends RenderedAction = RenderedAction> {
  execute(action: A, context: StepContext): Promise<Outcome>;
}

/** What a step sees of its run. */
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
  /** Writes to the run's transcript. The caller bounds the data. */
  audit(kind: string, data: Json): void;
  /** Writes to the log, for operators. */
  warn(message: string, fields: { readonly [key: string]: unknown }): void;
  /** The environment of agents by the policy of the workflow, plus `extra`. */
  environment(extra: { readonly [name: string]: string }): Environment;
  /** Runs a shell command (`bash -lc`) in the workspace, contained, with the environment of agents. Throws `BatonError`. */
  launch(command: string): Promise<ContainedProcess>;
  /**
   * Starts a program without a shell, contained. Throws `BatonError`. The caller calls `stop()` in `finally`, which settles only once
   * all its processes are gone. Processes that survive SIGKILL are reported here and become the outcome of the step.
   */
  start(program: Program): Promise<ContainedProcess>;
  /** The value of a `$NAME` of the settings, or the text itself. Masked from then on. Returns null when it is unset or empty. */
  secret(written: string): string | null;
  /** The secrets to look for in what leaves this machine. */
  knownSecrets(): Promise<KnownSecrets>;
  /** Values that live as long as the run and are shared by its steps. */
  readonly resources: RunResources;
  /** The conversation so far: the prompt of the workflow, then the output of each finished step. */
  messages(): readonly ThreadMessage[];
  /** The thread that an agent step resumes; `null`: it starts a new one. */
  readonly resume: ResumeOrder | null;
  /** Reads the issue from the tracker after a good turn. Returns null when it is no longer active. Throws `BatonError`. */
  refreshIssue(): Promise<Issue | null>;
  /** The guidance for turn `turn` (2, 3, …) on the same thread. Throws `BatonError`. */
  continuationPrompt(issue: Issue, turn: number): string;
  /** Writes a prompt to the transcript. Called when it is sent, with exactly the text that is sent. */
  promptSent(text: string): void;
  /** Writes a line of the agent's stderr to transcript and log. It is never progress. */
  agentStderr(text: string): void;
  /** Delivers answers and messages of people. */
  readonly mailbox: StepMailbox;
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
  readonly stdin: 'pipe' | 'kernel_pipe' | 'ignore';
  /** With a Node.js IPC channel (`process.send` in the child), as JSON lines on `ContainedProcess.channel`. */
  readonly channel: boolean;
}

export interface RunResources {
  /** The value of `make` on the first call with this key. */
  get<T>(key: string, make: () => T): T;
  /** Called when the steps of the run are over, however they ended; the newest first. Each gets a few seconds and must not throw. */
  atEnd(release: () => Promise<void>): void;
}

export interface ThreadMessage {
  readonly messageId: string;
  readonly content: string;
  readonly sender: 'user' | 'agent' | 'system';
  /** UTC, ISO 8601. */
  readonly timestamp: string;
}

export interface StepMailbox {
  /**
   * Listens while an agent is at work. Waiting messages are delivered at once. At its end the caller calls the returned function with
   * the messages that its agent has not read; the next agent of the run receives them.
   */
  attend(listener: PersonListener): (unread: readonly string[]) => void;
}

/** Receives what people send to the agent of a run. */
export interface PersonListener {
  onAnswer(questionId: string, answer: Answer): void;
  onMessage(text: string): void;
}
