import type { OpenRun, OpenRunStore, RecordedProcess } from '../src/domain/ports.js';
import type { ProcessIdentity } from './contain/proc-table.js';
import type { ProcessTrace } from './contain/process.js';

const WRITE_DELAY_MS = 200;

export interface OpenRunsOptions {
  readonly store: OpenRunStore;
  readonly daemonMarker: string;
  readonly bootId: string;
  /** A record could not be written, in a case that does not matter to the run. */
  onError(error: Error): void;
}

/**
 * Records what runs and removals have in progress outside of the daemon: their processes, and an `after_run` that is due because
 * `before_run` may have started. The next daemon ends the processes and runs the hooks that a killed daemon has recorded. A record
 * is removed when nothing of its run is left.
 */
export class OpenRuns implements ProcessTrace {
  readonly #options: OpenRunsOptions;
  readonly #open = new Map<string, OpenRun>();
  readonly #written = new Set<string>();
  readonly #unwritten = new Set<string>();
  #timer: NodeJS.Timeout | null = null;
  #isFrozen = false;

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

  /** Called before the first process of a run. Writes nothing yet: processes that are not recorded are found by their marker. */
  begin(marker: string, issueId: string): void {
    this.#open.set(marker, { marker, issueId, owesAfterRunIn: null, processes: [] });
  }

  /** Called before `before_run`. Throws `store_failed`; then nothing may be started. */
  async afterRunDue(marker: string, workspaceKey: string): Promise<void> {
    const run = this.#open.get(marker);
    if (run) await this.#put({ ...run, owesAfterRunIn: workspaceKey });
  }

  /** Called right after `after_run`. When the record cannot be written and the daemon is killed, the hook runs once more. */
  async afterRunEnded(marker: string): Promise<void> {
    const run = this.#open.get(marker);
    if (run?.owesAfterRunIn) await this.#put({ ...run, owesAfterRunIn: null }).catch(this.#options.onError);
  }

  /** The key of the workspace in which an earlier daemon did not finish `after_run`. */
  afterRunDueIn(marker: string): string | null {
    return this.#open.get(marker)?.owesAfterRunIn ?? null;
  }

  /** Written after a delay: most processes of steps and hooks have ended by then, and a write costs more than they do. */
  started(marker: string, holders: readonly ProcessIdentity[]): void {
    const run = this.#open.get(marker);
    if (!run || holders.length === 0) return;
    const { bootId } = this.#options;
    const processes: RecordedProcess[] = holders.map(({ pid, startTime }) => ({ pid, startTime, bootId }));
    this.#open.set(marker, { ...run, processes: [...run.processes, ...processes] });
    this.#unwritten.add(marker);
    this.#timer ??= setTimeout(() => this.#writeProcesses(), WRITE_DELAY_MS).unref();
  }

  /** Writes the processes that are still active. A failure does not end the run, because the marker finds them too. */
  #writeProcesses(): void {
    this.#timer = null;
    const runs = [...this.#unwritten].flatMap((marker) => this.#open.get(marker) ?? []);
    this.#unwritten.clear();
    void this.#put(...runs.filter(({ processes }) => processes.length > 0)).catch(this.#options.onError);
  }

  /** Written with the next change only. Removing ended processes keeps the record of a run with a thousand steps small. */
  ended(marker: string, holders: readonly ProcessIdentity[]): void {
    const run = this.#open.get(marker);
    if (!run) return;
    const isOver = ({ pid, startTime }: RecordedProcess) =>
      holders.some((holder) => holder.pid === pid && holder.startTime === startTime);
    this.#open.set(marker, { ...run, processes: run.processes.filter((one) => !isOver(one)) });
  }

  /** Nothing of the run is left. */
  async end(marker: string): Promise<void> {
    if (this.#isFrozen) return;
    this.#open.delete(marker);
    // Includes earlier records that could not be removed, for example because the disk was full.
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

  /** Removes records of an earlier daemon without a claim: their processes are gone, and no hook is due. */
  async keepOnly(markers: ReadonlySet<string>): Promise<void> {
    for (const marker of [...this.#open.keys()]) if (!markers.has(marker)) await this.end(marker);
  }

  /** Leaves the records to the next daemon, as a kill would. Called when the daemon is forced to exit. */
  freeze(): void {
    this.#isFrozen = true;
  }

  async #put(...runs: readonly OpenRun[]): Promise<void> {
    if (this.#isFrozen || runs.length === 0) return;
    for (const run of runs) {
      this.#open.set(run.marker, run);
      this.#written.add(run.marker);
    }
    await this.#options.store.put(...runs);
  }
}
