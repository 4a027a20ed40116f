import { performance } from 'node:perf_hooks';
import { BatonError } from '../../domain/errors.js';
import { type Issue, stateKey } from '../../domain/issue.js';
import type { Description } from './read-result.js';

/** Boards get new states now and then. */
const FRESH_MS = 15 * 60_000;
/** A state that nobody told of is worth another question, but not with every poll. */
const RETRY_MS = 60_000;
/** Well below what a read may take: who asks for issues need not have them late for this. */
const LIMIT_MS = 20_000;

/**
 * What the program told about itself with `describe`. Asked with the first read, then now and then; never again where it does not know
 * the question. A failure is no failure of the read: it stands among its problems until the next try.
 */
export class DescriptionBook {
  #description: Description | null = null;
  #problem: string | null = null;
  #isUnsupported = false;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #hasStranger = false;
  #asking: Promise<void> | null = null;

  /** `ask`: `null` where the program does not know the question. Throws `BatonError`. */
  constructor(
    private readonly ask: (signal: AbortSignal) => Promise<Description | null>,
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

  /** Whether it said that it does not have this method. */
  lacks(method: string): boolean {
    const methods = this.#description?.methods ?? null;
    return methods !== null && !methods.includes(method);
  }

  note(issues: readonly Issue[]): void {
    const known = new Set(this.states.map(stateKey));
    this.#hasStranger = known.size > 0 && issues.some(({ state }) => !known.has(stateKey(state)));
  }

  /** Throws only what is no error of the tracker. */
  async refresh(signal: AbortSignal): Promise<void> {
    const ageMs = performance.now() - this.#askedAtMs;
    const limitMs = this.#hasStranger || this.#problem !== null ? RETRY_MS : FRESH_MS;
    if (this.#isUnsupported || ageMs < limitMs) return this.#asking ?? undefined;
    this.#askedAtMs = performance.now();
    this.#asking = this.#look(signal).finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  /** Asks now. Throws `BatonError`. */
  async now(signal: AbortSignal): Promise<Description | null> {
    const told = await this.ask(signal);
    this.#askedAtMs = performance.now();
    this.#isUnsupported = told === null;
    this.#description = told;
    this.#problem = null;
    return told;
  }

  async #look(signal: AbortSignal): Promise<void> {
    try {
      await this.now(AbortSignal.any([signal, AbortSignal.timeout(this.limitMs)]));
    } catch (error) {
      if (!(error instanceof BatonError)) throw error;
      // Given up by who asked for something else: that says nothing about the program.
      if (signal.aborted) this.#askedAtMs = Number.NEGATIVE_INFINITY;
      else this.#problem = `The states of the tracker are not known: ${error.message}`;
    }
  }
}
