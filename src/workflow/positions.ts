import type { LineCounter } from 'yaml';

export type KeyPath = readonly (string | number)[];

export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Something to tell about one place of the file. */
export interface Problem {
  readonly at: Position;
  readonly text: string;
}

export const FILE_START: Position = { line: 1, column: 1 };

/** Where keys and values stand in WORKFLOW.md, filled while the YAML is read. */
export class Positions {
  readonly #keys = new Map<string, number>();
  readonly #values = new Map<string, number>();
  readonly #lines: LineCounter;

  constructor(lines: LineCounter) {
    this.#lines = lines;
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

  /** Where the value of `path` stands; for a missing one, its nearest parent that is there. */
  valueAt(path: KeyPath): Position {
    const own = this.#values.get(JSON.stringify(path));
    return own === undefined ? this.keyAt(path) : this.at(own);
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

/** `agent.max_turns`, `tracker.active_states[1]`; a key that is no plain word is quoted, so that a message stays one line. */
export function formatPath(path: KeyPath): string {
  return path
    .map((part, index) => {
      if (typeof part === 'number') return `[${part}]`;
      const name = /^[\w-]{1,60}$/.test(part) ? part : JSON.stringify(part.slice(0, 60));
      return index === 0 ? name : `.${name}`;
    })
    .join('');
}

export function formatProblem(file: string, problem: Problem): string {
  return `${file}:${problem.at.line}:${problem.at.column} ${problem.text}`;
}

/** The way back from `formatProblem`; null for a text without a position. */
export function parseProblem(file: string, text: string): Problem | null {
  if (!text.startsWith(`${file}:`)) return null;
  const [, line, column, rest] = /^(\d+):(\d+) (.*)$/s.exec(text.slice(file.length + 1)) ?? [];
  return rest === undefined ? null : { at: { line: Number(line), column: Number(column) }, text: rest };
}

export function inFileOrder(problems: readonly Problem[]): Problem[] {
  return [...problems].sort((a, b) => a.at.line - b.at.line || a.at.column - b.at.column);
}
