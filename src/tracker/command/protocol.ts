import type { JsonObject } from '../../domain/json.js';
import type { Answer } from './answer.js';

export const METHODS = ['issues_by_states', 'issues_by_ids', 'comments', 'comment', 'move', 'describe'] as const;
export type Method = (typeof METHODS)[number];

export interface Question {
  readonly method: Method;
  readonly params: JsonObject;
  /** Part of a change that somebody waits for: goes before what only looks. */
  readonly isUrgent?: boolean;
}

/** What may have happened although nobody heard so: never asked twice. */
export function isChange({ method }: { readonly method: string }): boolean {
  return method === 'comment' || method === 'move';
}

/**
 * A line of the protocol, without its end. In ASCII: to some languages U+2028 ends a line, and others read the encoding of the locale.
 */
export function lineOf(
  id: number,
  { method, params }: { readonly method: string; readonly params: JsonObject },
): string {
  return JSON.stringify({ v: 1, id, method, params }).replace(/[\u007f-\uffff]/g, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** A question on its way: settled once, by its answer or by whoever gives it up. */
export class Asked {
  readonly answer: Promise<Answer>;
  /** Settles with it, and never rejects. */
  readonly over: Promise<void>;
  #isOver = false;
  #resolve: (answer: Answer) => void = () => {};
  #reject: (error: Error) => void = () => {};

  constructor(readonly question: Question) {
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const end = () => {};
    this.over = this.answer.then(end, end);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  settle(answer: Answer): void {
    this.#isOver = true;
    this.#resolve(answer);
  }

  fail(error: Error): void {
    this.#isOver = true;
    this.#reject(error);
  }
}
