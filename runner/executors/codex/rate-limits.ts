import { type Fields, fieldsOf } from '../../../src/domain/fields.js';

/** The last known limits of the account. Updates are sparse: what is absent keeps its value. */
export class RateLimits {
  #windows: { [name: string]: Window } = {};

  update(params: Fields): void {
    const snapshot = fieldsOf(params.rateLimits);
    for (const name of ['primary', 'secondary'] as const) this.#keep(name, snapshot[name], 'usedPercent');
    this.#keep('individualLimit', snapshot.individualLimit, 'remainingPercent');
  }

  /** When work can go on: the last reset of the limits that are used up; where none says so, the first reset to come. */
  resetAtMs(nowMs: number): number | undefined {
    const coming = Object.values(this.#windows).filter((window) => window.resetAtMs > nowMs);
    const used = coming.filter((window) => window.isUsedUp).map((window) => window.resetAtMs);
    if (used.length > 0) return Math.max(...used);
    return coming.length > 0 ? Math.min(...coming.map((window) => window.resetAtMs)) : undefined;
  }

  #keep(name: string, value: unknown, measure: 'usedPercent' | 'remainingPercent'): void {
    const fields = fieldsOf(value);
    const resetAtMs = millisecondsOf(fields.resetsAt);
    const percent = fields[measure];
    if (resetAtMs === null || typeof percent !== 'number') return;
    this.#windows[name] = { resetAtMs, isUsedUp: measure === 'usedPercent' ? percent >= 100 : percent <= 0 };
  }
}

interface Window {
  readonly resetAtMs: number;
  readonly isUsedUp: boolean;
}

/** Codex gives seconds. A value that would lie in the year 5138 or later is taken for milliseconds. */
const FIRST_MILLISECONDS = 100_000_000_000;
const LAST_DATE_MS = 8_640_000_000_000_000;

function millisecondsOf(value: unknown): number | null {
  if (typeof value !== 'number' || !Number.isFinite(value) || value <= 0 || value > LAST_DATE_MS) return null;
  return Math.round(value < FIRST_MILLISECONDS ? value * 1_000 : value);
}
