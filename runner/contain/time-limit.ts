import type { Clock } from '../../src/domain/clock.js';

/** A stretch of the daemon's time that promises can be raced against. Whoever makes one ends it. */
export class TimeLimit {
  readonly #over: Promise<void>;
  #isOver = false;
  #end: () => void = () => {};

  constructor(clock: Clock, ms: number) {
    this.#over = new Promise((resolve) => {
      let cancel = () => {};
      this.#end = () => {
        cancel();
        this.#isOver = true;
        resolve();
      };
      if (ms > 0) cancel = clock.after(ms, this.#end);
      else this.#end();
    });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Ends it before its time; ending twice is fine. */
  end(): void {
    this.#end();
  }

  /** The promise's value, or `undefined` when the time was over first. */
  race<T>(promise: Promise<T>): Promise<T | undefined> {
    return Promise.race([promise, this.#over.then(() => undefined)]);
  }
}
