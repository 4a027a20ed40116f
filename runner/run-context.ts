import type { Clock } from '../src/domain/clock.js';
import type { Config } from '../src/domain/config.js';
import type { StartOrder } from '../src/domain/effects.js';
import type { Dispatch } from '../src/domain/events.js';
import type { KnownSecrets } from '../src/domain/find-secrets.js';
import type { Issue } from '../src/domain/issue.js';
import type { AbortReason, Outcome } from '../src/domain/outcome.js';
import type { HostTool, IssueLocks, Tracker } from '../src/domain/ports.js';
import type { RunSignal } from '../src/domain/run-signal.js';
import type { Workflow } from '../src/domain/workflow.js';
import type { ContinuationValues } from '../templates/prompts.js';
import type { Prompt } from '../templates/render-prompt.js';
import type { ActiveRun } from './active-run.js';
import type { Containment } from './contain/process.js';
import type { Executors } from './executors/executors.js';
import type { OpenRuns } from './open-runs.js';
import type { RunObserver } from './run-observer.js';
import { RunPrompts } from './run-prompts.js';
import { deriveSignal } from './steps/derive-signal.js';
import { Pulse } from './steps/pulse.js';
import { SharedResources } from './steps/run-resources.js';
import { Conversation } from './steps/run-scope.js';
import { StepThreads } from './steps/step-threads.js';
import type { Workspace } from './workspace/workspace-folder.js';
import type { Workspaces } from './workspace/workspaces.js';

/** What the daemon provides to all runs. */
export interface RunServices {
  readonly clock: Clock;
  readonly containment: Containment;
  readonly workspaces: Workspaces;
  readonly tracker: Pick<Tracker, 'issuesByIds' | 'readComments'>;
  /** The host tools that agents may call, under the settings that a run starts with. */
  tools(workflow: Workflow): readonly HostTool[];
  readonly executors: Executors;
  /** Throws `BatonError` when something that the steps need is missing; then nothing is started. */
  checkPlan(workflow: Workflow): Promise<void>;
  /**
   * Called before each process. Throws `workflow_not_allowed` when code that the workflow runs differs from what was allowed. `run`:
   * compares only files that hooks and the command of the agent name.
   */
  checkFiles(workflow: Workflow, which: 'all' | 'run'): Promise<void>;
  /** The value of a `$NAME`, or the text itself. Masked from then on. Returns null when it is unset or empty. */
  secret(written: string): string | null;
  /** The secrets to look for in what leaves this machine. */
  knownSecrets(): Promise<KnownSecrets>;
  /** The daemon's temporary folder. Each run has its own folder in it. */
  readonly tmpRoot: string;
  readonly continuation: Prompt<ContinuationValues>;
  readonly baseEnv: { readonly [name: string]: string | undefined };
  readonly observer: RunObserver;
  readonly openRuns: OpenRuns;
  readonly issueLocks: Pick<IssueLocks, 'take'>;
  /** Pids of a run of an earlier daemon that survive SIGKILL. */
  survivors(runId: string): Promise<readonly number[]>;
  /** Saves the work that git would lose with the folder. A failure keeps the folder. */
  saveWork(workspace: Workspace, issue: Issue, workflow: Workflow, tmpDir: string, marker: string): Promise<void>;
  /** Called after the last process of a run that began at `startedTicks` (`ticksNow`). Never throws. */
  endLeftovers(runId: string, startedTicks: number): Promise<void>;
  readonly dispatch: Dispatch;
}

export interface PushAnswer {
  /** Of the held push. */
  readonly digest: string;
  readonly isAccepted: boolean;
}

/** A run whose workspace is ready, with everything that its hooks and steps share. */
export class RunContext {
  readonly runId: string;
  readonly workflow: Workflow;
  readonly config: Config;
  readonly prompts: RunPrompts;
  readonly conversation: Conversation;
  readonly threads: StepThreads;
  readonly pulse: Pulse;
  readonly resources: SharedResources;
  /** Outcomes by idempotency key. Steps that are still running are in here too. */
  readonly outcomesByKey = new Map<string, Promise<Outcome>>();
  /** Steps with processes that survive SIGKILL. */
  readonly stuckSteps: string[] = [];
  readonly #stepSignal;
  #nextStepIndex = 0;

  constructor(
    readonly run: ActiveRun,
    /** The order of the run; its issue carries the comments. */
    readonly order: StartOrder,
    readonly services: RunServices,
    readonly workspace: Workspace,
    /** The run's own TMPDIR. */
    readonly tmpDir: string,
  ) {
    const { workflow, emit } = run;
    const { clock, continuation } = services;
    this.runId = order.runId;
    this.workflow = workflow;
    this.config = workflow.config;
    this.prompts = new RunPrompts({ order, workflow, workspacePath: workspace.path, continuation, emit });
    this.conversation = new Conversation(order.runId, clock);
    this.threads = new StepThreads(workflow.plan, this.pushAnswer === null ? order.resume : null);
    this.pulse = new Pulse(clock, workflow.config.codex.stallTimeoutMs, emit);
    this.resources = new SharedResources(clock, ({ message }) =>
      this.warn('something of a step could not be released', { detail: message }),
    );
    this.#stepSignal = deriveSignal(run.signal);
  }

  /** Aborted when the steps must end. */
  get stepSignal(): AbortSignal {
    return this.#stepSignal.signal;
  }

  /** The answer that the run was started for, when it is about a push that an earlier run has held. */
  get pushAnswer(): PushAnswer | null {
    const { question, answer } = this.order.resume?.answer ?? {};
    const digest = question?.heldPush;
    return digest === undefined ? null : { digest, isAccepted: answer?.kind === 'accept' };
  }

  nextStepIndex(): number {
    return this.#nextStepIndex++;
  }

  emit(signal: RunSignal): void {
    this.run.emit(signal);
  }

  warn(message: string, fields: { readonly [key: string]: unknown }): void {
    this.services.observer.warned(this.runId, message, fields);
  }

  /** Processes of a step survive SIGKILL. The core parks the issue and forgets the run, so all other steps end and none begins. */
  reportUnkillable(stepId: string): void {
    this.stuckSteps.push(stepId);
    this.endSteps('sibling');
    this.services.dispatch({ type: 'run_unkillable', runId: this.runId });
  }

  /** All steps end, and no other begins. */
  endSteps(reason: AbortReason): void {
    this.#stepSignal.abort(reason);
  }

  /** Called once the steps are over. Never throws. */
  async releaseSteps(): Promise<void> {
    this.#stepSignal.release();
    await this.resources.release();
  }
}
