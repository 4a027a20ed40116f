import type { Clock } from '../../../src/domain/clock.js';
import type { OpenItems } from './open-items.js';
import { type Fields, fieldsOf } from './protocol.js';
import type { Reporter } from './reporter.js';

/**
 * Tells the core that the agent works. A flood of deltas becomes a few signals: one at most per `INTERVAL_MS`, and one whenever
 * the number of open items changes.
 */
const INTERVAL_MS = 100;

export class Progress {
  #lastSentMs = Number.NEGATIVE_INFINITY;
  #lastCount = 0;
  #retryError: Fields | null = null;

  constructor(
    private readonly clock: Clock,
    private readonly items: OpenItems,
    private readonly reporter: Reporter,
  ) {}

  /** The last "reconnecting" notice since there was progress; `null` when there was none. */
  get retryError(): Fields | null {
    return this.#retryError;
  }

  made(): void {
    this.#retryError = null;
    const nowMs = this.clock.now().awakeMs;
    if (nowMs - this.#lastSentMs < INTERVAL_MS && this.items.count === this.#lastCount) return;
    this.#send(nowMs);
  }

  /** Not progress. But reasoning whose stream broke no longer excuses silence, and the core must hear of that, once. */
  retrying(params: Fields): void {
    this.#retryError = fieldsOf(params.error);
    this.items.dropReasoning();
    if (this.items.count !== this.#lastCount) this.#send(this.clock.now().awakeMs);
  }

  #send(nowMs: number): void {
    this.#lastSentMs = nowMs;
    this.#lastCount = this.items.count;
    this.reporter.signal({ type: 'progress', openItems: this.items.count });
  }
}
