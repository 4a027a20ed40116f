import { findMarked, MARKER_NAME } from './find-marked.js';
import { type ProcessIdentity, signalExactly } from './proc-table.js';

/** Ends the marked processes that nothing else reaches, and remembers how many those were. */
export class MarkerSweep {
  readonly #killed = new Set<string>();

  constructor(
    readonly marker: string,
    readonly variable: string = MARKER_NAME,
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
    await findMarked(this.marker, hit, this.variable);
  }

  find(): Promise<readonly ProcessIdentity[]> {
    return findMarked(this.marker, () => {}, this.variable);
  }
}
