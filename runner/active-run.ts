import type { Clock } from '../src/domain/clock.js';
import type { StartOrder } from '../src/domain/effects.js';
import type { StopReason } from '../src/domain/run.js';
import type { Answer, Question, RunSignal } from '../src/domain/run-signal.js';
import type { Workflow } from '../src/domain/workflow.js';
import type { PersonListener, StepMailbox } from './executors/executor.js';

/** A run between its start and its exit, as the pool sees it: it can be stopped, answered and sent messages. */
export class ActiveRun {
  stoppedAtAwakeMs: number | null = null;
  readonly mailbox = new RunMailbox();
  /** The open questions of its agents, by id. */
  readonly questions = new Map<string, Question>();
  readonly #controller = new AbortController();

  constructor(
    readonly order: StartOrder,
    readonly workflow: Workflow,
    private readonly clock: Clock,
    /** Reports to the pool. */
    readonly emit: (signal: RunSignal) => void,
  ) {}

  /** Aborted with a `StopReason`. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  stop(reason: StopReason): void {
    this.stoppedAtAwakeMs ??= this.clock.now().awakeMs;
    this.#controller.abort(reason);
  }
}

/**
 * Delivers answers and messages of people to the agent that is at work; there is never more than one in a workspace. Messages wait here
 * while no agent is at work, and so do messages that an agent has not read when it ends.
 */
export class RunMailbox implements StepMailbox {
  #listener: PersonListener | null = null;
  #waiting: string[] = [];

  attend(listener: PersonListener): (unread: readonly string[]) => void {
    this.#listener = listener;
    for (const text of this.takeUnread()) listener.onMessage(text);
    return (unread) => {
      if (this.#listener !== listener) return;
      this.#listener = null;
      this.#waiting.push(...unread);
    };
  }

  answer(questionId: string, answer: Answer): void {
    this.#listener?.onAnswer(questionId, answer);
  }

  send(text: string): void {
    if (this.#listener === null) this.#waiting.push(text);
    else this.#listener.onMessage(text);
  }

  /** Removes and returns the messages that no agent has read. */
  takeUnread(): string[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    return waiting;
  }
}
