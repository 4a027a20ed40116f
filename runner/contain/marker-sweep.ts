import { findMarked, markedAmong, type SearchOptions } from './find-marked.js';
import { type ProcessFacts, type ProcessIdentity, signalExactly } from './proc-table.js';

/** Ends the marked processes that nothing else reaches, and remembers how many those were. */
export class MarkerSweep {
  readonly #killed = new Set<string>();

  constructor(
    readonly marker: string,
    readonly search: SearchOptions = {},
  ) {}

  get killed(): number {
    return this.#killed.size;
  }

  /** Signals every marked process but those for which `isReachedOtherwise` holds. */
  async signal(name: NodeJS.Signals, isReachedOtherwise: (pid: number) => boolean = () => false): Promise<void> {
    const hit = (stray: ProcessIdentity) => {
      const wasHit = !isReachedOtherwise(stray.pid) && signalExactly(stray, name);
      if (wasHit && name === 'SIGKILL') this.#killed.add(`${stray.pid} ${stray.startTime}`);
    };
    await findMarked(this.marker, hit, this.search);
  }

  /** Among what was listed just now, or among all. */
  find(processes?: readonly ProcessFacts[]): Promise<readonly ProcessIdentity[]> {
    if (processes) return markedAmong(processes, this.marker, this.search);
    return findMarked(this.marker, () => {}, this.search);
  }
}
