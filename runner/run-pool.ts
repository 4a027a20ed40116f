import { randomUUID } from 'node:crypto';
import PQueue from 'p-queue';
import type { StartOrder } from '../src/domain/effects.js';
import { BatonError, toBatonError } from '../src/domain/errors.js';
import { failureOf, type Outcome } from '../src/domain/outcome.js';
import type { Runner } from '../src/domain/ports.js';
import type { StopReason } from '../src/domain/run.js';
import type { Answer, RunSignal } from '../src/domain/run-signal.js';
import type { Workflow } from '../src/domain/workflow.js';
import { ActiveRun } from './active-run.js';
import { closeRun } from './close-run.js';
import { MarkerSweep } from './contain/marker-sweep.js';
import { runAttempt } from './run-attempt.js';
import type { RunServices } from './run-context.js';
import { answerEntry, questionEntry } from './run-observer.js';
import { removeIssueFolders } from './workspace/remove-workspace.js';
import { freeDiskMb } from './workspace/workspace-root.js';

/**
 * The active runs. Each start leads to exactly one `run_exited`, whatever happens. The queue is a ceiling below the core's own limit
 * and something to wait for; it never decides which run is next.
 */
export class RunPool implements Runner {
  readonly #services: RunServices;
  readonly #queue = new PQueue();
  readonly #active = new Map<string, ActiveRun>();
  /** What each active run does; never rejects. */
  readonly #acts = new Map<string, Promise<void>>();
  readonly #halt = new AbortController();
  /** Markers of the processes of removals. */
  readonly #removals = new Set<string>();

  constructor(services: RunServices) {
    this.#services = { ...services, containment: { ...services.containment, halted: this.#halt.signal } };
  }

  start(order: StartOrder, workflow: Workflow): void {
    const { observer } = this.#services;
    this.#queue.concurrency = Math.max(1, workflow.config.agent.maxConcurrentAgents);
    observer.runBegan(order);
    // The answer came while no run was active. It belongs to this run, which receives it.
    const { resume } = order;
    if (resume?.answer) {
      const { question, answer } = resume.answer;
      observer.audited(order.runId, 'answered', answerEntry(question, answer));
    }
    this.#track(order, workflow, (run) => this.#queue.add(() => runAttempt(run, this.#services)));
  }

  /** Not queued: closing starts no agent, and a run that waits for unkillable processes must not delay the others. */
  close(order: StartOrder, workflow: Workflow): void {
    this.#services.observer.closingBegan(order);
    this.#track(order, workflow, (run) => closeRun(order, workflow, this.#services, run.emit));
  }

  #track(order: StartOrder, workflow: Workflow, act: (run: ActiveRun) => Promise<Outcome>): void {
    const run = new ActiveRun(order, workflow, this.#services.clock, (signal) => this.#onSignal(run, signal));
    this.#active.set(order.runId, run);
    const acts = act(run)
      .catch((error: unknown) => failureOf(toBatonError(error)))
      .then((outcome) => this.#end(run, outcome));
    this.#acts.set(order.runId, acts);
  }

  stop(runId: string, reason: StopReason): void {
    this.#active.get(runId)?.stop(reason);
  }

  answer(runId: string, questionId: string, answer: Answer): void {
    const run = this.#active.get(runId);
    if (!run) return;
    const question = run.questions.get(questionId);
    if (question) this.#services.observer.answered(runId, question, answer);
    run.mailbox.answer(questionId, answer);
  }

  /** The agent that is at work receives the message, else the next agent of the run. */
  steer(runId: string, text: string): void {
    const run = this.#active.get(runId);
    if (!run) return;
    this.#services.observer.messageGiven(runId, text);
    run.mailbox.send(text);
  }

  removeWorkspace(...[issue, workflow]: Parameters<Runner['removeWorkspace']>): ReturnType<Runner['removeWorkspace']> {
    const isActive = [...this.#active.values()].some((run) => run.order.issue.id === issue.id);
    // The core never orders this. If it ever does, the active run matters more than cleaning up.
    if (isActive) return Promise.resolve({ ok: false, message: 'a run of this issue is active' });
    const marker = `remove-${randomUUID()}`;
    this.#removals.add(marker);
    return removeIssueFolders(issue, workflow, this.#services, marker).finally(() => this.#removals.delete(marker));
  }

  freeDiskMb(workflow: Workflow): Promise<number | null> {
    return freeDiskMb(workflow.config.workspace.root);
  }

  /**
   * For a forced exit, which does not wait for the stop ladder. Namespaces end with the daemon anyway, process groups do not. Runs start
   * nothing more and report nothing more, as if the daemon had been killed. Settles when they have come to their end.
   */
  async killAll(): Promise<void> {
    this.#halt.abort(new BatonError('INTERRUPTED', 'the daemon is forced to exit'));
    this.#services.openRuns.freeze();
    for (const run of this.#active.values()) run.stop('shutdown');
    const markers = [...this.#active.keys(), ...this.#removals];
    await Promise.all(markers.map((marker) => new MarkerSweep(marker).signal('SIGKILL')));
    await Promise.all(this.#acts.values());
  }

  /** Events are for people and go to the observer; all other signals go to the core. */
  #onSignal({ order, questions }: ActiveRun, signal: RunSignal): void {
    const { observer, dispatch } = this.#services;
    const { runId } = order;
    if (signal.type === 'event') return observer.runtimeEvent(runId, signal.event);
    if (signal.type === 'asked') {
      questions.set(signal.question.id, signal.question);
      observer.audited(runId, 'asked', questionEntry(signal.question, signal.wholeText));
    }
    if (signal.type === 'question_closed') questions.delete(signal.questionId);
    dispatch({ type: 'run_signalled', runId, signal });
  }

  #end({ order, mailbox }: ActiveRun, outcome: Outcome): void {
    const { observer, dispatch } = this.#services;
    const { runId } = order;
    this.#active.delete(runId);
    this.#acts.delete(runId);
    if (this.#halt.signal.aborted) return;
    const unread = mailbox.takeUnread();
    for (const text of unread) observer.audited(runId, 'unheard', { text });
    if (unread.length > 0)
      observer.warned(runId, 'the run ended before its agent read the messages of a person', {
        messages: unread.length,
      });
    observer.runEnded(runId, outcome);
    dispatch({ type: 'run_exited', runId, outcome });
  }
}
