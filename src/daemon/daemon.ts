import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { Loop } from '../../orchestrator/loop.js';
import { createPerform } from '../../orchestrator/perform.js';
import { restore } from '../../orchestrator/restore.js';
import { initialState, type State } from '../../orchestrator/state.js';
import { compilePrompts } from '../../templates/prompts.js';
import { lineUp, whyIdle } from '../api/why-idle.js';
import { createClock } from '../clock.js';
import type { Instant } from '../domain/clock.js';
import type { Dispatch, OrchestratorEvent } from '../domain/events.js';
import { historyEvent } from '../domain/note.js';
import { logNote } from '../logging/logger.js';
import { idleText } from '../text/idle.js';
import type { WorkflowWatcher } from '../workflow/watch-workflow.js';
import { WorkflowVersions } from '../workflow/workflow-versions.js';
import { createDailyReport } from './daily-report.js';
import { followWorkflow } from './follow-workflow.js';
import { type Ending, keepOpen, type Lifetime, type LifetimeLinks } from './lifetimes.js';
import { type Notify, startNotify } from './notify.js';
import type { Daemon, DaemonOptions } from './options.js';
import { listenOnPort } from './port-listener.js';
import { startPruning } from './prune.js';
import { Reopening } from './reopening.js';
import { ResourceStack } from './resource-stack.js';
import { type DaemonResources, openResources } from './resources.js';
import { createServiceNotifier, type ServiceNotifier, serviceSentence } from './service.js';
import { EarlyEvents, startUp } from './start-up.js';
import { DaemonStatus } from './status.js';
import { openWebhooks } from './webhooks.js';

/** Starts the daemon. Throws `BatonError` when it cannot start. */
export function startDaemon(options: DaemonOptions): Promise<Daemon> {
  return keepOpen(options, openDaemon);
}

/** Opens all resources in order, starts the core, and closes everything in reverse when the core or a fault ends it. Throws `BatonError`. */
async function openDaemon(options: DaemonOptions, lifetime: LifetimeLinks): Promise<Lifetime> {
  const { locks, refused, isReopened, mayLackWebhooks, onReopening } = lifetime;
  const { env, log, redactor } = options;
  let loop: Loop | null = null;
  const sentence = () => (loop === null ? '' : redactor.mask(serviceSentence(loop.state)));
  const service = createServiceNotifier({ env, log, status: sentence });
  compilePrompts(options.loaded.workflow);
  const clock = createClock();
  const stack = new ResourceStack(clock, log);
  stack.add('clock', () => clock.close());
  const earlyEvents = new EarlyEvents();
  const { dispatch } = earlyEvents;
  const versions = new WorkflowVersions(options.loaded.workflow, Date.now());
  const resources = await openResources(options, {
    clock,
    versions,
    dispatch,
    locks,
    isReopened,
    stack,
  }).catch(async (error: unknown) => {
    await stack.closeAll(true);
    throw error;
  });
  const exit = new Exit(stack, log);
  try {
    const { containment, lockedWork: inUse } = resources;
    const reopening = new Reopening(options, { clock, locks, inUse, containment, dispatch, refused });
    stack.add('reopening', () => reopening.close());
    const { store, allowed } = resources;
    const follow = { clock, versions, dispatch, reopening, store, allowed };
    const watcher = await stack.open('workflow watcher', () => followWorkflow(options, follow));
    const watchers: DecisionWatcher[] = [];
    const core = createLoop(options, {
      resources,
      exit,
      reopening,
      versions,
      watcher,
      dispatch,
      service,
      watchers,
      onReopening,
    });
    loop = core;
    const links = { resources, reopening, versions, watcher, dispatch, state: () => core.state };
    const status = await stack.open('status', () => createStatus(options, links, lifetime));
    watchers.push((event, before, after) => status.decided(event, before, after));
    const notify = await stack.open('notices', () => openNotify(options, resources, versions, status));
    watchers.push((_, before, after) => notify.decided(before, after));
    // With --once no events are needed, and the port belongs to the daemon that runs beside it.
    if (!options.once) await listenForWebhooks(options, resources, dispatch, stack, mayLackWebhooks);
    stack.add('service', () => service.close());
    stack.add('runs', (isForced) => isForced && resources.pool.killAll());
    stack.add('loop', () => core.close());
    await startUp(options, resources, { loop: core, earlyEvents, status });
    service.ready();
    return {
      dispatch,
      ended: exit.ended,
      get page() {
        return status.page;
      },
      get state() {
        return core.state;
      },
    };
  } catch (error) {
    await exit.leave({ code: 2 }, true);
    throw error;
  }
}

/** Closes the daemon once. */
class Exit {
  /** Settles once everything is closed. */
  readonly ended: Promise<Ending>;
  #resolve: (ending: Ending) => void = () => {};
  #leaving: Promise<void> | null = null;

  constructor(
    private readonly stack: ResourceStack,
    private readonly log: Logger,
  ) {
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  leave(ending: Ending, isForced: boolean): Promise<void> {
    this.#leaving ??= this.stack.closeAll(isForced).then(() => {
      if ('code' in ending) this.log.info({ forced: isForced }, 'stopped');
      else this.log.info({ keys: ending.keys }, 'closed, opening again with the changed settings');
      this.#resolve(ending);
    });
    return this.#leaving;
  }
}

/** Called after every decision with the event and the states around it. Must not throw. */
type DecisionWatcher = (event: OrchestratorEvent, before: State, after: State) => void;

interface LoopLinks {
  readonly resources: DaemonResources;
  readonly exit: Exit;
  readonly reopening: Reopening;
  readonly versions: WorkflowVersions;
  readonly watcher: WorkflowWatcher;
  readonly dispatch: Dispatch;
  readonly service: ServiceNotifier;
  readonly watchers: readonly DecisionWatcher[];
  onReopening(): void;
}

function createLoop(options: DaemonOptions, links: LoopLinks): Loop {
  const { resources, exit, reopening, versions, watcher, dispatch, service, watchers, onReopening } = links;
  const { log } = options;
  const { clock, store, durable, tracker, pool } = resources;
  const perform = createPerform(
    {
      clock,
      tracker,
      store,
      runner: pool,
      workflow: (hash) => versions.get(hash),
      checkWorkflow: () => watcher.check(),
      log: (note) => {
        logNote(log, note);
        if (note.level !== 'debug') store.addEvent(historyEvent(note, clock.now().wallMs));
      },
      exit: (isForced) => void exit.leave({ code: 0 }, isForced),
      reopen: () => {
        onReopening();
        const current = { ...options.loaded, workflow: versions.current };
        const { next } = reopening;
        void exit.leave({ next: next ?? current, current, keys: versions.waitingKeys }, false);
      },
    },
    dispatch,
  );
  const logIdle = createIdleLog(log);
  let loop: Loop | null = null;
  const pruning = startPruning({
    store,
    transcripts: options.stateDir.transcripts,
    clock,
    log,
    keepDays: () => versions.current.config.store.keepDays,
    liveRunIds: () => Object.keys(loop?.state.runs ?? {}),
  });
  const { wallMs } = clock.now();
  const { config, hash } = versions.current;
  const fresh = initialState(config, hash, randomBytes(4).toString('hex'), wallMs, options.version);
  clock.onSetBack((byMs) => dispatch({ type: 'clock_set_back', byMs }));
  const initial = restore(fresh, durable, wallMs);
  let before = initial;
  loop = new Loop({
    initial,
    clock,
    perform,
    onDecided: (event, state) => {
      if (event.type === 'observed') logIdle(state, clock.now());
      if (event.type === 'run_exited') pruning.runEnded();
      if (event.type === 'shutdown_requested') service.stopping();
      for (const watch of watchers) watch(event, before, state);
      before = state;
      options.onDecided?.(event, state);
    },
    onFault: (error, event) => {
      service.faulted();
      log.fatal({ err: error, event: event.type }, 'internal error, ending to recover at the next start');
      void exit.leave({ code: 1 }, true);
    },
  });
  return loop;
}

type StatusLinks = Pick<LoopLinks, 'resources' | 'reopening' | 'versions' | 'watcher' | 'dispatch'> & {
  state(): State;
};

function createStatus(
  options: DaemonOptions,
  links: StatusLinks,
  { httpToken, mayLackPage }: Pick<LifetimeLinks, 'httpToken' | 'mayLackPage'>,
): DaemonStatus {
  const { stateDir, version, env, redactor, log } = options;
  const { resources, reopening, versions, watcher, dispatch, state } = links;
  return new DaemonStatus({
    ...{ server: versions.current.config.server, stateDir, version, env, resources, redactor, log, dispatch, state },
    ...{ httpToken, mayLackPage },
    workflow: () => versions.current,
    workflowFile: () => ({
      loadedAtMs: versions.loadedAtMs,
      error: watcher.error,
      held: watcher.held,
      waitingKeys: reopening.refused?.keys ?? versions.waitingKeys,
      waitingError: reopening.refused?.error ?? null,
    }),
    allow: (hash) => watcher.allow(hash),
  });
}

function openNotify(
  options: DaemonOptions,
  resources: DaemonResources,
  versions: WorkflowVersions,
  status: DaemonStatus,
): Notify {
  const { log, redactor, env, version } = options;
  const { clock, containment, store, tmpRoot } = resources;
  const stateDir = options.stateDir.path;
  const pricing = () => versions.current.config.pricing;
  return startNotify({
    ...{ clock, log, redactor, env, version, containment, stateDir, tmpDir: tmpRoot },
    workflow: () => versions.current,
    page: (identifier) => status.pageOf(identifier),
    createDailyReport: () => createDailyReport({ past: store.past, clock, stateDir, pricing }),
  });
}

async function listenForWebhooks(
  { loaded, trackers, env, log }: DaemonOptions,
  { clock }: DaemonResources,
  dispatch: Dispatch,
  stack: ResourceStack,
  mayLack: boolean,
): Promise<void> {
  const { config } = loaded.workflow;
  const entry = trackers.entry(config.tracker.kind);
  const announce = () => dispatch({ type: 'change_announced' });
  await stack.open('webhooks', () =>
    listenOnPort({
      ...{ clock, log, mayLack },
      lacking: 'the port of the webhooks is taken, the daemon goes on without them',
      listen: () => openWebhooks({ config, entry, env, clock, log, announce }),
    }),
  );
}

/** Times change with every poll. The same reason at another time is not logged again. */
const withoutTimes = (key: string, value: unknown) => (/^(?:since|until|\w+_at)$/.test(key) ? undefined : value);

/**
 * Logs why nothing is started, once for each reason and only after a poll: users wonder most about silence after "started". Holds,
 * failed polls and waiting issues have log lines of their own.
 */
function createIdleLog(log: Logger): (state: State, now: Instant) => void {
  let lastReason = '';
  return (state, now) => {
    if (state.once !== null || state.shutdown !== null || state.poll.failure !== null) return;
    if (Object.keys(state.holds).length > 0) return;
    if (Object.values(state.claims).some(({ status }) => status.kind === 'waiting')) return;
    const idle = whyIdle(state, now, lineUp(state, now));
    const reason = idle === null ? '' : JSON.stringify(idle, withoutTimes);
    // Deferred, so that the line comes after the lines of the decision itself, such as the end of an issue.
    if (idle !== null && reason !== lastReason)
      queueMicrotask(() => log.info({ detail: idleText(idle) }, 'nothing to start'));
    lastReason = reason;
  };
}
