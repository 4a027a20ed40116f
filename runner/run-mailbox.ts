import type { Answer } from '../src/domain/question.js';
import type { PersonListener, StepControls } from './executors/executor.js';

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
