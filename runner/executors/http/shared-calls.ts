import { untilAborted } from './answers.js';

/**
 * Calls whose result is used by several steps of a run: the first who asks makes the call, all others wait for it. It belongs to none of
 * them: when one is stopped the rest get their answer, and it is aborted once nobody waits any more. A call that failed or was
 * aborted is made anew by the next who asks.
 */
export class SharedCalls<T> {
  readonly #calls = new Map<string, SharedCall<T>>();

  /** Throws what the call throws, and `StepStopped` when `signal` is aborted. */
  async get(key: string, signal: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    let shared = this.#calls.get(key);
    if (shared === undefined || shared.isLost) {
      shared = new SharedCall(call);
      this.#calls.set(key, shared);
    }
    return shared.wait(signal);
  }

  forget(key: string): void {
    this.#calls.delete(key);
  }
}

class SharedCall<T> {
  readonly #controller = new AbortController();
  readonly #result: Promise<T>;
  #waiting = 0;
  #isSettled = false;
  #isLost = false;

  constructor(call: (signal: AbortSignal) => Promise<T>) {
    this.#result = call(this.#controller.signal);
    this.#result.then(
      () => {
        this.#isSettled = true;
      },
      () => {
        this.#isSettled = true;
        this.#isLost = true;
      },
    );
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  async wait(signal: AbortSignal): Promise<T> {
    this.#waiting += 1;
    try {
      return await untilAborted(this.#result, signal);
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0 && !this.#isSettled) this.#abandon();
    }
  }

  #abandon(): void {
    this.#isLost = true;
    this.#controller.abort();
  }
}
