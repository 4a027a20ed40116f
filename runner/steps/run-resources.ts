import { type Clock, withinLimit } from '../../src/domain/clock.js';
import { BatonError } from '../../src/domain/errors.js';
import type { RunResources } from '../executors/executor.js';

const RELEASE_LIMIT_MS = 5_000;

/** Values that the steps of one run share, and the cleanup that is due when the steps are over. */
export class SharedResources implements RunResources {
  readonly #values = new Map<string, unknown>();
  readonly #releases: (() => Promise<void>)[] = [];

  constructor(
    private readonly clock: Clock,
    private readonly onError: (error: Error) => void,
  ) {}

  get<T>(key: string, make: () => T): T {
    if (!this.#values.has(key)) this.#values.set(key, make());
    return this.#values.get(key) as T;
  }

  atEnd(release: () => Promise<void>): void {
    this.#releases.push(release);
  }

  /** Never throws. A cleanup that fails or takes too long is reported and abandoned. */
  async release(): Promise<void> {
    const onLate = () => new BatonError('internal_error', `it took longer than ${RELEASE_LIMIT_MS} ms`);
    for (const release of this.#releases.splice(0).reverse())
      await withinLimit(this.clock, RELEASE_LIMIT_MS, release, onLate).catch((error: Error) => this.onError(error));
  }
}
