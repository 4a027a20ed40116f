import type { LineCounter } from 'yaml';
import type { JsonObject } from '../domain/json.js';
import type { PromptSource } from '../domain/steps/plan.js';
import type { Position, WorkflowProblem } from '../domain/workflow.js';

export type KeyPath = readonly (string | number)[];

/** A problem as it is found. `WorkflowProblem` has all of its parts. */
export interface Problem {
  readonly at: Position;
  readonly text: string;
  /** Absent: a setting has a wrong type or value. */
  readonly code?: WorkflowProblem['code'];
  readonly params?: JsonObject;
  /** Absent: WORKFLOW.md. */
  readonly file?: string | null;
}

export const FILE_START: Position = { line: 1, column: 1 };

/** Positions of keys and values in a YAML file, recorded while it is read. */
export class Positions {
  readonly #keys = new Map<string, number>();
  readonly #values = new Map<string, number>();
  readonly #lines: LineCounter;
  readonly #source: string;

  constructor(lines: LineCounter, source: string) {
    this.#lines = lines;
    this.#source = source;
  }

  add(path: KeyPath, keyOffset: number | undefined, valueOffset: number | undefined): void {
    const id = JSON.stringify(path);
    if (keyOffset !== undefined) this.#keys.set(id, keyOffset);
    if (valueOffset !== undefined) this.#values.set(id, valueOffset);
  }

  has(path: KeyPath): boolean {
    return this.#keys.has(JSON.stringify(path));
  }

  keyAt(path: KeyPath): Position {
    return this.#nearest(path, (id) => this.#keys.get(id) ?? this.#values.get(id));
  }

  /** The position of the value of `path`, or of its nearest existing parent. */
  valueAt(path: KeyPath): Position {
    const own = this.#values.get(JSON.stringify(path));
    return own === undefined ? this.keyAt(path) : this.at(own);
  }

  /** The position of a text. Its lines are lines of the file for `|` and for a text on one line. */
  textAt(path: KeyPath, text: string): Pick<PromptSource, 'startLine' | 'startColumn' | 'isFolded'> {
    const { line, column } = this.valueAt(path);
    const written = this.#source.slice(this.#values.get(JSON.stringify(path)) ?? this.#source.length);
    const [mark] = /^\|[^\n]*\n/.exec(written) ?? [];
    if (mark !== undefined) {
      const isInk = (one: string) => one.trim() !== '';
      const first = written.slice(mark.length).split('\n').find(isInk) ?? '';
      const indent = first.length - (text.split('\n').find(isInk) ?? first).length;
      return { startLine: line + 1, startColumn: 1 + indent };
    }
    const [quote = ''] = /^["']/.exec(written) ?? [];
    if (text.includes('\n') || !written.startsWith(`${quote}${text}${quote}`))
      return { startLine: line, startColumn: column, isFolded: true };
    return { startLine: line, startColumn: column + quote.length };
  }

  at(offset: number): Position {
    const { line, col } = this.#lines.linePos(offset);
    return line === 0 ? FILE_START : { line, column: col };
  }

  #nearest(path: KeyPath, offsetOf: (id: string) => number | undefined): Position {
    for (let length = path.length; length > 0; length--) {
      const offset = offsetOf(JSON.stringify(path.slice(0, length)));
      if (offset !== undefined) return this.at(offset);
    }
    return FILE_START;
  }
}

/** `agent.max_turns`, `tracker.active_states[1]`. Other keys than plain words are quoted, so that a message stays on one line. */
export function formatPath(path: KeyPath): string {
  return path
    .map((part, index) => {
      if (typeof part === 'number') return `[${part}]`;
      const name = /^[\w-]{1,60}$/.test(part) ? part : JSON.stringify(part.slice(0, 60));
      return index === 0 ? name : `.${name}`;
    })
    .join('');
}

/** `name` is the name of WORKFLOW.md in messages. */
export function completeProblem(name: string, { at, text, code, params, file }: Problem): WorkflowProblem {
  return {
    code: code ?? 'invalid_workflow_config',
    params: params ?? {},
    file: file === undefined ? name : file,
    at,
    text,
  };
}

/** Problems of no file first, then those of WORKFLOW.md, then those of other files by name. */
export function inFileOrder<P extends Problem>(problems: readonly P[]): P[] {
  const rank = ({ file }: Problem) => (file === null ? 0 : file === undefined ? 1 : 2);
  const byName = (a: Problem, b: Problem) => ((a.file ?? '') < (b.file ?? '') ? -1 : a.file === b.file ? 0 : 1);
  return [...problems].sort(
    (a, b) => rank(a) - rank(b) || byName(a, b) || a.at.line - b.at.line || a.at.column - b.at.column,
  );
}
