import type { Board, Card } from './board.js';

/** A file may be away for a moment: an editor that saves by delete and create, a rename, a checkout. */
const GRACE_MS = 10_000;
/** Long decided; whoever still asks about it is told the same after another grace. */
const FORGET_AFTER_MS = 3_600_000;

interface Sighting {
  readonly path: string | null;
  readonly state: string | null;
  /** In the archive while the task itself was there, too: Backlog.md gives the ids of archived tasks again. */
  readonly oldArchive: readonly string[];
  readonly missingSinceMs: number | null;
}

/** Remembers which task was where, so that "not to be seen" and "gone" can be told apart. */
export class Sightings {
  readonly #nowMs: () => number;
  readonly #seen = new Map<string, Sighting>();
  /** The tasks that were last seen at the paths whose files now tell no id. */
  #owners: ReadonlyMap<string, Set<string>> = new Map();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  note(board: Board, stateOf: (card: Card) => string): void {
    for (const [id, [card]] of board.cards) {
      if (!card) continue;
      const oldArchive = board.archived.get(id) ?? [];
      this.#seen.set(id, { path: card.path, state: stateOf(card), oldArchive, missingSinceMs: null });
    }
    for (const [id, sighting] of this.#seen) if (!board.cards.has(id)) this.#miss(id, sighting, board);
    this.#owners = this.#ownersOf(board.broken.nameless);
  }

  /** Is a task that is not on the board gone for good? Call `note` with that board first. */
  isGone(id: string, board: Board): boolean {
    if (this.#isBroken(id, board)) return false;
    const sighting = this.#seen.get(id);
    if (board.archived.get(id)?.some((file) => !sighting?.oldArchive.includes(file))) return true;
    if (board.broken.nameless.some((path) => !this.#isOfAnother(path, id))) return false;
    if (sighting?.missingSinceMs != null) return this.#nowMs() - sighting.missingSinceMs >= GRACE_MS;
    this.#seen.set(id, { path: null, state: null, oldArchive: [], missingSinceMs: this.#nowMs() });
    return false;
  }

  /** The last known state of a task that is not on the board but may be again; null when it is gone or was never seen. */
  lastState(id: string, board: Board): string | null {
    const state = this.#seen.get(id)?.state ?? null;
    return state === null || this.isGone(id, board) ? null : state;
  }

  /** Is it not on the board for a reason that may pass? */
  mayReturn(id: string, board: Board): boolean {
    return this.#isBroken(id, board) || (this.#seen.has(id) && !this.isGone(id, board));
  }

  #miss(id: string, sighting: Sighting, board: Board): void {
    const { missingSinceMs, path } = sighting;
    if (missingSinceMs === null) this.#seen.set(id, { ...sighting, missingSinceMs: this.#nowMs() });
    else if (this.#nowMs() - missingSinceMs > FORGET_AFTER_MS) {
      // As long as a file that cannot be read lies there, it matters whose it was.
      const isThere = this.#isBroken(id, board) || (path !== null && board.broken.nameless.includes(path));
      if (!isThere) this.#seen.delete(id);
    }
  }

  #isBroken(id: string, { broken }: Board): boolean {
    const lastPath = this.#seen.get(id)?.path ?? '';
    return broken.ids.has(id) || broken.paths.has(lastPath);
  }

  #ownersOf(paths: readonly string[]): ReadonlyMap<string, Set<string>> {
    const owners = new Map(paths.map((path) => [path, new Set<string>()]));
    if (paths.length > 0) for (const [id, { path }] of this.#seen) owners.get(path ?? '')?.add(id);
    return owners;
  }

  /** A path that held another task, and nobody else, is broken for that one only. */
  #isOfAnother(path: string, id: string): boolean {
    const owners = this.#owners.get(path) ?? new Set();
    return owners.size > (owners.has(id) ? 1 : 0);
  }
}
