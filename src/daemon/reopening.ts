import { detectContainment } from '../../runner/contain/detect-containment.js';
import type { Containment } from '../../runner/contain/process.js';
import { openWorkspaceRoot } from '../../runner/workspace/workspace-root.js';
import type { Clock } from '../domain/clock.js';
import { type BatonError, toBatonError } from '../domain/errors.js';
import type { Dispatch } from '../domain/events.js';
import type { LoadedWorkflow } from '../workflow/load-workflow.js';
import { type DaemonLock, type DaemonLocks, workLocks } from './daemon-locks.js';
import type { DaemonOptions } from './options.js';
import { openTracker, prepareTracker } from './tracker.js';

/** Another daemon may have ended meanwhile. */
const RETRY_MS = 60_000;

/** Changed settings that cannot be used. The values before stay in effect. */
export interface RefusedSettings {
  readonly keys: readonly string[];
  readonly error: BatonError;
}

interface ReopeningLinks {
  readonly clock: Clock;
  readonly locks: DaemonLocks;
  /** The locks on what is in use. */
  readonly inUse: readonly DaemonLock[];
  readonly containment: Containment;
  readonly dispatch: Dispatch;
  readonly refused: RefusedSettings | null;
}

/**
 * Some settings, such as the tracker and the workspace root, take effect only by opening the daemon again. They are checked and their locks
 * are taken first, while everything goes on as before; then the core lets the current runs end and starts nothing.
 *
 * nothing ── changed ──▶ checking ── they can be used ──▶ waiting for the runs ── `reopen` of the core ──▶ closed and opened again
 *                           └── they cannot ──▶ refused: checked again after a minute, and when the file changes
 */
export class Reopening {
  /** What the daemon is opened with next. */
  next: LoadedWorkflow | null = null;
  refused: RefusedSettings | null;
  #checks: Promise<void> = Promise.resolve();
  #version = 0;
  #isRequested = false;
  readonly #closing = new AbortController();

  constructor(
    private readonly options: DaemonOptions,
    private readonly links: ReopeningLinks,
  ) {
    this.refused = links.refused;
  }

  /** The file as it is now wants other values for these keys; without keys it wants those in effect. */
  changed(loaded: LoadedWorkflow, keys: readonly string[]): void {
    this.#version += 1;
    this.#enqueue(loaded, keys, this.#version);
  }

  /** Ends the check that is in progress, so that it takes no locks later. */
  close(): Promise<void> {
    this.#version += 1;
    this.#closing.abort();
    return this.#checks;
  }

  #enqueue(loaded: LoadedWorkflow, keys: readonly string[], version: number): void {
    this.#checks = this.#checks.then(async () => {
      if (version !== this.#version) return;
      try {
        const isWanted = () => version === this.#version;
        if (keys.length > 0) await checkSettings(loaded, this.options, this.links, isWanted, this.#closing.signal);
        if (!isWanted()) return;
        this.next = keys.length > 0 ? loaded : null;
        this.refused = null;
        await this.#request(keys);
      } catch (thrown) {
        if (version !== this.#version) return;
        const error = toBatonError(thrown);
        const { code, message } = error;
        if (this.refused?.error.message !== message)
          this.options.log.error({ code, detail: message, keys }, 'changed settings cannot be used, the old ones stay');
        this.next = null;
        this.refused = { keys, error };
        await this.#request([]);
        this.links.clock.after(RETRY_MS, () => {
          if (version === this.#version) this.#enqueue(loaded, keys, version);
        });
      }
    });
  }

  async #request(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) await this.links.locks.keepOnly(this.links.inUse);
    if (keys.length > 0 || this.#isRequested) this.links.dispatch({ type: 'reopen_requested', keys });
    this.#isRequested = keys.length > 0;
  }
}

/** Throws what opening the daemon would throw. Afterwards the locks on the new workspaces and issues are held in addition. */
async function checkSettings(
  loaded: LoadedWorkflow,
  options: DaemonOptions,
  links: ReopeningLinks,
  isWanted: () => boolean,
  closing: AbortSignal,
): Promise<void> {
  const { log, homeDir, lockDir, signal: leaving } = options;
  const signal = leaving ? AbortSignal.any([leaving, closing]) : closing;
  const { clock, containment, locks, inUse } = links;
  const { config, dir } = loaded.workflow;
  await detectContainment({ isolation: config.runtime.isolation, hide: [], lockDir, clock });
  const tracker = await openTracker({ ...options, loaded }, { containment: async () => containment });
  try {
    const root = await openWorkspaceRoot({ root: config.workspace.root, workflowDir: dir, home: homeDir });
    const wanted = workLocks({ root, tracker, config: config.tracker, lockDir, homeDir });
    if (!isWanted()) return;
    await locks.keepOnly([...inUse, ...wanted]);
    await locks.take(wanted);
    await prepareTracker({ tracker, clock, log, signal });
  } finally {
    await tracker.close();
  }
}
