import { type Fields, fieldsOf } from '../../../src/domain/fields.js';
import type { OpenItems } from './open-items.js';
import type { Reporter } from './reporter.js';

/** Tells the core that the agent works, and remembers whether it is only waiting for its model service. */
export class Progress {
  #lastCount = 0;
  #retryError: Fields | null = null;

  constructor(
    private readonly items: OpenItems,
    private readonly reporter: Reporter,
  ) {}

  /** The last "reconnecting" notice since there was progress; `null` when there was none. */
  get retryError(): Fields | null {
    return this.#retryError;
  }

  made(): void {
    this.#retryError = null;
    this.#send();
  }

  /** Not progress. But reasoning whose stream broke no longer excuses silence, and the core must hear of that, once. */
  retrying(params: Fields): void {
    this.#retryError = fieldsOf(params.error);
    this.items.dropReasoning();
    if (this.items.count !== this.#lastCount) this.#send();
  }

  #send(): void {
    this.#lastCount = this.items.count;
    this.reporter.signal({ type: 'progress', openItems: this.items.count });
  }
}
