import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { type FSWatcher, watch } from 'chokidar';
import type { Clock } from '../domain/clock.js';
import { type BatonError, toBatonError } from '../domain/errors.js';
import type { Workflow } from '../domain/workflow.js';
import { deepFreeze, type LoadedWorkflow } from './load-workflow.js';
import { readWorkflowFile, type WorkflowFile } from './read-workflow-file.js';
import { describeChanges, withoutRestart } from './workflow-changes.js';

/** Editors write a file in several steps, which are over after this time. */
const DEBOUNCE_MS = 50;

/** The callbacks must not throw. */
export interface WatchOptions {
  readonly path: string;
  /** Contains the global definitions of executors. */
  readonly homeDir: string;
  /** The workflow that the daemon started with. */
  readonly initial: Workflow;
  readonly clock: Clock;
  /** `parseWorkflow` with the options of the start. Throws `BatonError`. */
  load(file: WorkflowFile): Promise<LoadedWorkflow>;
  /** The new settings are valid and apply to the next run. */
  onChange(change: WorkflowChange): void;
  /** The file is invalid, and the last valid settings stay. Called once for each content. */
  onError(error: BatonError): void;
  /** The file is valid again after `onError`. `onChange` follows if it differs from the last valid one. */
  onRecovered(): void;
  /** Watching failed. `check` still finds changes. */
  onWatchError(error: Error): void;
}

export interface WorkflowChange {
  /** Settings that need the daemon to be opened again keep their running values. */
  readonly workflow: Workflow;
  /** The file as it is written, with the new values of all settings. */
  readonly loaded: LoadedWorkflow;
  readonly changes: readonly string[];
  /** Settings that differ from the running ones and need the daemon to be opened again. */
  readonly restartRequired: readonly string[];
  readonly literalSecrets: readonly string[];
}

export interface WorkflowWatcher {
  /** Reads the file now. Called before every poll, in case the watch missed a change. Never rejects. */
  check(): Promise<void>;
  /** Why the current file is not in effect; null while it is valid. */
  readonly error: BatonError | null;
  close(): Promise<void>;
}

export async function watchWorkflow(options: WatchOptions): Promise<WorkflowWatcher> {
  const watcher = new Watcher(options);
  await watcher.arm();
  // The file may have changed between the first read and the watch.
  await watcher.check();
  return watcher;
}

/**
 * States: the file is valid (`error` is null) or invalid. `#loaded` is the last valid file as written; `#running` has the running
 * values of settings that need a restart. A read compares the fingerprint with the last one, so reading the same content again has
 * no effect. At most one read is in progress; calls during a read cause one more read after it.
 */
class Watcher implements WorkflowWatcher {
  error: BatonError | null = null;
  readonly #options: WatchOptions;
  readonly #file: string;
  #loaded: Workflow;
  #running: Workflow;
  #seen: string;
  readonly #reported = new Set<string>();
  #reading: Promise<void> | null = null;
  #next: Promise<void> | null = null;
  #cancelDebounce: (() => void) | null = null;
  #watch: FSWatcher | null = null;
  /** The real folder that is watched; null when it was removed. */
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
   * Watches the folder, because a watch on the file is lost when an editor replaces the file. Renames of any entry count, because
   * a symlink on the path of the file may be replaced.
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
      this.#readSoon();
    });
    watcher.on('raw', (event) => {
      if (event === 'rename') this.#readSoon();
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
    if (this.#reading === null) {
      this.#reading = this.#reload().finally(() => {
        this.#reading = null;
      });
      return this.#reading;
    }
    // The read in progress may have read the file before it changed.
    this.#next ??= this.#reading.then(() => {
      this.#next = null;
      return this.check();
    });
    return this.#next;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelDebounce?.();
    await this.#reading;
    await this.#watch?.close();
  }

  #readSoon(): void {
    if (this.#isClosed || this.#cancelDebounce) return;
    this.#cancelDebounce = this.#options.clock.after(DEBOUNCE_MS, () => {
      this.#cancelDebounce = null;
      void this.check();
    });
  }

  async #reload(): Promise<void> {
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

  #apply(loaded: LoadedWorkflow): void {
    const { workflow, literalSecrets } = loaded;
    const changes = describeChanges(this.#loaded, workflow);
    const { effective, restartRequired } = withoutRestart(this.#running, workflow);
    this.#loaded = workflow;
    this.#running = deepFreeze(effective);
    this.#options.onChange({ workflow: this.#running, loaded, changes, restartRequired, literalSecrets });
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
