import type { ResumeOrder } from '../../src/domain/effects.js';
import type { RunSignal } from '../../src/domain/run-signal.js';
import { allSteps, type Plan } from '../../src/domain/steps/plan.js';

/**
 * Which step a thread of an agent belongs to. Outside of a run a thread is one name; where a plan has several agent steps that name
 * says which of them (`review#<thread>`), so that a thread that goes on after a restart or an answer finds its step again.
 */
export class StepThreads {
  readonly #agents: readonly string[];
  #resume: ResumeOrder | null;
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
    return { ...resume, threadId };
  }

  /** Names and numbers as they are told outside of the run: turns go on counting over the steps. */
  tag(stepId: string, signal: RunSignal): RunSignal {
    if (signal.type !== 'session' && signal.type !== 'usage') return signal;
    const threadId = this.#agents.length > 1 ? `${stepId}#${signal.threadId}` : signal.threadId;
    if (signal.type === 'usage') return { ...signal, threadId };
    this.#turns = this.#turnsBefore + signal.turn;
    return { ...signal, threadId, turn: this.#turns };
  }

  get turns(): number {
    return this.#turns;
  }
}
