import type { Board, BoardEntry } from './board.js';

/** A file may be absent for a moment: an editor that saves by delete and create, a rename, a checkout. */
const GRACE_MS = 10_000;
/** Later questions about the issue start a new grace period. */
const FORGET_AFTER_MS = 3_600_000;

interface LastSeen {
  readonly path: string | null;
  readonly state: string | null;
  /** Archive files that existed beside the task: Backlog.md reuses the ids of archived tasks. */
  readonly oldArchive: readonly string[];
  readonly missingSinceMs: number | null;
}

/**
 * Tells missing issues from gone ones. An issue is seen, then missing as soon as no file has its id, then gone after the grace
 * period, or at once when its file moves to the archive. While an unreadable file may be its file, it is only missing.
 */
export class MissingFiles {
  readonly #nowMs: () => number;
  readonly #seen = new Map<string, LastSeen>();
  /** For each file without an id, the issues that were last seen at its path. */
  #formerOwners: ReadonlyMap<string, Set<string>> = new Map();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Must be called with each new board before the other methods. */
  note(board: Board, stateOf: (entry: BoardEntry) => string): void {
    for (const [id, [entry]] of board.entries) {
      if (!entry) continue;
      const oldArchive = board.archived.get(id) ?? [];
      this.#seen.set(id, { path: entry.path, state: stateOf(entry), oldArchive, missingSinceMs: null });
    }
    for (const [id, lastSeen] of this.#seen) if (!board.entries.has(id)) this.#noteMissing(id, lastSeen, board);
    this.#formerOwners = this.#ownersOf(board.broken.withoutId);
  }

  /** Whether an issue that is not on the board does not exist any more. */
  isGone(id: string, board: Board): boolean {
    if (this.#isBroken(id, board)) return false;
    const lastSeen = this.#seen.get(id);
    if (board.archived.get(id)?.some((file) => !lastSeen?.oldArchive.includes(file))) return true;
    if (board.broken.withoutId.some((path) => !this.#isOfAnother(path, id))) return false;
    if (lastSeen?.missingSinceMs != null) return this.#nowMs() - lastSeen.missingSinceMs >= GRACE_MS;
    this.#seen.set(id, { path: null, state: null, oldArchive: [], missingSinceMs: this.#nowMs() });
    return false;
  }

  /** The last known state of a missing issue; `null` when it is gone or was never seen. */
  lastState(id: string, board: Board): string | null {
    const state = this.#seen.get(id)?.state ?? null;
    return state === null || this.isGone(id, board) ? null : state;
  }

  /** Whether an issue that is not on the board may come back. */
  mayReturn(id: string, board: Board): boolean {
    return this.#isBroken(id, board) || (this.#seen.has(id) && !this.isGone(id, board));
  }

  #noteMissing(id: string, lastSeen: LastSeen, board: Board): void {
    const { missingSinceMs, path } = lastSeen;
    if (missingSinceMs === null) this.#seen.set(id, { ...lastSeen, missingSinceMs: this.#nowMs() });
    else if (this.#nowMs() - missingSinceMs > FORGET_AFTER_MS) {
      // The former owner of an unreadable file must stay known.
      const isUnreadable = this.#isBroken(id, board) || (path !== null && board.broken.withoutId.includes(path));
      if (!isUnreadable) this.#seen.delete(id);
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

  /** Whether only other issues were last seen at this path. */
  #isOfAnother(path: string, id: string): boolean {
    const owners = this.#formerOwners.get(path) ?? new Set();
    return owners.size > (owners.has(id) ? 1 : 0);
  }
}
