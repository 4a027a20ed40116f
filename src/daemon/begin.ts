import type { Loop } from '../../orchestrator/loop.js';
import type { DaemonOptions } from './daemon.js';
import type { Inbox } from './inbox.js';
import type { Parts } from './resources.js';
import { prepareTracker } from './prepare-tracker.js';
import type { DaemonStatus } from './status.js';

export interface Beginning {
  readonly loop: Loop;
  readonly inbox: Inbox;
  readonly status: DaemonStatus;
}

/** From opened parts to the first event: what must be refused is refused before anything runs. */
export async function begin(options: DaemonOptions, parts: Parts, { loop, inbox, status }: Beginning): Promise<void> {
  const { log, loaded, redactor } = options;
  const { store, tracker } = parts;
  const { config, path } = loaded.workflow;
  // Before anything runs: a port that is taken is a mistake to be told, not a run to be ended.
  const port = options.port ?? config.server.port;
  if (port !== null) await status.listenHttp(port);
  for (const detail of redactor.ignored) log.warn({ detail }, 'a secret is not masked');
  const prepared = await prepareTracker({ tracker, clock: parts.clock, log, signal: options.signal });
  await parts.openRuns.keepOnly(new Set(Object.keys(loop.state.runs)));
  const leftovers = (await store.owners.all()).filter((owner) => owner.scope === tracker.scope);
  log.info(
    {
      version: options.version,
      workflow: path,
      tracker: tracker.kind,
      workspaces: parts.root,
      state_dir: options.stateDir.path,
    },
    'started',
  );
  loop.dispatch({ type: 'started', leftovers, ...(options.once ? { once: options.once } : {}), ...prepared });
  inbox.open(loop.dispatch);
  await tracker.watch?.({
    onChange: () => loop.dispatch({ type: 'refresh_requested' }),
    onError: ({ message }) =>
      log.warn({ detail: message }, 'tracker cannot be watched, edits are seen at the next poll'),
  });
  // Last: the work has begun, and commands that look for the daemon come after its start.
  await status.listenSocket();
}
