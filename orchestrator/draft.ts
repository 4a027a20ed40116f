import type { Claim, Hold, HoldSource } from '../src/domain/claim.js';
import type { Effect } from '../src/domain/effects.js';
import type { Note } from '../src/domain/note.js';
import type { State } from './state.js';

/** The members of the state that are maps by id. */
type Maps = Pick<State, 'claims' | 'runs' | 'candidates' | 'leftovers' | 'removals' | 'released' | 'records' | 'ended'>;

/**
 * The working copy of one call of `decide`. It collects effects and copies what handlers change, so handlers read like plain code
 * and the input state is never modified. Each map is copied at most once per decision.
 */
export class Draft {
  readonly effects: Effect[] = [];
  readonly #owned = new Map<keyof Maps, Set<string>>();
  #state: State;

  constructor(state: State) {
    this.#state = state;
  }

  get state(): State {
    return this.#state;
  }

  set(part: Partial<Omit<State, keyof Maps>>): void {
    this.#state = { ...this.#state, ...part };
  }

  put<M extends keyof Maps>(map: M, id: string, value: Maps[M][string]): void {
    this.#own(map, id)[id] = value;
  }

  drop(map: keyof Maps, id: string): void {
    if (id in this.#state[map]) delete this.#own(map, id)[id];
  }

  replace<M extends Exclude<keyof Maps, 'claims' | 'records'>>(
    map: M,
    content: { [id: string]: Maps[M][string] },
  ): void {
    this.#owned.set(map, new Set());
    this.#state = { ...this.#state, [map]: content };
  }

  /** The ids that were put or dropped. */
  touched(map: 'claims' | 'records'): string[] {
    return [...(this.#owned.get(map) ?? [])];
  }

  order(effect: Effect): void {
    this.effects.push(effect);
  }

  note(level: Note['level'], message: string, about: Omit<Note, 'level' | 'message'> = {}): void {
    this.effects.push({ type: 'note', note: { level, message, ...about } });
  }

  noteOn(claim: Claim, level: Note['level'], message: string, fields: Note['fields'] = {}): void {
    const run = claim.status.kind === 'waiting' ? null : claim.status.run;
    const { id, identifier } = claim.issue;
    this.note(level, message, { issueId: id, identifier, ...(run ? { runId: run.runId } : {}), fields });
  }

  claim(issueId: string): Claim | undefined {
    // Issue ids may equal inherited names such as `constructor`.
    return Object.hasOwn(this.#state.claims, issueId) ? this.#state.claims[issueId] : undefined;
  }

  /** Stores a claim. A claimed issue is no longer a candidate. */
  putClaim(claim: Claim): Claim {
    this.put('claims', claim.issue.id, claim);
    this.drop('candidates', claim.issue.id);
    return claim;
  }

  /** Releases an issue. Answers about it that are already in flight become outdated. */
  release(issueId: string): void {
    this.drop('claims', issueId);
    this.put('released', issueId, this.#state.seq);
  }

  putHold(source: HoldSource, hold: Hold): void {
    this.set({ holds: { ...this.#state.holds, [source]: hold } });
  }

  dropHold(source: HoldSource): void {
    const { [source]: _, ...holds } = this.#state.holds;
    this.set({ holds });
  }

  /** Returns the next sequence number for a read or a poll. */
  nextSeq(): number {
    const seq = this.#state.seq + 1;
    this.set({ seq });
    return seq;
  }

  #own<M extends keyof Maps>(map: M, id: string): { [id: string]: Maps[M][string] } {
    let ids = this.#owned.get(map);
    if (ids === undefined) {
      ids = new Set();
      this.#owned.set(map, ids);
      this.#state = { ...this.#state, [map]: copyOf<unknown>(this.#state[map]) };
    }
    ids.add(id);
    return this.#state[map] as { [id: string]: Maps[M][string] };
  }
}

/** Several times faster than a spread with thousands of keys. */
function copyOf<T>(map: { readonly [id: string]: T }): { readonly [id: string]: T } {
  const copy: { [id: string]: T } = {};
  for (const id in map) copy[id] = map[id] as T;
  return copy;
}
