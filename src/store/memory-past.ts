import { type FinishedIssue, finishedKey } from '../domain/finished.js';
import type { HistoryEvent } from '../domain/history.js';
import type { DayRecord, StoredPast } from '../domain/ports.js';
import type { RunRecord } from '../domain/run-record.js';
import { mergeDays } from './merge-days.js';

type DaySpending = Pick<DayRecord, 'day' | 'input' | 'cached' | 'output' | 'tokens'>;

/** The past of a store that forgets with the process. `spending`: by day, as its state has it. */
export class MemoryPast implements StoredPast {
  constructor(private readonly spending: () => readonly DaySpending[]) {}

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

  async days(sinceDay: string): ReturnType<StoredPast['days']> {
    const ended = [...this.#runs.values()].flatMap(({ end }) => (end ? [end] : []));
    const parts = [...new Set(ended.map(({ atMs }) => dayOf(atMs)))].map((day) => {
      const runs = ended.filter(({ atMs }) => dayOf(atMs) === day);
      const failed = runs.filter(({ outcome }) => outcome === 'failed' || outcome === 'timeout').length;
      return { day, runs: runs.length, failed };
    });
    const done = new Map<string, number>();
    for (const { atMs, isTerminal } of this.#finished.values())
      if (isTerminal) done.set(dayOf(atMs), (done.get(dayOf(atMs)) ?? 0) + 1);
    const all = [...this.spending(), ...parts, ...[...done].map(([day, count]) => ({ day, done: count }))];
    return mergeDays(all.filter(({ day }) => day >= sinceDay));
  }

  async events({ issue, limit }: Parameters<StoredPast['events']>[0]) {
    return this.#events
      .filter((event) => isAbout(event, issue))
      .slice(-limit)
      .reverse();
  }
}

/** Local, as the calendar on the wall. */
function dayOf(atMs: number): string {
  const date = new Date(atMs);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

function isAbout(
  one: { readonly issueId: string | null; readonly identifier: string | null },
  issue?: string,
): boolean {
  return issue === undefined || one.identifier === issue || one.issueId === issue;
}
