import type { Issue } from '../../src/domain/issue.js';
import { issue } from '../support/builders.js';
import type { Random } from './random.js';

export const ACTIVE = ['Todo', 'In Progress'] as const;
export const TERMINAL = ['Done', 'Cancelled'] as const;
const STATES = ['Todo', 'Todo', 'In Progress', 'Backlog', 'Done', 'Cancelled'] as const;
export const LABEL = 'baton';
const MOST_ISSUES = 12;

/** The true issues, independent of what a tracker reports. */
export class Board {
  readonly issues = new Map<string, Issue>();
  #made = 0;
  #edits = 0;

  constructor(private readonly random: Random) {}

  /** Null when there are enough issues. */
  create(): Issue | null {
    const isOver = ({ state }: Issue) => TERMINAL.some((terminal) => terminal === state);
    const over = [...this.issues.values()].filter(isOver);
    if (this.issues.size - over.length >= MOST_ISSUES) return null;
    if (over[0] && over.length >= MOST_ISSUES) this.delete(over[0].id);
    this.#made += 1;
    const { random } = this;
    const made = issue({
      id: `I${this.#made}`,
      state: random.chance(0.8) ? random.pick(ACTIVE) : random.pick(STATES),
      priority: random.chance(0.5) ? random.int(1, 5) : null,
      labels: random.chance(0.9) ? [LABEL] : [],
    });
    this.issues.set(made.id, made);
    return made;
  }

  change(id: string, change: Partial<Issue>): void {
    const known = this.issues.get(id);
    if (!known) return;
    this.issues.set(id, { ...known, ...change });
    if (change.state !== undefined) this.#tellBlocked(id, change.state);
  }

  move(id: string, state: string = this.random.pick(STATES)): void {
    this.change(id, { state });
  }

  edit(id: string): void {
    this.#edits += 1;
    const { random } = this;
    if (random.chance(0.5)) this.change(id, { description: `edited ${this.#edits} times` });
    else this.change(id, { priority: random.int(1, 5) });
  }

  relabel(id: string): void {
    const known = this.issues.get(id);
    if (!known) return;
    if (this.random.chance(0.2)) this.change(id, { dispatchable: !known.dispatchable });
    else this.change(id, { labels: known.labels.length > 0 ? [] : [LABEL] });
  }

  /** Adds a blocker, or removes all blockers. */
  block(id: string): void {
    const known = this.issues.get(id);
    const other = this.random.pick([...this.issues.values()]);
    if (!known || !other) return;
    const isLoop = other.id === id || other.blocked_by.length > 0 || known.blocked_by.length > 0;
    const blocker = { id: other.id, identifier: other.identifier, state: other.state };
    this.change(id, { blocked_by: isLoop ? [] : [blocker] });
  }

  delete(id: string): void {
    this.issues.delete(id);
    this.#tellBlocked(id, null);
  }

  anyId(): string {
    return this.random.pick([...this.issues.keys()]) ?? 'I0';
  }

  #tellBlocked(id: string, state: string | null): void {
    for (const one of this.issues.values()) {
      if (!one.blocked_by.some((blocker) => blocker.id === id)) continue;
      const blocked_by = one.blocked_by.map((blocker) => (blocker.id === id ? { ...blocker, state } : blocker));
      this.issues.set(one.id, { ...one, blocked_by });
    }
  }
}
