import type { Answer, Question } from '../../../src/domain/question.js';
import type { Ask } from './approvals.js';
import type { RpcId } from './parse-message.js';
import type { Reporter } from './reporter.js';

/**
 * The questions of a run that wait for a person. Each ends exactly once: by an answer, or because the agent withdrew it.
 * While one is open the turn's clock stands still (`onChange`).
 */
const MAX_OPEN_QUESTIONS = 20;

export class Asking {
  readonly #open = new Map<string, OpenQuestion>();
  #count = 0;

  constructor(
    private readonly reporter: Reporter,
    private readonly onChange: (isAsking: boolean) => void,
    private readonly runId: string,
  ) {}

  /** The question that has waited longest. */
  get first(): Question | null {
    return this.#open.values().next().value?.question ?? null;
  }

  question(ask: Ask): Question {
    this.#count += 1;
    // With the run in it: a late answer to a question of an earlier run must not be taken for one to a question of this.
    return { id: `${this.runId}-q${this.#count}`, ...ask.draft };
  }

  /** Resolves to the reply for the agent. */
  async ask(rpcId: RpcId, ask: Ask): Promise<unknown> {
    if (this.#open.size >= MAX_OPEN_QUESTIONS) {
      this.reporter.warning(`declined: more than ${MAX_OPEN_QUESTIONS} questions at once`);
      return ask.reply(null);
    }
    const question = this.question(ask);
    return new Promise((resolve) => {
      this.#open.set(question.id, { rpcId, question, settle: (answer) => resolve(ask.reply(answer)) });
      this.reporter.signal({ type: 'asked', question });
      this.onChange(true);
    });
  }

  /** An answer to a question that is not open comes too late and changes nothing. */
  answer(questionId: string, answer: Answer): void {
    this.#end(questionId, answer);
  }

  /** The agent no longer waits for this request. */
  withdraw(rpcId: unknown): void {
    for (const { rpcId: open, question } of this.#open.values()) {
      if (open === rpcId) this.#end(question.id, null);
    }
  }

  /** The turn is over: nothing in it waits any more, said or unsaid. */
  withdrawAll(): void {
    for (const questionId of [...this.#open.keys()]) this.#end(questionId, null);
  }

  #end(questionId: string, answer: Answer | null): void {
    const open = this.#open.get(questionId);
    if (!open) return;
    this.#open.delete(questionId);
    open.settle(answer);
    this.reporter.signal({ type: 'question_closed', questionId });
    this.onChange(this.#open.size > 0);
  }
}

interface OpenQuestion {
  readonly rpcId: RpcId;
  readonly question: Question;
  settle(answer: Answer | null): void;
}
