import type { Claim, Hold, HoldSource, IssueRecord } from '../src/domain/claim.js';
import type { Effect, Note } from '../src/domain/effects.js';
import type { State } from './state.js';

/**
 * One decision in the making. It collects effects and replaces parts of the state by copies, so that handlers read like
 * plain code while the state that came in is never touched. It lives for one call of `decide`.
 */
export class Draft {
  readonly effects: Effect[] = [];
  #state: State;
  #ownsClaims = false;

  constructor(state: State) {
    this.#state = state;
  }

  get state(): State {
    return this.#state;
  }

  set(part: Partial<State>): void {
    this.#state = { ...this.#state, ...part };
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
    return this.#state.claims[issueId];
  }

  /** A claimed issue is no candidate any more. */
  putClaim(claim: Claim): Claim {
    const claims = this.#ownClaims();
    claims[claim.issue.id] = claim;
    const candidates = omit(this.#state.candidates, claim.issue.id);
    if (candidates !== this.#state.candidates) this.set({ candidates });
    return claim;
  }

  /** Gives an issue up. Answers about it that are already on their way are old. */
  release(issueId: string): void {
    delete this.#ownClaims()[issueId];
    this.set({ released: { ...this.#state.released, [issueId]: this.#state.seq } });
  }

  putRecord(issueId: string, record: IssueRecord): void {
    this.set({ records: { ...this.#state.records, [issueId]: record } });
  }

  putHold(source: HoldSource, hold: Hold): void {
    this.set({ holds: { ...this.#state.holds, [source]: hold } });
  }

  dropHold(source: HoldSource): void {
    const { [source]: _, ...holds } = this.#state.holds;
    this.set({ holds });
  }

  /** The next number for a read or a poll. */
  nextSeq(): number {
    const seq = this.#state.seq + 1;
    this.set({ seq });
    return seq;
  }

  #ownClaims(): Record<string, Claim> {
    if (!this.#ownsClaims) {
      this.set({ claims: { ...this.#state.claims } });
      this.#ownsClaims = true;
    }
    return this.#state.claims as Record<string, Claim>;
  }
}

export function omit<T>(map: { readonly [id: string]: T }, id: string): { readonly [id: string]: T } {
  if (!(id in map)) return map;
  const { [id]: _, ...rest } = map;
  return rest;
}
