import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { type FSWatcher, watch } from 'chokidar';
import type { Clock } from '../domain/clock.js';
import { type BatonError, toBatonError } from '../domain/errors.js';
import type { AllowedContent, HeldContent, Workflow } from '../domain/workflow.js';
import { unifiedDiff } from '../text/unified-diff.js';
import { allowedContent, heldChanges } from './allowed-content.js';
import { hashWithFiles, readCodeFiles } from './code-files.js';
import { deepFreeze, type LoadedWorkflow } from './load-workflow.js';
import { readWorkflowFile, type WorkflowFile } from './read-workflow-file.js';
import { describeChanges, effectiveNow } from './workflow-changes.js';

/** Editors write a file in several steps, which are over after this time. */
const DEBOUNCE_MS = 50;

/** The callbacks must not throw. */
export interface WatchOptions {
  readonly path: string;
  /** Contains the global definitions of executors. */
  readonly homeDir: string;
  /** The workflow that the daemon started with. */
  readonly initial: Pick<LoadedWorkflow, 'workflow' | 'text'>;
  /** The content that was allowed last. It differs from `initial` when its settings could not be used. */
  readonly allowed: AllowedContent;
  /** Changes of what runs or what is allowed are held until `allow`. */
  readonly holdsChanges: boolean;
  readonly clock: Clock;
  /** `parseWorkflow` with the options of the start. Throws `BatonError`. */
  load(file: WorkflowFile): Promise<LoadedWorkflow>;
  /** The new settings are valid and apply to the next run. */
  onChange(change: WorkflowChange): void;
  /** The file is valid, but has changes that must be allowed first. The whole content waits, and the settings in effect stay. */
  onHeld(held: HeldContent, literalSecrets: readonly string[]): void;
  /** The held content is gone from the file; it was neither allowed nor replaced by another one that is held. */
  onHeldGone(): void;
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
  readonly waitingKeys: readonly string[];
  readonly literalSecrets: readonly string[];
  /** What is in effect now, to be compared with at the next start. */
  readonly allowed: AllowedContent;
}

export interface WorkflowWatcher {
  /** Reads the file now. Called before every poll, in case the watch missed a change. Never rejects. */
  check(): Promise<void>;
  /** Why the current file is not in effect; null while it is valid. */
  readonly error: BatonError | null;
  /** The content of the file that waits to be allowed; null: there is none. */
  readonly held: HeldContent | null;
  /** Allows the content with this hash, if the file still has it. Returns whether it is in effect now. Never rejects. */
  allow(hash: string): Promise<boolean>;
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
 * States: the file is in effect, invalid (`error` is set), or held (`held` is set). `#loaded` is the content in effect as written;
 * `#running` has the running values of settings that change only when no run is active. A read compares the fingerprint with the last one, so reading the
 * same content again has no effect. At most one read is in progress; calls during a read cause one more read after it.
 *
 * in effect ── other content, nothing to allow ──▶ in effect
 *           ── other content, with changes to allow ──▶ held ── allow(hash), or the earlier content is back ──▶ in effect
 */
class Watcher implements WorkflowWatcher {
  error: BatonError | null = null;
  held: HeldContent | null = null;
  readonly #options: WatchOptions;
  readonly #file: string;
  #loaded: Pick<LoadedWorkflow, 'workflow' | 'text'>;
  #running: Workflow;
  #allowed: AllowedContent;
  /** The hash that `allow` asks for. */
  #wanted: string | null = null;
  #seen: string;
  /** The workflow of the last read; null when that content was invalid. Its code files can change without it. */
  #seenWorkflow: Workflow | null;
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
    const { workflow } = options.initial;
    this.#loaded = options.initial;
    this.#running = workflow;
    this.#allowed = options.allowed;
    // With code files this is not the hash of the file alone, and the first read loads it once more.
    this.#seen = workflow.hash;
    this.#seenWorkflow = workflow;
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

  async allow(hash: string): Promise<boolean> {
    // A read in progress may have read the file before it changed.
    while (this.#reading !== null) await this.#reading;
    this.#wanted = hash;
    await this.check();
    this.#wanted = null;
    return this.#loaded.workflow.hash === hash;
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
      if (this.#wanted === null && (await this.#isSeen(file))) return;
      const loaded = await this.#options.load(file);
      if (this.#isClosed) return;
      this.#seen = file.hash;
      this.#seenWorkflow = loaded.workflow;
      this.#recover();
      if (loaded.workflow.hash === this.#loaded.workflow.hash) this.#release();
      else this.#take(loaded);
    } catch (error) {
      if (this.#isClosed) return;
      const failure = toBatonError(error);
      // Code files that cannot be compared can change while the file stays as it is.
      this.#fail(failure, failure.code === 'workflow_not_allowed' ? failure.message : (file?.hash ?? failure.message));
    }
  }

  async #isSeen(file: WorkflowFile): Promise<boolean> {
    if (file.hash !== this.#seen) return false;
    const { hash, files } = this.#seenWorkflow ?? {};
    if (this.#seenWorkflow === null || files === undefined) return true;
    return hashWithFiles(file.hash, await readCodeFiles(this.#seenWorkflow)) === hash;
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

  #take(loaded: LoadedWorkflow): void {
    const { workflow, text, literalSecrets } = loaded;
    const changes = this.#options.holdsChanges ? heldChanges(this.#allowed, workflow) : [];
    if (changes.length === 0 || workflow.hash === this.#wanted) return this.#apply(loaded);
    if (this.held?.hash === workflow.hash) return;
    const diff = unifiedDiff(path.basename(this.#file), this.#loaded.text, text);
    this.held = { hash: workflow.hash, sinceMs: this.#nowMs(), changes, diff };
    this.#options.onHeld(this.held, literalSecrets);
  }

  #apply(loaded: LoadedWorkflow): void {
    const { workflow, literalSecrets } = loaded;
    const changes = describeChanges(this.#loaded.workflow, workflow);
    const { effective, waitingKeys } = effectiveNow(this.#running, workflow);
    this.#allowed = allowedContent(workflow, loaded.text, this.#nowMs());
    this.#loaded = loaded;
    this.#running = deepFreeze(effective);
    this.held = null;
    const allowed = this.#allowed;
    this.#options.onChange({ workflow: this.#running, loaded, changes, waitingKeys, literalSecrets, allowed });
  }

  /** The file is again as it is in effect. */
  #release(): void {
    if (this.held === null) return;
    this.held = null;
    this.#options.onHeldGone();
  }

  #nowMs(): number {
    return this.#options.clock.now().wallMs;
  }

  #recover(): void {
    this.#reported.clear();
    if (this.error === null) return;
    this.error = null;
    this.#options.onRecovered();
  }

  #fail(error: BatonError, fingerprint: string): void {
    this.#seen = fingerprint;
    this.#seenWorkflow = null;
    this.#release();
    this.error = error;
    if (this.#reported.has(fingerprint)) return;
    this.#reported.add(fingerprint);
    this.#options.onError(error);
  }
}
