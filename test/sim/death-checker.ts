import type { State } from '../../orchestrator/state.js';
import { runOf } from '../../orchestrator/state.js';
import type { OrchestratorEvent } from '../../src/domain/events.js';
import type { LawChecker } from './law-checker.js';

const MOST_DEATHS = 3;

/** During how many runs of each issue the daemon was killed in a row, as the world knows it. */
export class DeathChecker {
  readonly #deaths = new Map<string, number>();
  /** Issues by the runs that this life started and that have not ended. */
  readonly #active = new Map<string, string>();
  #isLeaving = false;

  killed(): void {
    const issueIds = this.#isLeaving ? [] : this.#active.values();
    for (const issueId of issueIds) this.#deaths.set(issueId, (this.#deaths.get(issueId) ?? 0) + 1);
    this.ended();
  }

  /** The daemon has ended, killed or not. */
  ended(): void {
    this.#active.clear();
    this.#isLeaving = false;
  }

  runStarted(book: LawChecker, runId: string, issueId: string): void {
    this.#active.set(runId, issueId);
    const deaths = this.#deaths.get(issueId) ?? 0;
    if (deaths >= MOST_DEATHS)
      book.broke('deadly_is_parked', `${runId} of ${issueId} starts after ${deaths} deaths of the daemon`);
  }

  /** A person requested a retry. */
  retried(issueId: string): void {
    this.#deaths.delete(issueId);
  }

  decided(before: State, event: OrchestratorEvent, after: State): void {
    if (event.type === 'shutdown_requested') this.#isLeaving = true;
    if (event.type === 'run_exited') {
      const issueId = before.runs[event.runId] ?? '';
      const claim = before.claims[issueId];
      const isRetried = claim !== undefined && runOf(claim)?.requestedAfterExit === 'retry';
      if (this.#active.delete(event.runId) || isRetried) this.#deaths.delete(issueId);
    }
    if (before.claims === after.claims) return;
    for (const issueId of this.#deaths.keys()) {
      const status = after.claims[issueId]?.status.kind;
      const isFreed = before.claims[issueId]?.status.kind === 'parked' && status !== 'parked';
      if (isFreed || status === undefined) this.#deaths.delete(issueId);
    }
  }
}
