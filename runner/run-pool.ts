import { randomUUID } from 'node:crypto';
import PQueue from 'p-queue';
import type { Workflow } from '../src/domain/config.js';
import type { StartOrder, StopReason } from '../src/domain/effects.js';
import { toBatonError } from '../src/domain/errors.js';
import { failureOf, type Outcome } from '../src/domain/outcome.js';
import type { Dispatch, Runner } from '../src/domain/ports.js';
import type { Answer } from '../src/domain/question.js';
import type { RunSignal } from '../src/domain/run-signal.js';
import { closeRun } from './close-run.js';
import { MarkerSweep } from './contain/marker-sweep.js';
import type { StepControls } from './executors/executor.js';
import { filterProgress } from './progress-filter.js';
import { type RemovalDeps, removeWorkspaces } from './remove-workspace.js';
import { type Attempt, type RunDeps, runAttempt } from './run-attempt.js';
import { freeDiskMb } from './workspace-root.js';

export type RunPoolDeps = Omit<RemovalDeps, 'onUnkillable'> & { readonly dispatch: Dispatch };

/**
 * The runs that are alive. Each start leads to exactly one `run_exited`, whatever happens. The queue is a ceiling below the
 * core's own count and something to wait for; it never decides who is next.
 */
export class RunPool implements Runner {
  readonly #deps: RunPoolDeps;
  readonly #queue = new PQueue();
  readonly #alive = new Map<string, AliveRun>();
  /** Markers of the processes of removals. */
  readonly #removing = new Set<string>();

  constructor(deps: RunPoolDeps) {
    this.#deps = deps;
  }

  start(order: StartOrder, workflow: Workflow): void {
    this.#queue.concurrency = Math.max(1, workflow.config.agent.maxConcurrentAgents);
    this.#deps.observer.runBegan(order);
    this.#carry(order, workflow, (run, deps) => this.#queue.add(() => runAttempt(run, deps)));
  }

  /** Beside the queue: it starts no agent, and one that waits for what cannot be killed must not keep the others from being closed. */
  close(order: StartOrder, workflow: Workflow): void {
    this.#deps.observer.closingBegan(order);
    this.#carry(order, workflow, (_, deps) => closeRun(order, workflow, deps));
  }

  #carry(order: StartOrder, workflow: Workflow, act: (run: AliveRun, deps: RunDeps) => Promise<Outcome>): void {
    const run = new AliveRun(order, workflow, (signal) => this.#pass(order.runId, signal), this.#deps.clock);
    this.#alive.set(order.runId, run);
    const { dispatch, ...deps } = this.#deps;
    const onUnkillable = (runId: string) => dispatch({ type: 'run_unkillable', runId });
    void act(run, { ...deps, onUnkillable })
      .catch((error: unknown) => failureOf(toBatonError(error)))
      .then((outcome) => this.#ended(order.runId, outcome));
  }

  stop(runId: string, reason: StopReason): void {
    this.#alive.get(runId)?.stop(reason);
  }

  answer(runId: string, questionId: string, answer: Answer): void {
    this.#alive.get(runId)?.answer(questionId, answer);
  }

  steer(runId: string, text: string): void {
    this.#alive.get(runId)?.steer(text);
  }

  removeWorkspace(...[issue, workflow]: Parameters<Runner['removeWorkspace']>): ReturnType<Runner['removeWorkspace']> {
    const isAlive = [...this.#alive.values()].some((run) => run.order.issue.id === issue.id);
    // The core never asks for this; should it ever, a living run matters more than tidiness.
    if (isAlive) return Promise.resolve({ ok: false, message: 'a run of this issue is alive' });
    const marker = `remove-${randomUUID()}`;
    this.#removing.add(marker);
    const deps = { ...this.#deps, onUnkillable: () => {} };
    return removeWorkspaces(issue, workflow, deps, marker).finally(() => this.#removing.delete(marker));
  }

  freeDiskMb(workflow: Workflow): Promise<number | null> {
    return freeDiskMb(workflow.config.workspace.root);
  }

  /** For a forced end, when nobody will wait for the stop ladder: namespaces go with us anyway, groups do not. */
  async killAll(): Promise<void> {
    const markers = [...this.#alive.keys(), ...this.#removing];
    await Promise.all(markers.map((marker) => new MarkerSweep(marker).signal('SIGKILL')));
  }

  #pass(runId: string, signal: RunSignal): void {
    if (signal.type === 'event') this.#deps.observer.runtimeEvent(runId, signal.event);
    else this.#deps.dispatch({ type: 'run_signalled', runId, signal });
  }

  #ended(runId: string, outcome: Outcome): void {
    this.#alive.delete(runId);
    this.#deps.observer.runEnded(runId, outcome);
    this.#deps.dispatch({ type: 'run_exited', runId, outcome });
  }
}

class AliveRun implements Attempt {
  stoppedAtAwakeMs: number | null = null;
  readonly #controller = new AbortController();
  #onAnswer: ((questionId: string, answer: Answer) => void) | null = null;
  #onSteer: ((text: string) => void) | null = null;
  readonly emit: (signal: RunSignal) => void;

  constructor(
    readonly order: StartOrder,
    readonly workflow: Workflow,
    pass: (signal: RunSignal) => void,
    private readonly clock: RemovalDeps['clock'],
  ) {
    const passCore = filterProgress(clock, workflow.config.codex.stallTimeoutMs, pass);
    this.emit = (signal) => (signal.type === 'event' ? pass(signal) : passCore(signal));
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  readonly controls: StepControls = {
    onAnswer: (listener) => {
      this.#onAnswer = listener;
    },
    onSteer: (listener) => {
      this.#onSteer = listener;
    },
  };

  stop(reason: StopReason): void {
    this.stoppedAtAwakeMs ??= this.clock.now().awakeMs;
    this.#controller.abort(reason);
  }

  answer(questionId: string, answer: Answer): void {
    this.#onAnswer?.(questionId, answer);
  }

  steer(text: string): void {
    this.#onSteer?.(text);
  }
}
