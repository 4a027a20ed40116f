import type { OrchestratorEvent } from '../domain/events.js';
import type { Dispatch } from '../domain/ports.js';

/** What happens before the daemon has begun waits for it: a changed file or a webhook must not be the first that the core hears of. */
export class Inbox {
  #early: OrchestratorEvent[] | null = [];
  #handle: Dispatch = () => {};

  readonly dispatch: Dispatch = (event) => {
    if (this.#early === null) this.#handle(event);
    else this.#early.push(event);
  };

  /** From now on events go there, those that wait first. */
  open(handle: Dispatch): void {
    const waiting = this.#early ?? [];
    this.#early = null;
    this.#handle = handle;
    for (const event of waiting) handle(event);
  }
}
