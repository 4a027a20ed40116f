import { randomUUID } from 'node:crypto';
import PQueue from 'p-queue';
import type { Clock } from '../src/domain/clock.js';
import type { StartOrder } from '../src/domain/effects.js';
import { toBatonError } from '../src/domain/errors.js';
import type { Dispatch } from '../src/domain/events.js';
import { failureOf, type Outcome } from '../src/domain/outcome.js';
import type { Runner } from '../src/domain/ports.js';
import type { StopReason } from '../src/domain/run.js';
import type { Answer, Question, RunSignal } from '../src/domain/run-signal.js';
import type { Workflow } from '../src/domain/workflow.js';
import { closeRun } from './close-run.js';
import { MarkerSweep } from './contain/marker-sweep.js';
import type { PersonListener, StepControls } from './executors/executor.js';
import { type Attempt, type RunDeps, runAttempt } from './run-attempt.js';
import { answeredEntry, askedEntry } from './run-observer.js';
import { type RemovalDeps, removeWorkspaces } from './workspace/remove-workspace.js';
import { freeDiskMb } from './workspace/workspace-root.js';

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
    // Given while no run was there to take it: it is this run that hears it.
    const { resume } = order;
    if (resume?.answer) {
      const { question, answer } = resume.answer;
      this.#deps.observer.audited(order.runId, 'answered', answeredEntry(question, answer));
    }
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
    const run = this.#alive.get(runId);
    if (!run) return;
    const question = run.asked.get(questionId);
    if (question) this.#deps.observer.answered(runId, question, answer);
    run.mailbox.answer(questionId, answer);
  }

  /** Told to the agent that is at work, else to the next one of this run. */
  steer(runId: string, text: string): void {
    const run = this.#alive.get(runId);
    if (!run) return;
    this.#deps.observer.messageGiven(runId, text);
    run.mailbox.say(text);
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
    if (signal.type === 'event') return this.#deps.observer.runtimeEvent(runId, signal.event);
    if (signal.type === 'asked') {
      this.#alive.get(runId)?.asked.set(signal.question.id, signal.question);
      this.#deps.observer.audited(runId, 'asked', askedEntry(signal.question));
    }
    if (signal.type === 'question_closed') this.#alive.get(runId)?.asked.delete(signal.questionId);
    this.#deps.dispatch({ type: 'run_signalled', runId, signal });
  }

  #ended(runId: string, outcome: Outcome): void {
    const unheard = this.#alive.get(runId)?.mailbox.takeAll() ?? [];
    this.#alive.delete(runId);
    if (unheard.length > 0) {
      for (const text of unheard) this.#deps.observer.audited(runId, 'unheard', { text });
      this.#deps.observer.warned(runId, 'the run ended before its agent heard what a person said', {
        messages: unheard.length,
      });
    }
    this.#deps.observer.runEnded(runId, outcome);
    this.#deps.dispatch({ type: 'run_exited', runId, outcome });
  }
}

class AliveRun implements Attempt {
  stoppedAtAwakeMs: number | null = null;
  readonly mailbox = new RunMailbox();
  /** What its agents have asked, by the id of the question. */
  readonly asked = new Map<string, Question>();
  readonly #controller = new AbortController();
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

  get controls(): RunMailbox {
    return this.mailbox;
  }

  stop(reason: StopReason): void {
    this.stoppedAtAwakeMs ??= this.clock.now().awakeMs;
    this.#controller.abort(reason);
  }
}

/**
 * What people say to a run. It goes to the agent that is at work; there is never more than one in a workspace. A message that finds none
 * waits for the next one, and so does what an agent has not heard when it ends.
 */
export class RunMailbox implements StepControls {
  #listener: PersonListener | null = null;
  #waiting: string[] = [];

  attend(listener: PersonListener): (unheard: readonly string[]) => void {
    this.#listener = listener;
    for (const text of this.takeAll()) listener.onMessage(text);
    return (unheard) => {
      if (this.#listener !== listener) return;
      this.#listener = null;
      this.#waiting.push(...unheard);
    };
  }

  answer(questionId: string, answer: Answer): void {
    this.#listener?.onAnswer(questionId, answer);
  }

  say(text: string): void {
    if (this.#listener === null) this.#waiting.push(text);
    else this.#listener.onMessage(text);
  }

  /** What nobody has heard. */
  takeAll(): string[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    return waiting;
  }
}

type CoreSignal = Exclude<RunSignal, { type: 'event' }>;

const MOST_OFTEN_MS = 1_000;

/** Lets everything through but progress that tells nothing new: the same open items within a hundredth of the stall limit. */
export function filterProgress(
  clock: Clock,
  stallTimeoutMs: number,
  pass: (signal: CoreSignal) => void,
): (signal: CoreSignal) => void {
  const everyMs = stallTimeoutMs > 0 ? Math.min(MOST_OFTEN_MS, stallTimeoutMs / 100) : MOST_OFTEN_MS;
  let lastAtMs = Number.NEGATIVE_INFINITY;
  let lastOpenItems = -1;
  return (signal) => {
    if (signal.type === 'progress') {
      const { awakeMs } = clock.now();
      if (signal.openItems === lastOpenItems && awakeMs - lastAtMs < everyMs) return;
      lastAtMs = awakeMs;
      lastOpenItems = signal.openItems;
    } else {
      // The core counts open items anew with each phase.
      lastOpenItems = -1;
    }
    pass(signal);
  };
}
