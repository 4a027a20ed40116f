import { type Fields, fieldsOf, textOf } from '../../domain/fields.js';

/** A node of Atlassian Document Format. Anything may come as one. */
export interface AdfNode {
  readonly type: string;
  readonly text: string | null;
  readonly attrs: Fields;
  readonly marks: readonly unknown[];
  readonly content: readonly unknown[];
}

const NOTHING: readonly unknown[] = [];

export function nodeOf(value: unknown): AdfNode {
  const { type, text, attrs, marks, content } = fieldsOf(value);
  return {
    type: textOf(type) ?? '',
    text: textOf(text),
    attrs: fieldsOf(attrs),
    marks: Array.isArray(marks) ? marks : NOTHING,
    content: Array.isArray(content) ? content : NOTHING,
  };
}

/** A person writes some thousand nodes at most; a program could write any number. */
const MAX_NODES = 20_000;
const MAX_CHARS = 100_000;

/**
 * What one document may still cost. All that is written counts: words, addresses, and what stands before each line, since many lines in many lists are
 * mostly that.
 */
export class AdfBudget {
  #nodes = MAX_NODES;
  #chars = MAX_CHARS;
  /** How much stands before each line here. */
  #indent = 0;
  #isSpent = false;

  get isSpent(): boolean {
    return this.#isSpent;
  }

  /** False when no further node is read. */
  takeNode(): boolean {
    if (this.#isSpent || this.#nodes === 0) this.#isSpent = true;
    else this.#nodes--;
    return !this.#isSpent;
  }

  /** False when so much may not be written any more. */
  take(chars: number): boolean {
    if (chars > this.#chars) this.#isSpent = true;
    if (!this.#isSpent) this.#chars -= chars;
    return !this.#isSpent;
  }

  /** The text, or as much of it as may still be told. */
  takeText(text: string): string {
    let end = 0;
    while (end < text.length && !this.#isSpent) {
      const newline = text.indexOf('\n', end);
      const next = newline === -1 ? text.length : newline + 1;
      const left = this.#chars;
      if (this.take(next - end + (newline === -1 ? 0 : this.#indent))) end = next;
      else end += Math.min(left, next - end);
    }
    // No half of a character at its end.
    return end === text.length ? text : text.slice(0, end).replace(/[\ud800-\udbff]$/, '');
  }

  /** What is written meanwhile has so much before each of its lines. */
  within(width: number, write: () => string): string {
    this.take(width);
    this.#indent += width;
    const text = write();
    this.#indent -= width;
    return text;
  }
}

/** Only the texts of a node and of all below it, whatever these are, without recursion: for what is nested deeper than anyone writes. */
export function plainText(start: unknown, budget: AdfBudget): string {
  const texts: string[] = [];
  const open: unknown[] = [start];
  while (open.length > 0 && budget.takeNode()) {
    const { text, attrs, content } = nodeOf(open.pop());
    const own = text ?? textOf(attrs.text);
    if (own !== null) texts.push(budget.takeText(own));
    for (let at = content.length - 1; at >= 0; at--) open.push(content[at]);
  }
  return texts.join(' ');
}
