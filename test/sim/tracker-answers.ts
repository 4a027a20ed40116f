import type { State } from '../../orchestrator/state.js';
import type { TrackerConfig } from '../../src/domain/config.js';
import type { Effect } from '../../src/domain/effects.js';
import type { OrchestratorEvent } from '../../src/domain/events.js';
import type { Issue } from '../../src/domain/issue.js';
import { standingOf } from '../../src/domain/issue.js';
import type { IssueBatch } from '../../src/domain/ports.js';
import type { LawChecker } from './law-checker.js';

/** The tracker's real answers to this life of the daemon, independent of what reached the core. */
export class TrackerAnswers {
  /** The newest answer about an issue in request order; null means gone. */
  readonly #last = new Map<string, { readonly seq: number; readonly issue: Issue | null }>();
  /** The issue when it was last present. */
  readonly #lastSeen = new Map<string, Issue>();
  /** Reported as having left since its last run began. */
  readonly #left = new Set<string>();
  readonly #pending = new Map<number, { readonly ids: readonly string[]; readonly batch: IssueBatch }>();
  readonly #seqOf = new WeakMap<readonly string[], number>();
  #listed: readonly Issue[] = [];

  restarted(): void {
    this.#pending.clear();
    this.#last.clear();
    this.#lastSeen.clear();
    this.#left.clear();
    this.#listed = [];
  }

  started(issueId: string): void {
    this.#left.delete(issueId);
  }

  seqOf(ids: readonly string[]): number {
    return this.#seqOf.get(ids) ?? 0;
  }

  listed(batch: IssueBatch): void {
    this.#listed = batch.issues;
  }

  /** Answered, but without effect before the whole answer reaches the core. */
  told(ids: readonly string[], batch: IssueBatch): void {
    this.#pending.set(this.seqOf(ids), { ids, batch });
  }

  #heard(seq: number): void {
    const answer = this.#pending.get(seq);
    if (!answer) return;
    const { ids, batch } = answer;
    this.#pending.delete(seq);
    for (const id of ids) {
      if (batch.unknown.includes(id) || (this.#last.get(id)?.seq ?? 0) > seq) continue;
      const issue = batch.issues.find((one) => one.id === id) ?? null;
      this.#last.set(id, { seq, issue });
      if (issue) this.#lastSeen.set(id, issue);
    }
  }

  saidTerminal(issueId: string, tracker: TrackerConfig): boolean {
    const issue = this.#lastSeen.get(issueId);
    return issue !== undefined && standingOf(issue, tracker) === 'terminal';
  }

  hasLeft(issueId: string): boolean {
    return this.#left.has(issueId);
  }

  last(issueId: string): string {
    const word = this.#last.get(issueId);
    return word === undefined ? 'nothing' : (word.issue?.state ?? 'gone');
  }

  decided(event: OrchestratorEvent, effects: readonly Effect[], tracker: TrackerConfig): void {
    for (const effect of effects) {
      if (effect.type === 'poll' || effect.type === 'read_issues') this.#seqOf.set(effect.ids, effect.seq);
    }
    if (event.type !== 'observed' && event.type !== 'issues_read') return;
    const { seq, asked } = event.type === 'observed' ? event.observation : event;
    this.#heard(seq);
    for (const id of asked) {
      const word = this.#last.get(id);
      if (word && (word.issue === null || standingOf(word.issue, tracker) !== 'active')) this.#left.add(id);
    }
  }

  check(book: LawChecker, before: State, event: OrchestratorEvent, after: State): void {
    if (before.claims !== after.claims) {
      for (const id of Object.keys(before.claims)) {
        if (!(id in after.claims) && !this.#left.has(id))
          book.broke('released_for_a_reason', `${id} is given up at ${event.type}, last told: ${this.last(id)}`);
      }
    }
    if (event.type !== 'observed' || !event.observation.candidates.ok) return;
    for (const { id } of this.#listed) {
      if (!(id in after.claims) && !(id in after.candidates) && !(id in after.released))
        book.broke('accounted_for', `${id} was listed and is nowhere`);
    }
  }
}
