import { performance } from 'node:perf_hooks';
import { BatonError } from '../../domain/errors.js';
import { type Issue, stateKey } from '../../domain/issue.js';
import type { Description } from './read.js';

const MAX_AGE_MS = 15 * 60_000;
/** After a failure or an issue in an unknown state: ask early, but not at every poll. */
const RETRY_AGE_MS = 60_000;
/** Well below the limit of a read: a slow `describe` must not make a list late. */
const LIMIT_MS = 20_000;

/**
 * Caches the answer to `describe`. The first read asks for it; later reads ask again when it is old. A program that does not know
 * the method is never asked again. A failure does not fail the read: it is one of the read's problems until the next attempt.
 */
export class DescribeCache {
  #description: Description | null = null;
  #problem: string | null = null;
  #isUnsupported = false;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #hasUnknownState = false;
  #refreshing: Promise<void> | null = null;

  /** `describe` returns null when the program does not know the method, and throws `BatonError`. */
  constructor(
    private readonly describe: (signal: AbortSignal) => Promise<Description | null>,
    private readonly limitMs = LIMIT_MS,
  ) {}

  get states(): readonly string[] {
    return this.#description?.states ?? [];
  }

  get problems(): readonly string[] {
    return this.#problem === null ? [] : [this.#problem];
  }

  get wasAsked(): boolean {
    return Number.isFinite(this.#askedAtMs);
  }

  /** Whether the program lists its methods without this one. */
  lacks(method: string): boolean {
    const methods = this.#description?.methods ?? null;
    return methods !== null && !methods.includes(method);
  }

  /** Takes issues just read: an unknown state means that the board was changed. */
  noteStates(issues: readonly Issue[]): void {
    const known = new Set(this.states.map(stateKey));
    this.#hasUnknownState = known.size > 0 && issues.some(({ state }) => !known.has(stateKey(state)));
  }

  /** Asks when the cached answer is old. Throws only errors that are not `BatonError`. */
  async refresh(signal: AbortSignal): Promise<void> {
    const ageMs = performance.now() - this.#askedAtMs;
    const maxAgeMs = this.#hasUnknownState || this.#problem !== null ? RETRY_AGE_MS : MAX_AGE_MS;
    if (this.#isUnsupported || ageMs < maxAgeMs) return this.#refreshing ?? undefined;
    this.#askedAtMs = performance.now();
    this.#refreshing = this.#tryReload(signal).finally(() => {
      this.#refreshing = null;
    });
    return this.#refreshing;
  }

  /** Asks now. Throws `BatonError`. */
  async reload(signal: AbortSignal): Promise<Description | null> {
    const description = await this.describe(signal);
    this.#askedAtMs = performance.now();
    this.#isUnsupported = description === null;
    this.#description = description;
    this.#problem = null;
    return description;
  }

  async #tryReload(signal: AbortSignal): Promise<void> {
    try {
      await this.reload(AbortSignal.any([signal, AbortSignal.timeout(this.limitMs)]));
    } catch (error) {
      if (!(error instanceof BatonError)) throw error;
      // A cancelled read says nothing about the program.
      if (signal.aborted) this.#askedAtMs = Number.NEGATIVE_INFINITY;
      else this.#problem = `The states of the tracker are not known: ${error.message}`;
    }
  }
}
