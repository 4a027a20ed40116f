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

/** What one document may still cost. */
export class AdfBudget {
  #nodes = MAX_NODES;
  #chars = MAX_CHARS;
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

  /** The text, or as much of it as may still be told. */
  takeText(text: string): string {
    if (this.#isSpent) return '';
    if (text.length > this.#chars) this.#isSpent = true;
    // No half of a character at its end.
    const kept = this.#isSpent ? text.slice(0, this.#chars).replace(/[\ud800-\udbff]$/, '') : text;
    this.#chars -= kept.length;
    return kept;
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
