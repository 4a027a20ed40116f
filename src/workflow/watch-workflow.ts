import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { type FSWatcher, watch } from 'chokidar';
import type { Clock } from '../domain/clock.js';
import { type BatonError, toBatonError } from '../domain/errors.js';
import type { Workflow } from '../domain/workflow.js';
import { deepFreeze, type LoadedWorkflow } from './load-workflow.js';
import { readWorkflowFile, type WorkflowFile } from './read-workflow-file.js';
import { describeChanges, withoutRestart } from './workflow-changes.js';

/** An editor writes a file in several steps; they are over by then. */
const DEBOUNCE_MS = 50;

/** The callbacks must not throw. */
export interface WatchOptions {
  readonly path: string;
  /** Definitions of executors in it belong to the reading. */
  readonly homeDir: string;
  /** What the daemon started with. */
  readonly initial: Workflow;
  readonly clock: Clock;
  /** Makes settings of what was read: `parseWorkflow` with the options of the start. Throws `BatonError`. */
  load(file: WorkflowFile): Promise<LoadedWorkflow>;
  /** New settings are good and take effect for what starts next. */
  onChange(change: WorkflowChange): void;
  /** The file is bad; the last good settings stay. Once per distinct content. */
  onError(error: BatonError): void;
  /** The file is good again after `onError`. When it also differs from the last good one, `onChange` follows. */
  onRecovered(): void;
  /** Watching itself failed; changes are still seen by `check`. */
  onWatchError(error: Error): void;
}

export interface WorkflowChange {
  /** With the running values of the keys that need a restart. */
  readonly workflow: Workflow;
  readonly changes: readonly string[];
  /** Keys that differ from the running ones and need a restart. */
  readonly restartRequired: readonly string[];
  readonly literalSecrets: readonly string[];
}

export interface WorkflowWatcher {
  /** Looks at the file now. Called before every poll, in case the watch missed a change. Never rejects. */
  check(): Promise<void>;
  /** Why the file as it is now is not in effect; null while it is good. */
  readonly error: BatonError | null;
  close(): Promise<void>;
}

export async function watchWorkflow(options: WatchOptions): Promise<WorkflowWatcher> {
  const watcher = new Watcher(options);
  await watcher.arm();
  // It may have changed between the first reading and the watch.
  await watcher.check();
  return watcher;
}

/**
 * States: the file is good (`error` null) or bad. `#loaded` is the last good reading as written, `#running` the same with
 * the running values of restart-only keys. A look at the file compares its fingerprint with the last one seen, so any
 * number of looks at one content does nothing. At most one look is under way; whoever asks meanwhile gets one more after it.
 */
class Watcher implements WorkflowWatcher {
  error: BatonError | null = null;
  readonly #options: WatchOptions;
  readonly #file: string;
  #loaded: Workflow;
  #running: Workflow;
  #seen: string;
  readonly #reported = new Set<string>();
  #looking: Promise<void> | null = null;
  #again: Promise<void> | null = null;
  #cancelDebounce: (() => void) | null = null;
  #watch: FSWatcher | null = null;
  /** The real folder that is watched; null once it is known to be gone. */
  #watched: string | null = null;
  #isClosed = false;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#file = path.resolve(options.path);
    this.#loaded = options.initial;
    this.#running = options.initial;
    this.#seen = options.initial.hash;
  }

  /**
   * The folder is watched, not the file: a file watch is lost when an editor replaces the file. Renames of any entry
   * count, since a symlink on the way to the file may be what is swapped.
   */
  async arm(): Promise<void> {
    await this.#watch?.close();
    const folder = await this.#realFolder();
    const entry = path.join(folder, path.basename(this.#file));
    const watcher = watch(folder, {
      depth: 0,
      ignoreInitial: true,
      atomic: false,
      ignored: (candidate) => candidate !== folder && candidate !== entry,
    });
    this.#watch = watcher;
    this.#watched = folder;
    watcher.on('all', (event, changed) => {
      if (event === 'unlinkDir' && changed === folder) this.#watched = null;
      this.#lookSoon();
    });
    watcher.on('raw', (event) => {
      if (event === 'rename') this.#lookSoon();
    });
    await new Promise<void>((resolve) => {
      watcher.on('ready', () => resolve());
      watcher.on('error', (error) => {
        this.#options.onWatchError(error instanceof Error ? error : new Error(String(error)));
        resolve();
      });
    });
  }

  check(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    if (this.#looking === null) {
      this.#looking = this.#look().finally(() => {
        this.#looking = null;
      });
      return this.#looking;
    }
    // The look under way may have read the file before it changed.
    this.#again ??= this.#looking.then(() => {
      this.#again = null;
      return this.check();
    });
    return this.#again;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelDebounce?.();
    await this.#looking;
    await this.#watch?.close();
  }

  #lookSoon(): void {
    if (this.#isClosed || this.#cancelDebounce) return;
    this.#cancelDebounce = this.#options.clock.after(DEBOUNCE_MS, () => {
      this.#cancelDebounce = null;
      void this.check();
    });
  }

  async #look(): Promise<void> {
    let file: WorkflowFile | null = null;
    try {
      file = await this.#read();
      if (file.hash === this.#seen) return;
      const loaded = file.hash === this.#loaded.hash ? null : await this.#options.load(file);
      if (this.#isClosed) return;
      this.#seen = file.hash;
      this.#recover();
      if (loaded) this.#apply(loaded);
    } catch (error) {
      if (this.#isClosed) return;
      const failure = toBatonError(error);
      this.#fail(failure, file?.hash ?? failure.message);
    }
  }

  async #read(): Promise<WorkflowFile> {
    const file = await readWorkflowFile(this.#file, this.#options.homeDir);
    if (this.#watched === (await this.#realFolder())) return file;
    await this.arm();
    return readWorkflowFile(this.#file, this.#options.homeDir);
  }

  async #realFolder(): Promise<string> {
    const folder = path.dirname(this.#file);
    return realpath(folder).catch(() => folder);
  }

  #apply({ workflow, literalSecrets }: LoadedWorkflow): void {
    const changes = describeChanges(this.#loaded, workflow);
    const { effective, restartRequired } = withoutRestart(this.#running, workflow);
    this.#loaded = workflow;
    this.#running = deepFreeze(effective);
    this.#options.onChange({ workflow: this.#running, changes, restartRequired, literalSecrets });
  }

  #recover(): void {
    this.#reported.clear();
    if (this.error === null) return;
    this.error = null;
    this.#options.onRecovered();
  }

  #fail(error: BatonError, fingerprint: string): void {
    this.#seen = fingerprint;
    this.error = error;
    if (this.#reported.has(fingerprint)) return;
    this.#reported.add(fingerprint);
    this.#options.onError(error);
  }
}
