import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { Loop } from '../orchestrator/loop.js';
import { createPerform } from '../orchestrator/perform.js';
import { restore } from '../orchestrator/restore.js';
import { initialState, type State } from '../orchestrator/state.js';
import { removeFolder } from '../runner/run-folder.js';
import { compilePrompt } from '../templates/render-prompt.js';
import { openParts, type Parts } from './daemon-parts.js';
import { BatonError } from './domain/errors.js';
import type { OrchestratorEvent } from './domain/events.js';
import type { Dispatch, Store } from './domain/ports.js';
import { withinLimit } from './domain/time-limit.js';
import { logNote } from './logging/log-note.js';
import type { Redactor } from './logging/redact.js';
import type { StateDir } from './state-dir.js';
import type { TrackerRegistry } from './tracker/registry.js';
import { type LoadedWorkflow, parseWorkflow } from './workflow/load-workflow.js';
import { type WorkflowWatcher, watchWorkflow } from './workflow/watch-workflow.js';
import { WorkflowBook } from './workflow-book.js';

/** A part that does not close in this time is left behind: nobody can hurry it, the loop that hears signals is closed already. */
const CLOSE_LIMIT_MS = 5_000;

export interface DaemonOptions {
  readonly loaded: LoadedWorkflow;
  readonly stateDir: StateDir;
  readonly trackers: TrackerRegistry;
  readonly log: Logger;
  readonly redactor: Redactor;
  readonly env: NodeJS.ProcessEnv;
  readonly homeDir: string;
  readonly version: string;
  readonly store?: Store;
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
  const { log, loaded } = options;
  compilePrompt(loaded.workflow.prompt);
  const dispatch: Dispatch = (event) => loop.dispatch(event);
  const parts = await openParts(options, dispatch);
  const { clock, store, tracker, pool } = parts;
  const book = new WorkflowBook(loaded.workflow);
  const watcher = await followWorkflow(options, parts, book, dispatch);
  const durable = await store.load();

  const exit = createExit(options, parts, watcher, () => loop.close());
  const perform = createPerform(
    {
      clock,
      tracker,
      store,
      runner: pool,
      workflow: (hash) => book.get(hash),
      checkWorkflow: () => watcher.check(),
      log: (note) => logNote(log, note),
      exit: (isForced) => void exit.leave(0, isForced),
    },
    dispatch,
  );
  const { wallMs } = clock.now();
  const fresh = initialState(book.current.config, book.current.hash, randomBytes(4).toString('hex'), wallMs);
  const loop: Loop = new Loop({
    initial: restore(fresh, durable, wallMs),
    clock,
    perform,
    onDecided: (event, state) => options.onDecided?.(event, state),
    onFault: (error, event) => {
      log.fatal({ err: error, event: event.type }, 'internal error, ending to recover at the next start');
      void exit.leave(1, true);
    },
  });
  clock.onSetBack((byMs) => dispatch({ type: 'clock_set_back', byMs }));

  for (const detail of options.redactor.ignored) log.warn({ detail }, 'a secret is not masked');
  const leftovers = (await store.owners.all()).filter((owner) => owner.scope === tracker.scope);
  log.info(
    {
      version: options.version,
      workflow: loaded.workflow.path,
      tracker: tracker.kind,
      workspaces: parts.root,
      state_dir: options.stateDir.path,
    },
    'started',
  );
  dispatch({ type: 'started', leftovers });
  await tracker.watch?.({
    onChange: () => dispatch({ type: 'refresh_requested' }),
    onError: ({ message }) =>
      log.warn({ detail: message }, 'tracker cannot be watched, edits are seen at the next poll'),
  });
  return {
    dispatch,
    exited: exit.exited,
    get state() {
      return loop.state;
    },
  };
}

/** New settings reach the core as an event; bad ones reach the log, and nothing else. */
function followWorkflow(
  options: DaemonOptions,
  { clock }: Parts,
  book: WorkflowBook,
  dispatch: Dispatch,
): Promise<WorkflowWatcher> {
  const { log, redactor, trackers, env, homeDir } = options;
  const trackerKinds = new Map(trackers.kinds.map((kind) => [kind, trackers.entry(kind).defaults]));
  const tellWarnings = (warnings: readonly string[]) => {
    for (const warning of warnings) log.warn({ detail: warning }, 'workflow warning');
  };
  tellWarnings(book.current.warnings);
  return watchWorkflow({
    path: book.current.path,
    initial: book.current,
    clock,
    load: async (file) => {
      const loaded = await parseWorkflow(file, { env, homeDir, trackerKinds });
      compilePrompt(loaded.workflow.prompt);
      return loaded;
    },
    onChange: ({ workflow, changes, restartRequired, literalSecrets }) => {
      for (const secret of literalSecrets) redactor.add(secret);
      log.info({ changes }, 'workflow changed, applies to what starts next');
      tellWarnings(workflow.warnings);
      if (restartRequired.length > 0)
        log.warn({ restart_required: restartRequired }, 'keys that need a restart keep their old values');
      book.take(workflow);
      dispatch({ type: 'config_changed', config: workflow.config, workflowHash: workflow.hash });
    },
    onError: ({ code, message }) =>
      log.error({ code, detail: message }, 'workflow is faulty, the last good settings stay'),
    onRecovered: () => log.info('workflow is good again'),
    onWatchError: ({ message }) =>
      log.warn({ detail: message }, 'workflow cannot be watched, looking before each poll'),
  });
}

/** Closes everything once, in the reverse order of the start. A part that does not close well is said, and the rest goes on. */
function createExit({ log }: DaemonOptions, parts: Parts, watcher: WorkflowWatcher, closeLoop: () => void) {
  let leaving: Promise<void> | null = null;
  let resolveExited = (_code: number): void => {};
  const exited = new Promise<number>((resolve) => {
    resolveExited = resolve;
  });
  const late = () => new BatonError('internal_error', `it did not close within ${CLOSE_LIMIT_MS} ms`);
  const closeAll = async (code: number, isForced: boolean) => {
    closeLoop();
    const bounded = (close: () => Promise<void>) =>
      withinLimit(parts.clock, CLOSE_LIMIT_MS, close, late).catch((error: unknown) =>
        log.error({ err: error }, 'a part did not close well'),
      );
    if (isForced) await bounded(() => parts.pool.killAll());
    for (const part of [watcher, parts.tracker, parts.runLog, parts.store]) await bounded(() => part.close());
    const litter = await removeFolder(parts.tmpRoot);
    if (litter) log.warn({ folder: parts.tmpRoot, detail: litter.message }, 'temporary folder could not be removed');
    parts.clock.close();
    log.info({ forced: isForced }, 'stopped');
    resolveExited(code);
  };
  return {
    exited,
    leave(code: number, isForced: boolean): Promise<void> {
      leaving ??= closeAll(code, isForced);
      return leaving;
    },
  };
}
