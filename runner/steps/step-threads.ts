import type { ResumeOrder } from '../../src/domain/effects.js';
import type { RunSignal, TokenTotals } from '../../src/domain/run-signal.js';
import { allSteps, type Plan } from '../../src/domain/steps/plan.js';

/**
 * Knows which step each agent thread of a run belongs to. Outside of the run a thread has one name; in a plan with several agent steps
 * that name contains the step (`review#<thread>`), so that a thread that is resumed after a restart or an answer finds its step again.
 */
export class StepThreads {
  readonly #agents: readonly string[];
  /** The thread that the run resumes, until its step takes it. */
  #resume: ResumeOrder | null;
  /** Outer names of resumed threads. Tokens are counted under the name, so it must not change. */
  readonly #names = new Map<string, string>();
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

  /** The thread that a step resumes. Returned once: the next iteration of a loop starts a new thread. */
  resumeFor(stepId: string): ResumeOrder | null {
    this.#turnsBefore = this.#turns;
    const resume = this.#resume;
    if (resume === null) return null;
    const [, owner, threadId = resume.threadId] = /^([\w-]+)#(.*)$/s.exec(resume.threadId) ?? [];
    // A thread whose step is gone from the workflow may carry an answer: the first agent receives it.
    const isMine = owner === undefined || !this.#agents.includes(owner) ? stepId === this.#agents[0] : owner === stepId;
    if (!isMine) return null;
    this.#resume = null;
    this.#names.set(threadId, resume.threadId);
    return { ...resume, threadId };
  }

  /** A signal with the thread names and turn numbers that are used outside of the run. Turns are counted over all steps. */
  translate(stepId: string, signal: RunSignal): readonly RunSignal[] {
    if (signal.type === 'usage') {
      this.#totals.set(signal.threadId, signal.totals);
      return [{ ...signal, threadId: this.#nameOf(stepId, signal.threadId) }];
    }
    if (signal.type === 'session') {
      this.#turns = this.#turnsBefore + signal.turn;
      const session = { ...signal, threadId: this.#nameOf(stepId, signal.threadId), turn: this.#turns };
      if (!this.#resume?.answer) return [session];
      // A session makes the core treat the answer of a person as delivered. A step before the one that asked must not cause that.
      this.#heldBack = session;
      return [];
    }
    if (signal.type !== 'asked' || this.#heldBack === null) return [signal];
    // To answer this question, the core must know the thread.
    const session = this.#heldBack;
    this.#heldBack = null;
    return [session, signal];
  }

  /** The sum over all threads. */
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
    return this.#names.get(threadId) ?? (this.#agents.length > 1 ? `${stepId}#${threadId}` : threadId);
  }
}
