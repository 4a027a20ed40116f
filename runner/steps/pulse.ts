import type { Clock } from '../../src/domain/clock.js';
import type { RunSignal } from '../../src/domain/run-signal.js';

interface StepPulse {
  /** The stall limit applies to this step. */
  readonly isWatched: boolean;
  openItems: number;
  /** The step is only being ended; no progress is expected any more. */
  isFinishing: boolean;
  /** The step has made progress since the last time that all watched steps had. */
  hasMoved: boolean;
}

const MAX_REPEAT_MS = 1_000;

/**
 * Merges the progress of the steps that run at the same time into one stall clock. A step is either watched (an agent, or a step
 * without a time limit) or bounded by its own limit; a bounded step looks to the core like an open item. The run shows progress only
 * when every watched step has made some: a busy step must not hide one that hangs.
 *
 * Progress that only repeats the last report is dropped within a hundredth of the stall limit, so that a busy agent does not flood
 * the core.
 */
export class Pulse {
  readonly #steps = new Map<object, StepPulse>();
  readonly #repeatMs: number;
  #reportedOpenItems = -1;
  #reportedAtMs = Number.NEGATIVE_INFINITY;
  #isFinishing = false;

  constructor(
    private readonly clock: Clock,
    stallTimeoutMs: number,
    private readonly emit: (signal: RunSignal) => void,
  ) {
    this.#repeatMs = stallTimeoutMs > 0 ? Math.min(MAX_REPEAT_MS, stallTimeoutMs / 100) : MAX_REPEAT_MS;
  }

  begin(step: object, isWatched: boolean): void {
    const isNewPhase = this.#steps.size === 0 || this.#isFinishing;
    this.#steps.set(step, { isWatched, openItems: 0, isFinishing: false, hasMoved: false });
    if (isNewPhase) {
      this.#isFinishing = false;
      this.#emitPhase('agent');
    }
    this.#reportChange();
  }

  progress(step: object, openItems: number): void {
    const pulse = this.#steps.get(step);
    if (!pulse) return;
    pulse.openItems = openItems;
    pulse.hasMoved = true;
    const counted = this.#counted();
    if (counted.some(({ hasMoved }) => !hasMoved)) return this.#reportChange();
    for (const other of counted) other.hasMoved = false;
    if (this.clock.now().awakeMs - this.#reportedAtMs >= this.#repeatMs) this.#report();
    else this.#reportChange();
  }

  finishing(step: object): void {
    const pulse = this.#steps.get(step);
    if (!pulse) return;
    pulse.isFinishing = true;
    if (this.#steps.size > 1) return this.#reportChange();
    this.#isFinishing = true;
    this.#emitPhase('finishing');
  }

  end(step: object): void {
    this.#steps.delete(step);
    if (this.#steps.size > 0) this.#reportChange();
  }

  /** The steps that the stall clock runs for. */
  #counted(): StepPulse[] {
    return [...this.#steps.values()].filter((step) => step.isWatched && !step.isFinishing && step.openItems === 0);
  }

  #openItems(): number {
    if (this.#counted().length > 0) return 0;
    return [...this.#steps.values()].reduce((sum, { isWatched, isFinishing, openItems }) => {
      return sum + Math.max(openItems, isWatched && !isFinishing ? 0 : 1);
    }, 0);
  }

  /** The core resets its open items to none with each phase. */
  #emitPhase(phase: 'agent' | 'finishing'): void {
    this.#reportedOpenItems = 0;
    this.#reportedAtMs = Number.NEGATIVE_INFINITY;
    this.emit({ type: 'phase', phase });
  }

  #reportChange(): void {
    if (this.#openItems() !== this.#reportedOpenItems) this.#report();
  }

  #report(): void {
    this.#reportedOpenItems = this.#openItems();
    this.#reportedAtMs = this.clock.now().awakeMs;
    this.emit({ type: 'progress', openItems: this.#reportedOpenItems });
  }
}
