import type { Loop } from '../../orchestrator/loop.js';
import type { Dispatch, OrchestratorEvent } from '../domain/events.js';
import type { DaemonOptions } from './options.js';
import type { DaemonResources } from './resources.js';
import type { DaemonStatus } from './status.js';
import { prepareTracker } from './tracker.js';

interface StartUp {
  readonly loop: Loop;
  readonly earlyEvents: EarlyEvents;
  readonly status: DaemonStatus;
}

/** From the opened resources to the first event. Everything that can refuse the start does so before anything runs. Throws `BatonError`. */
export async function startUp(
  options: DaemonOptions,
  resources: DaemonResources,
  { loop, earlyEvents, status }: StartUp,
): Promise<void> {
  const { log, loaded, redactor, stateDir } = options;
  const { workspaces, tracker, clock, openRuns, root } = resources;
  const { config, path } = loaded.workflow;
  const port = options.port ?? config.server.port;
  if (port !== null) await status.listenHttp(port);
  for (const detail of redactor.ignored) log.warn({ detail }, 'a secret is not masked');
  const prepared = await prepareTracker({ tracker, clock, log, signal: options.signal });
  await openRuns.keepOnly(new Set(Object.keys(loop.state.runs)));
  const leftovers = await workspaces.owners();
  const facts = { workflow: path, tracker: tracker.kind, workspaces: root, state_dir: stateDir.path };
  log.info({ version: options.version, ...facts }, 'started');
  loop.dispatch({ type: 'started', leftovers, ...(options.once ? { once: options.once } : {}), ...prepared });
  earlyEvents.open(loop.dispatch);
  await tracker.watch?.({
    onChange: () => loop.dispatch({ type: 'refresh_requested' }),
    onError: ({ message }) =>
      log.warn({ detail: message }, 'tracker cannot be watched, edits are seen at the next poll'),
  });
  // Last: commands look for the daemon only after its start.
  await status.listenSocket();
}

/**
 * Holds back events until the daemon has started, and while it is opened again. A changed file or a webhook is never the first event of
 * the core.
 */
export class EarlyEvents {
  #early: OrchestratorEvent[] | null = [];
  #handle: Dispatch = () => {};

  readonly dispatch: Dispatch = (event) => {
    if (this.#early === null) this.#handle(event);
    else this.#early.push(event);
  };

  hold(): void {
    this.#early ??= [];
  }

  /** Passes on the events that wait, then every further one. */
  open(handle: Dispatch): void {
    const waiting = this.#early ?? [];
    this.#early = null;
    this.#handle = handle;
    for (const event of waiting) handle(event);
  }
}
