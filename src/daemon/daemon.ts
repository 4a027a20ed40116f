import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { Loop } from '../../orchestrator/loop.js';
import { createPerform } from '../../orchestrator/perform.js';
import { restore } from '../../orchestrator/restore.js';
import { initialState, type State } from '../../orchestrator/state.js';
import type { RunObserver } from '../../runner/run-observer.js';
import { compilePrompts } from '../../templates/prompts.js';
import { lineUp, whyIdle } from '../api/why-idle.js';
import type { Instant } from '../domain/clock.js';
import type { Dispatch, OrchestratorEvent } from '../domain/events.js';
import { historyEvent } from '../domain/note.js';
import type { Store } from '../domain/ports.js';
import { logNote } from '../logging/logger.js';
import type { Redactor } from '../logging/redact.js';
import type { StateDir } from '../state-dir.js';
import { idleText } from '../text/idle.js';
import type { TrackerRegistry } from '../tracker/registry.js';
import type { LoadedWorkflow } from '../workflow/load-workflow.js';
import type { WorkflowWatcher } from '../workflow/watch-workflow.js';
import { WorkflowVersions } from '../workflow/workflow-versions.js';
import { createExit, type Exit } from './exit.js';
import { followWorkflow } from './follow-workflow.js';
import { dailyReport, type Notify, startNotify } from './notify.js';
import { startPruning } from './prune.js';
import { openParts, type Parts } from './resources.js';
import { createServiceNotifier, type ServiceNotifier, serviceSentence } from './service.js';
import { DaemonStatus } from './status.js';
import { prepareTracker } from './tracker.js';
import { openWebhooks } from './webhooks.js';

export interface DaemonOptions {
  readonly loaded: LoadedWorkflow;
  readonly stateDir: StateDir;
  /** Where daemons of this user keep out of each other's way. */
  readonly lockDir: string;
  readonly trackers: TrackerRegistry;
  readonly log: Logger;
  readonly redactor: Redactor;
  readonly env: NodeJS.ProcessEnv;
  readonly homeDir: string;
  readonly version: string;
  readonly store?: Store;
  /** Wins over `server.port`. */
  readonly port?: number;
  /** What `--backend` said: for agent steps with `backend: auto`. */
  readonly backend?: string;
  /** Somebody wants it to end before it is there: then it does not wait for a tracker that is silent. */
  readonly signal?: AbortSignal;
  /** Work everything off once and leave; `only` one issue, by its name. */
  readonly once?: { readonly only: string | null };
  /** For those who watch runs. */
  readonly observer?: Partial<RunObserver>;
  /** For those who watch: every event with the state it led to. */
  onDecided?(event: OrchestratorEvent, state: State): void;
}

export interface Daemon {
  readonly dispatch: Dispatch;
  readonly state: State;
  /** The exit code, once everything is closed. */
  readonly exited: Promise<number>;
}

/** Puts the parts together, starts them in order and stops them in reverse. Throws `BatonError` when it cannot start. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  compilePrompts(options.loaded.workflow);
  let loop: Loop | null = null;
  const inbox = new Inbox();
  const { dispatch } = inbox;
  const book = new WorkflowVersions(options.loaded.workflow, Date.now());
  const parts = await openParts(options, book, dispatch);
  const exit = createExit(options.log, parts, () => loop?.close());
  try {
    const watcher = await followWorkflow(options, parts, book, dispatch);
    exit.closeFirst(watcher);
    const { env, log, redactor } = options;
    const sentence = () => (loop === null ? '' : redactor.mask(serviceSentence(loop.state)));
    const service = createServiceNotifier({ env, clock: parts.clock, log, status: sentence });
    const watchers: DecisionWatcher[] = [];
    const started = createLoop(options, { parts, exit, book, watcher, dispatch, service, watchers });
    loop = started;
    const status = openStatus(options, { parts, book, watcher, dispatch, loop: started });
    exit.closeFirst(status);
    watchers.push((event, before, after) => status.decided(event, before, after));
    const notify = openNotify(options, parts, book, status);
    exit.closeFirst(notify);
    watchers.push((_, before, after) => notify.decided(before, after));
    // Who works everything off and leaves waits for no news, and must not fail over the port of the daemon beside it.
    const webhooks = options.once ? null : await listenForWebhooks(options, parts, dispatch);
    if (webhooks) exit.closeFirst(webhooks);
    await begin(options, parts, { loop: started, inbox, status });
    exit.closeFirst(service);
    void service.ready();
    return {
      dispatch,
      exited: exit.exited,
      get state() {
        return started.state;
      },
    };
  } catch (error) {
    await exit.leave(2, true);
    throw error;
  }
}

interface LoopParts {
  readonly parts: Parts;
  readonly exit: Exit;
  readonly book: WorkflowVersions;
  readonly watcher: WorkflowWatcher;
  readonly dispatch: Dispatch;
  readonly service: ServiceNotifier;
  readonly watchers: readonly DecisionWatcher[];
}

/** Sees every decision: what happened, and the state before and after it. Must not throw. */
type DecisionWatcher = (event: OrchestratorEvent, before: State, after: State) => void;

function createLoop(options: DaemonOptions, loopParts: LoopParts): Loop {
  const { parts, exit, book, watcher, dispatch, service, watchers } = loopParts;
  const { log } = options;
  const { clock, store, durable, tracker, pool } = parts;
  const perform = createPerform(
    {
      clock,
      tracker,
      store,
      runner: pool,
      workflow: (hash) => book.get(hash),
      checkWorkflow: () => watcher.check(),
      log: (note) => {
        logNote(log, note);
        if (note.level !== 'debug') store.addEvent(historyEvent(note, clock.now().wallMs));
      },
      exit: (isForced) => void exit.leave(0, isForced),
    },
    dispatch,
  );
  const tellIdle = createIdleLog(log);
  let loop: Loop | null = null;
  const pruning = startPruning({
    store,
    transcripts: options.stateDir.transcripts,
    clock,
    log,
    keepDays: () => book.current.config.store.keepDays,
    liveRunIds: () => Object.keys(loop?.state.runs ?? {}),
  });
  const { wallMs } = clock.now();
  const fresh = initialState(
    book.current.config,
    book.current.hash,
    randomBytes(4).toString('hex'),
    wallMs,
    options.version,
  );
  clock.onSetBack((byMs) => dispatch({ type: 'clock_set_back', byMs }));
  const initial = restore(fresh, durable, wallMs);
  let before = initial;
  loop = new Loop({
    initial,
    clock,
    perform,
    onDecided: (event, state) => {
      if (event.type === 'observed') tellIdle(state, clock.now());
      if (event.type === 'run_exited') pruning.runEnded();
      if (event.type === 'shutdown_requested') service.stopping();
      for (const watch of watchers) watch(event, before, state);
      before = state;
      options.onDecided?.(event, state);
    },
    onFault: (error, event) => {
      service.faulted();
      log.fatal({ err: error, event: event.type }, 'internal error, ending to recover at the next start');
      void exit.leave(1, true);
    },
  });
  return loop;
}

type StatusLinks = Pick<LoopParts, 'parts' | 'book' | 'watcher' | 'dispatch'> & { readonly loop: Loop };

function openStatus(options: DaemonOptions, { parts, book, watcher, dispatch, loop }: StatusLinks): DaemonStatus {
  const { stateDir, version, env, redactor, log } = options;
  return new DaemonStatus({
    ...{ server: book.current.config.server, stateDir, version, env, parts, redactor, log, dispatch },
    state: () => loop.state,
    workflow: () => book.current,
    workflowFile: () => ({
      loadedAtMs: book.loadedAtMs,
      error: watcher.error,
      restartRequired: book.restartRequired,
    }),
  });
}

function openNotify(options: DaemonOptions, parts: Parts, book: WorkflowVersions, status: DaemonStatus): Notify {
  const { log, redactor, env, version } = options;
  const { clock, containment, store, tmpRoot } = parts;
  const stateDir = options.stateDir.path;
  const pricing = () => book.current.config.pricing;
  return startNotify({
    ...{ clock, log, redactor, env, version, containment, stateDir, tmpDir: tmpRoot },
    workflow: () => book.current,
    page: (identifier) => status.pageOf(identifier),
    dailyReport: () => dailyReport({ past: store.past, clock, stateDir, pricing }),
  });
}

function listenForWebhooks({ loaded, trackers, env, log }: DaemonOptions, { clock }: Parts, dispatch: Dispatch) {
  const { config } = loaded.workflow;
  const entry = trackers.entry(config.tracker.kind);
  const announce = () => dispatch({ type: 'change_announced' });
  return openWebhooks({ config, entry, env, clock, log, announce });
}

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

/** What happens before the daemon has begun waits for it: a changed file or a webhook must not be the first that the core hears of. */
export class Inbox {
  #early: OrchestratorEvent[] | null = [];
  #handle: Dispatch = () => {};

  readonly dispatch: Dispatch = (event) => {
    if (this.#early === null) this.#handle(event);
    else this.#early.push(event);
  };

  /** From now on events go there, those that wait first. */
  open(handle: Dispatch): void {
    const waiting = this.#early ?? [];
    this.#early = null;
    this.#handle = handle;
    for (const event of waiting) handle(event);
  }
}

/** Times change with every poll; a reason that differs in nothing else is the same. */
/** The same reason at another time is not logged again. */
const withoutTimes = (key: string, value: unknown) => (/^(?:since|until|\w+_at)$/.test(key) ? undefined : value);

/**
 * Says why nothing happens, once for each reason and only after a reading of the tracker: silence after "started" is what a person
 * wonders about most. Holds, failed polls and issues that wait have lines of their own.
 */
export function createIdleLog(log: Logger): (state: State, now: Instant) => void {
  let said = '';
  return (state, now) => {
    if (state.once !== null || state.shutdown !== null || state.poll.failure !== null) return;
    if (Object.keys(state.holds).length > 0) return;
    if (Object.values(state.claims).some(({ status }) => status.kind === 'waiting')) return;
    const idle = whyIdle(state, now, lineUp(state, now));
    const reason = idle === null ? '' : JSON.stringify(idle, withoutTimes);
    // What was decided is told after this: first what happened, such as that an issue is done, then that there is nothing more.
    if (idle !== null && reason !== said)
      queueMicrotask(() => log.info({ detail: idleText(idle) }, 'nothing to start'));
    said = reason;
  };
}
