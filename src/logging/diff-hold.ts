import { fieldsOf } from '../domain/fields.js';

/** A diff is told anew with every edit, whole: a transcript of nothing else would say little. */
const BETWEEN_MS = 10_000;

interface Line {
  readonly kind: string;
  readonly data: unknown;
}

/** Lets a diff through now and then, and the last one of a turn always. What is told in between is in the next one. */
export class DiffHold {
  #held: Line | null = null;
  #writtenAtMs = Number.NEGATIVE_INFINITY;

  /** What is to be written now. */
  take(line: Line, nowMs: number): readonly Line[] {
    if (!isDiff(line)) return isTurnEnd(line) ? [...this.flush(), line] : [line];
    if (nowMs - this.#writtenAtMs < BETWEEN_MS) {
      this.#held = line;
      return [];
    }
    this.#held = null;
    this.#writtenAtMs = nowMs;
    return [line];
  }

  flush(): readonly Line[] {
    const held = this.#held === null ? [] : [this.#held];
    this.#held = null;
    return held;
  }
}

function isDiff({ kind, data }: Line): boolean {
  return kind === 'notification' && fieldsOf(data).method === 'turn/diff/updated';
}

function isTurnEnd({ kind }: Line): boolean {
  return /^(?:turn_(?:completed|failed|cancelled|ended_with_error)|run_ended)$/.test(kind);
}
