import type { OpenRun, OpenRunStore, RecordedProcess } from '../src/domain/ports.js';
import type { ProcessIdentity } from './contain/proc-table.js';
import type { ProcessTrace } from './contain/process.js';

const NOTE_AFTER_MS = 200;

export interface OpenRunsOptions {
  readonly store: OpenRunStore;
  readonly daemonMarker: string;
  readonly bootId: string;
  /** A note that could not be made where that costs nothing but a second look later. */
  onError(error: Error): void;
}

/**
 * What runs and removals have under way outside of this process, noted down before it begins: processes, and the `after_run` that
 * follows on `before_run`. Whoever is killed leaves the notes, and the next daemon ends and makes up for what they say. An entry
 * goes when nothing of its run is left.
 */
export class OpenRuns implements ProcessTrace {
  readonly #options: OpenRunsOptions;
  readonly #open = new Map<string, OpenRun>();
  readonly #written = new Set<string>();
  readonly #unnoted = new Set<string>();
  #noting: NodeJS.Timeout | null = null;

  constructor(options: OpenRunsOptions, left: readonly OpenRun[]) {
    this.#options = options;
    for (const run of left) {
      this.#open.set(run.marker, run);
      this.#written.add(run.marker);
    }
  }

  get daemonMarker(): string {
    return this.#options.daemonMarker;
  }

  /** Before its first process. There is nothing to write yet: what it starts before it is noted down carries the marker. */
  begin(marker: string, issueId: string): void {
    this.#open.set(marker, { marker, issueId, owesAfterRunIn: null, processes: [] });
  }

  /** Before `before_run`. Throws `store_failed`: then nothing may be started. */
  async afterRunDue(marker: string, workspaceKey: string): Promise<void> {
    const run = this.#open.get(marker);
    if (run) await this.#put({ ...run, owesAfterRunIn: workspaceKey });
  }

  /** Right after `after_run`. A note that cannot be made makes it run once more, should we be killed now. */
  async afterRunEnded(marker: string): Promise<void> {
    const run = this.#open.get(marker);
    if (run?.owesAfterRunIn) await this.#put({ ...run, owesAfterRunIn: null }).catch(this.#options.onError);
  }

  /** The workspace in which an earlier daemon did not come to the end of `after_run`. */
  afterRunDueIn(marker: string): string | null {
    return this.#open.get(marker)?.owesAfterRunIn ?? null;
  }

  /** Soon, not at once: most processes of steps and hooks are over by then, and a write costs more than they do. */
  started(marker: string, holders: readonly ProcessIdentity[]): void {
    const run = this.#open.get(marker);
    if (!run || holders.length === 0) return;
    const { bootId } = this.#options;
    const processes: RecordedProcess[] = holders.map(({ pid, startTime }) => ({ pid, startTime, bootId }));
    this.#open.set(marker, { ...run, processes: [...run.processes, ...processes] });
    this.#unnoted.add(marker);
    this.#noting ??= setTimeout(() => this.#note(), NOTE_AFTER_MS).unref();
  }

  /** What is still there. The marker finds it too: a note that cannot be made is no reason to end a run. */
  #note(): void {
    this.#noting = null;
    for (const marker of this.#unnoted) {
      const run = this.#open.get(marker);
      if (run && run.processes.length > 0) void this.#put(run).catch(this.#options.onError);
    }
    this.#unnoted.clear();
  }

  /** Only remembered: it is written with whatever comes next, so that a run of a thousand steps does not carry them all along. */
  ended(marker: string, holders: readonly ProcessIdentity[]): void {
    const run = this.#open.get(marker);
    if (!run) return;
    const isOver = ({ pid, startTime }: RecordedProcess) =>
      holders.some((holder) => holder.pid === pid && holder.startTime === startTime);
    this.#open.set(marker, { ...run, processes: run.processes.filter((one) => !isOver(one)) });
  }

  /** Nothing of it is left. */
  async end(marker: string): Promise<void> {
    this.#open.delete(marker);
    // With those before it whose note could not be removed: a full disk has space again some day.
    for (const over of [...this.#written].filter((one) => !this.#open.has(one))) {
      try {
        await this.#options.store.remove(over);
        this.#written.delete(over);
      } catch (error) {
        this.#options.onError(error as Error);
        return;
      }
    }
  }

  /** Entries of an earlier daemon that no claim knows any more: their processes are gone, and nothing is owed. */
  async keepOnly(markers: ReadonlySet<string>): Promise<void> {
    for (const marker of [...this.#open.keys()]) if (!markers.has(marker)) await this.end(marker);
  }

  #put(run: OpenRun): Promise<void> {
    this.#open.set(run.marker, run);
    this.#written.add(run.marker);
    return this.#options.store.put(run);
  }
}
