import { stateKey } from '../src/domain/issue.js';
import type { State } from './state.js';

/** The number of occupied slots, in total and by the current state of their issues. */
export interface SlotUse {
  readonly total: number;
  readonly byState: ReadonlyMap<string, number>;
}

export function slotUse(state: State): SlotUse {
  const byState = new Map<string, number>();
  let total = 0;
  for (const issueId of Object.values(state.runs)) {
    const claim = state.claims[issueId];
    if (!claim) continue;
    total += 1;
    const key = stateKey(claim.issue.state);
    byState.set(key, (byState.get(key) ?? 0) + 1);
  }
  return { total, byState };
}

/** Assigns free slots one by one. */
export class SlotCounter {
  #total: number;
  readonly #byState: Map<string, number>;
  readonly #state: State;

  constructor(state: State) {
    const use = slotUse(state);
    this.#state = state;
    this.#total = use.total;
    this.#byState = new Map(use.byState);
  }

  get full(): boolean {
    return this.#total >= this.#state.config.agent.maxConcurrentAgents;
  }

  hasRoomFor(issueState: string): boolean {
    return !this.full && this.#hasRoomInState(stateKey(issueState));
  }

  take(issueState: string): boolean {
    if (!this.hasRoomFor(issueState)) return false;
    const key = stateKey(issueState);
    this.#total += 1;
    this.#byState.set(key, (this.#byState.get(key) ?? 0) + 1);
    return true;
  }

  #hasRoomInState(key: string): boolean {
    const limits = this.#state.config.agent.maxConcurrentAgentsByState;
    const limit = Object.hasOwn(limits, key) ? limits[key] : undefined;
    return limit === undefined || (this.#byState.get(key) ?? 0) < limit;
  }
}
