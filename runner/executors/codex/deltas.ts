import type { Clock } from '../../../src/domain/clock.js';
import type { Fields } from '../../../src/domain/json.js';

/** The events of a run carry deltas up to this length whole. */
export const MAX_DELTA = 10_000;
/** Longer members are not kept. */
const MAX_MEMBER = 200;
const MAX_HELD = 8;
const MAX_HELD_MS = 200;

interface Held {
  readonly method: string;
  readonly params: Fields;
  text: string;
}

/**
 * Joins the deltas of an item: notifications that differ in the text of `delta` only. They are held until `flush`, which the caller calls
 * before it reports anything else, and at most for a moment.
 */
export class Deltas {
  #held: Held[] = [];
  #cancelTimer: (() => void) | null = null;

  constructor(
    private readonly clock: Pick<Clock, 'after'>,
    private readonly report: (method: string, params: Fields) => void,
  ) {}

  /** Returns true when the delta was joined to an earlier one. */
  add(method: string, params: Fields): boolean {
    const { delta } = params;
    const held = this.#held.find((other) => other.method === method && isSameItem(other.params, params));
    if (held && typeof delta === 'string' && held.text.length + delta.length <= MAX_DELTA) {
      held.text += delta;
      return true;
    }
    if (held || this.#held.length === MAX_HELD) this.flush();
    if (typeof delta === 'string' && delta.length <= MAX_DELTA && hasShortMembers(params)) {
      this.#held.push({ method, params, text: delta });
      this.#cancelTimer ??= this.clock.after(MAX_HELD_MS, () => this.flush());
    } else {
      this.flush();
      this.report(method, params);
    }
    return false;
  }

  /** Reports what is held. */
  flush(): void {
    if (this.#held.length === 0) return;
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    const held = this.#held;
    this.#held = [];
    for (const { method, params, text } of held) this.report(method, { ...params, delta: text });
  }
}

function isSameItem(held: Fields, params: Fields): boolean {
  let members = 0;
  for (const name in params) {
    if (name !== 'delta' && held[name] !== params[name]) return false;
    members += 1;
  }
  for (const _ in held) members -= 1;
  return members === 0;
}

function hasShortMembers(params: Fields): boolean {
  return Object.entries(params).every(
    ([name, value]) =>
      name === 'delta' || (typeof value === 'string' ? value.length <= MAX_MEMBER : typeof value !== 'object'),
  );
}
