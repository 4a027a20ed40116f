import type { RunSignal } from '../../src/domain/run-signal.js';

interface Beat {
  /** The stall limit applies to it. */
  readonly isWatched: boolean;
  openItems: number;
  /** Nothing is expected of it any more; it is only being ended. */
  isSettled: boolean;
  /** It has shown life since the last time that all of them had. */
  hasMoved: boolean;
}

/**
 * Makes one stall clock of the steps that are at work at the same time. A step is watched (an agent, or whatever has no time limit
 * of its own) or bounded by its own limit, which upward looks like an open item. The run shows life only when every watched step
 * has: a chatty one must not hide one that hangs. With one step alone everything goes up as it comes.
 */
export class Pulse {
  readonly #beats = new Map<object, Beat>();
  #toldOpenItems = -1;
  #isFinishing = false;

  constructor(private readonly emit: (signal: RunSignal) => void) {}

  begin(step: object, isWatched: boolean): void {
    const isAnew = this.#beats.size === 0 || this.#isFinishing;
    this.#beats.set(step, { isWatched, openItems: 0, isSettled: false, hasMoved: false });
    if (isAnew) {
      this.emit({ type: 'phase', phase: 'agent' });
      this.#isFinishing = false;
      this.#toldOpenItems = 0;
    }
    this.#tellChange();
  }

  moved(step: object, openItems: number): void {
    const beat = this.#beats.get(step);
    if (!beat) return;
    beat.openItems = openItems;
    beat.hasMoved = true;
    const counted = this.#counted();
    if (counted.every(({ hasMoved }) => hasMoved)) {
      for (const other of counted) other.hasMoved = false;
      this.#tell();
    } else this.#tellChange();
  }

  settled(step: object): void {
    const beat = this.#beats.get(step);
    if (!beat) return;
    beat.isSettled = true;
    if (this.#beats.size > 1) return this.#tellChange();
    this.#isFinishing = true;
    this.emit({ type: 'phase', phase: 'finishing' });
  }

  end(step: object): void {
    this.#beats.delete(step);
    if (this.#beats.size > 0) this.#tellChange();
  }

  /** Whoever the stall clock runs for. */
  #counted(): Beat[] {
    return [...this.#beats.values()].filter((beat) => beat.isWatched && !beat.isSettled && beat.openItems === 0);
  }

  #openItems(): number {
    if (this.#counted().length > 0) return 0;
    const beats = [...this.#beats.values()];
    return beats.reduce((sum, { isWatched, isSettled, openItems }) => {
      return sum + Math.max(openItems, isWatched && !isSettled ? 0 : 1);
    }, 0);
  }

  #tellChange(): void {
    if (this.#openItems() !== this.#toldOpenItems) this.#tell();
  }

  #tell(): void {
    this.#toldOpenItems = this.#openItems();
    this.emit({ type: 'progress', openItems: this.#toldOpenItems });
  }
}
