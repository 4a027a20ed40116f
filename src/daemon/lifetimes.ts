import type { State } from '../../orchestrator/state.js';
import { toBatonError } from '../domain/errors.js';
import type { Dispatch } from '../domain/events.js';
import type { LoadedWorkflow } from '../workflow/load-workflow.js';
import { DaemonLocks } from './daemon-locks.js';
import type { Daemon, DaemonOptions } from './options.js';
import type { RefusedSettings } from './reopening.js';
import { isService } from './service.js';
import { EarlyEvents } from './start-up.js';

/** From one opening of the daemon's resources to their closing. */
export interface Lifetime {
  readonly dispatch: Dispatch;
  readonly state: State;
  /** Null when the page is not served. */
  readonly page: ServedPage | null;
  readonly ended: Promise<Ending>;
}

/** Stays the same over the lifetimes of a process that serve it at the same address, so that an open page stays usable. */
interface ServedPage {
  /** `server.host` */
  readonly host: string;
  readonly port: number;
  readonly token: string;
}

export type Ending = { readonly code: number } | Reopen;

/** Open again with `next`, or with `current` when that fails. */
interface Reopen {
  readonly next: LoadedWorkflow;
  readonly current: LoadedWorkflow;
  /** The changed settings. */
  readonly keys: readonly string[];
}

export interface LifetimeLinks {
  /** On the state, workspaces and issues. */
  readonly locks: DaemonLocks;
  /** The token of the page of the last lifetime, when this one serves it at the same address. */
  readonly httpToken: string | null;
  /** Another program may take a port while the daemon is stopped or opened again; that must not end a service or an open daemon. */
  readonly mayLackPage: boolean;
  readonly mayLackWebhooks: boolean;
  /** Settings of the file that could not be used for this opening. */
  readonly refused: RefusedSettings | null;
  /** The daemon runs already, so what it is opened with was allowed. */
  readonly isReopened: boolean;
  /** Called when the lifetime closes to be opened again: from now on events wait for the next one. */
  onReopening(): void;
}

/**
 * Keeps a daemon open over changes of its tracker, its workspace root and other settings that need new resources: it is closed and opened
 * again in the same process. Events that people cause meanwhile are kept. Throws the error of the first opening.
 */
export async function keepOpen(
  options: DaemonOptions,
  open: (options: DaemonOptions, links: LifetimeLinks) => Promise<Lifetime>,
): Promise<Daemon> {
  const { log, loaded, stateDir } = options;
  const workflow = loaded.workflow.path;
  const holder = { pid: process.pid, since: new Date().toISOString(), workflow, stateDir: stateDir.path };
  const locks = new DaemonLocks(holder, log);
  const releaseLocks = () => locks.keepOnly([]);
  const events = new EarlyEvents();
  const onReopening = () => events.hold();
  let last: Lifetime | null = null;
  let lastPort: number | null = null;
  const start = async (loaded: LoadedWorkflow, refused: RefusedSettings | null): Promise<Lifetime> => {
    const { server } = loaded.workflow.config;
    const asked = options.port ?? server.port;
    const isReopened = last !== null;
    // The page may have been served late.
    const page = last?.page ?? null;
    const port = asked === 0 && page !== null ? { port: page.port } : {};
    // Another program can take an address that we leave, and read the token from the storage of a page that is loaded again there.
    const isSameAddress = page !== null && server.host === page.host && (asked === 0 || asked === page.port);
    const httpToken = isSameAddress ? (page?.token ?? null) : null;
    const mayLackWebhooks = isReopened ? refused !== null : isService(options.env, process.pid);
    const mayLackPage = mayLackWebhooks || (isReopened && asked === lastPort);
    const opened = await open(
      { ...options, loaded, ...port },
      { locks, httpToken, mayLackPage, mayLackWebhooks, refused, isReopened, onReopening },
    );
    last = opened;
    lastPort = asked;
    events.open(opened.dispatch);
    return opened;
  };
  const reopen = async ({ next, current, keys }: Reopen): Promise<Lifetime> => {
    try {
      return await start(next, null);
    } catch (thrown) {
      const error = toBatonError(thrown);
      const { code, message: detail } = error;
      log.error({ code, detail, keys }, 'changed settings cannot be used, the old ones stay');
      return start(current, { keys, error });
    }
  };
  let lifetime = await start(loaded, null).catch(async (error: unknown) => {
    await releaseLocks();
    throw error;
  });
  const untilExit = async (): Promise<number> => {
    for (;;) {
      const ending = await lifetime.ended;
      if ('code' in ending) return ending.code;
      lifetime = await reopen(ending);
    }
  };
  const exited = untilExit()
    .catch((error: unknown) => {
      log.fatal({ err: error }, 'the daemon could not be opened again');
      return 1;
    })
    .finally(releaseLocks);
  return {
    dispatch: events.dispatch,
    exited,
    get state() {
      return lifetime.state;
    },
  };
}
