import type { Clock } from '../../src/domain/clock.js';
import { withinLimit } from '../../src/domain/clock.js';
import { BatonError } from '../../src/domain/errors.js';
import type { RunResources } from '../executors/executor.js';

const RELEASE_LIMIT_MS = 5_000;

/** What steps of one run share, and what has to be given back when the run's steps are over. */
export class SharedResources implements RunResources {
  readonly #kept = new Map<string, unknown>();
  readonly #releases: (() => Promise<void>)[] = [];

  constructor(
    private readonly clock: Clock,
    private readonly onTrouble: (error: Error) => void,
  ) {}

  get<T>(key: string, make: () => T): T {
    if (!this.#kept.has(key)) this.#kept.set(key, make());
    return this.#kept.get(key) as T;
  }

  atEnd(release: () => Promise<void>): void {
    this.#releases.push(release);
  }

  /** Never throws; what cannot be given back in time is told and left. */
  async release(): Promise<void> {
    const late = () => new BatonError('internal_error', `it took longer than ${RELEASE_LIMIT_MS} ms`);
    for (const release of this.#releases.splice(0).reverse())
      await withinLimit(this.clock, RELEASE_LIMIT_MS, release, late).catch((error: Error) => this.onTrouble(error));
  }
}
