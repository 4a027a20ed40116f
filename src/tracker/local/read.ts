import type { TrackerConfig } from '../../domain/config.js';
import { type Issue, stateKey } from '../../domain/issue.js';
import type { Board, Card } from './board.js';

type States = Pick<TrackerConfig, 'terminalStates'>;

/** Of several files with one id nobody knows which is meant: no issue. */
export function onlyCard(board: Board, id: string): Card | null {
  const cards = board.cards.get(id) ?? [];
  return cards.length === 1 ? (cards[0] ?? null) : null;
}

/** What lies in `completed` is done, whatever it says of itself. */
export function stateOf({ task, isCompleted }: Card, { terminalStates }: States): string {
  if (!isCompleted || terminalStates.some((state) => stateKey(state) === stateKey(task.status))) return task.status;
  return terminalStates[0] ?? task.status;
}

export function cardToIssue(card: Card, board: Board, sightings: Sightings, states: States): Issue {
  return {
    ...card.issue,
    id: card.id,
    state: stateOf(card, states),
    blocked_by: card.needs.map((id) => {
      const found = onlyCard(board, id);
      if (found) return { id, identifier: found.task.id, state: stateOf(found, states) };
      return { id, identifier: id, state: board.cards.has(id) ? null : sightings.lastState(id, board) };
    }),
  };
}

/** A sentence for each dependency that nothing will ever fulfil. */
export function missingDependencies(board: Board, sightings: Sightings): string[] {
  const missing: string[] = [];
  for (const cards of board.cards.values()) {
    for (const { path, task, needs, isCompleted } of cards) {
      for (const [at, id] of isCompleted ? [] : needs.entries()) {
        if (board.cards.has(id) || sightings.mayReturn(id, board)) continue;
        missing.push(
          `${path}: depends on ${task.dependencies[at]}, which does not exist (any more), so it waits for ever. Remove it from the dependencies.`,
        );
      }
    }
  }
  return missing;
}

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

const MAX_CIRCLES = 20;
const MAX_NAMED = 10;

/** A sentence for each circle of dependencies: what is in one waits for ever. `openCard`: the task of that id, while it is not done. */
export function dependencyCircles(ids: Iterable<string>, openCard: (id: string) => Card | null): string[] {
  const circles: string[] = [];
  const done = new Set<string>();
  for (const start of ids) {
    const first = done.has(start) ? null : openCard(start);
    if (!first) continue;
    // Without recursion: a chain may be as long as there are tasks.
    const way = [{ card: first, next: 0 }];
    const placeOnWay = new Map([[start, 0]]);
    for (let last = way.at(-1); last; last = way.at(-1)) {
      const id = last.card.needs[last.next++];
      if (id === undefined) {
        way.pop();
        placeOnWay.delete(last.card.id);
        done.add(last.card.id);
        continue;
      }
      const place = placeOnWay.get(id);
      if (place !== undefined) circles.push(sentence(way.slice(place).map(({ card }) => card)));
      if (circles.length === MAX_CIRCLES) return circles;
      const needed = place !== undefined || done.has(id) ? null : openCard(id);
      if (!needed) continue;
      placeOnWay.set(id, way.length);
      way.push({ card: needed, next: 0 });
    }
  }
  return circles;
}

function sentence([first, ...others]: readonly Card[]): string {
  const names = others.slice(0, MAX_NAMED).map(({ task }) => task.id);
  if (others.length > MAX_NAMED) names.push(`${others.length - MAX_NAMED} more`);
  const by = names.length === 0 ? '' : ` by way of ${names.join(', ')}`;
  return `${first?.path}: depends on itself${by}, so it waits for ever. Remove one of these dependencies.`;
}
