import type { ResumeOrder } from '../../src/domain/effects.js';
import type { RunSignal, TokenTotals } from '../../src/domain/run-signal.js';
import { allSteps, type Plan } from '../../src/domain/steps/plan.js';

/**
 * Which step a thread of an agent belongs to. Outside of a run a thread is one name; where a plan has several agent steps that name
 * says which of them (`review#<thread>`), so that a thread that goes on after a restart or an answer finds its step again.
 */
export class StepThreads {
  readonly #agents: readonly string[];
  /** The thread that the run goes on with, until its step takes it. */
  #resume: ResumeOrder | null;
  /** Names of threads that were there before: a name is what tokens are counted under, and stays. */
  readonly #known = new Map<string, string>();
  readonly #totals = new Map<string, TokenTotals>();
  #heldBack: RunSignal | null = null;
  #turnsBefore = 0;
  #turns = 0;

  constructor(plan: Plan, resume: ResumeOrder | null) {
    this.#agents = [...allSteps(plan.steps)].flatMap((step) =>
      step.shape === 'action' && step.action.kind === 'agent' && step.action.backend === 'cli' ? [step.id] : [],
    );
    this.#resume = resume;
  }

  /** What a step goes on with, once: the next go of a loop begins anew. */
  resumeFor(stepId: string): ResumeOrder | null {
    this.#turnsBefore = this.#turns;
    const resume = this.#resume;
    if (resume === null) return null;
    const [, owner, threadId = resume.threadId] = /^([\w-]+)#(.*)$/s.exec(resume.threadId) ?? [];
    // A thread whose step is gone from the workflow may hold an answer: the first agent is told it.
    const isMine = owner === undefined || !this.#agents.includes(owner) ? stepId === this.#agents[0] : owner === stepId;
    if (!isMine) return null;
    this.#resume = null;
    this.#known.set(threadId, resume.threadId);
    return { ...resume, threadId };
  }

  /** A signal with names and numbers as they are told outside of the run: turns go on counting over the steps. */
  tell(stepId: string, signal: RunSignal): readonly RunSignal[] {
    if (signal.type === 'usage') {
      this.#totals.set(signal.threadId, signal.totals);
      return [{ ...signal, threadId: this.#nameOf(stepId, signal.threadId) }];
    }
    if (signal.type === 'session') {
      this.#turns = this.#turnsBefore + signal.turn;
      const session = { ...signal, threadId: this.#nameOf(stepId, signal.threadId), turn: this.#turns };
      if (!this.#resume?.answer) return [session];
      // With a thread the core takes the answer of a person as given. A step before the one that asked must not use it up.
      this.#heldBack = session;
      return [];
    }
    if (signal.type !== 'asked' || this.#heldBack === null) return [signal];
    // To answer this, its own thread has to be known.
    const session = this.#heldBack;
    this.#heldBack = null;
    return [session, signal];
  }

  /** Of all threads together. */
  get usage(): TokenTotals {
    const sum = { input: 0, cached: 0, output: 0 };
    for (const { input, cached, output } of this.#totals.values()) {
      sum.input += input;
      sum.cached += cached;
      sum.output += output;
    }
    return sum;
  }

  get turns(): number {
    return this.#turns;
  }

  #nameOf(stepId: string, threadId: string): string {
    return this.#known.get(threadId) ?? (this.#agents.length > 1 ? `${stepId}#${threadId}` : threadId);
  }
}
