import { type FinishedIssue, finishedKey } from '../domain/finished.js';
import type { HistoryEvent } from '../domain/history.js';
import type { StoredPast } from '../domain/ports.js';
import type { RunRecord } from '../domain/run-record.js';

/** The past of a store that forgets with the process. Spending is told by the ledger of its state. */
export class MemoryPast implements StoredPast {
  readonly #runs = new Map<string, RunRecord>();
  readonly #finished = new Map<string, FinishedIssue>();
  readonly #events: HistoryEvent[] = [];

  add(runs: readonly RunRecord[], finished: readonly FinishedIssue[]): void {
    for (const run of runs) this.#runs.set(run.runId, run);
    for (const one of finished) this.#finished.set(finishedKey(one), one);
  }

  addEvent(event: HistoryEvent): void {
    this.#events.push(event);
  }

  async runs({ issue, sinceMs = Number.NEGATIVE_INFINITY, limit }: Parameters<StoredPast['runs']>[0]) {
    return [...this.#runs.values()]
      .filter((run) => run.startedAtMs >= sinceMs && isAbout(run, issue))
      .sort((a, b) => b.startedAtMs - a.startedAtMs || (a.runId < b.runId ? 1 : -1))
      .slice(0, limit);
  }

  async finished({ sinceMs, limit }: Parameters<StoredPast['finished']>[0]) {
    return [...this.#finished.values()]
      .filter(({ atMs }) => atMs >= sinceMs)
      .sort((a, b) => b.atMs - a.atMs)
      .slice(0, limit);
  }

  async spending(): ReturnType<StoredPast['spending']> {
    return [];
  }

  async events({ issue, limit }: Parameters<StoredPast['events']>[0]) {
    return this.#events
      .filter((event) => isAbout(event, issue))
      .slice(-limit)
      .reverse();
  }
}

function isAbout(
  one: { readonly issueId: string | null; readonly identifier: string | null },
  issue?: string,
): boolean {
  return issue === undefined || one.identifier === issue || one.issueId === issue;
}
