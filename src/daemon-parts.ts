import type { Logger } from 'pino';
import { detectContainment } from '../runner/contain/detect-containment.js';
import { createCodexExecutor } from '../runner/executors/codex/codex-executor.js';
import type { Containment } from '../runner/process.js';
import { makeDaemonFolder } from '../runner/run-folder.js';
import { RunPool } from '../runner/run-pool.js';
import { saveWorkOf } from '../runner/save-removed-work.js';
import { openWorkspaceRoot } from '../runner/workspace-root.js';
import { createWorkspaces } from '../runner/workspaces.js';
import { loadContinuation } from '../templates/continuation.js';
import { createClock, type SystemClock } from './clock.js';
import type { DaemonOptions } from './daemon.js';
import { RunLog } from './daemon-run-log.js';
import type { Dispatch, Store, Tracker } from './domain/ports.js';
import { pruneTranscripts } from './logging/prune-transcripts.js';
import { createMemoryStore } from './store/memory-store.js';
import { updateIssueTool } from './tracker/update-issue.js';
import { resolveSecret } from './workflow/provider-secrets.js';

const TRANSCRIPTS_KEPT = 500;

/** Everything that the daemon opens at its start and closes at its end. */
export interface Parts {
  readonly clock: SystemClock;
  readonly store: Store;
  readonly tracker: Tracker;
  readonly root: string;
  readonly runLog: RunLog;
  /** Temporary folders of runs; removed at the end. */
  readonly tmpRoot: string;
  readonly pool: RunPool;
}

/** Opens the parts in the order in which they can fail most cheaply: settings, tracker, folders, processes. */
export async function openParts(options: DaemonOptions, dispatch: Dispatch): Promise<Parts> {
  const { stateDir, log, redactor, env, homeDir, version } = options;
  const { workflow } = options.loaded;
  const tracker = openTracker(options);
  const root = await openWorkspaceRoot({
    root: workflow.config.workspace.root,
    workflowDir: workflow.dir,
    home: homeDir,
  });
  const clock = createClock();
  const containment = await detectContainment({
    isolation: workflow.config.runtime.isolation,
    hide: [stateDir.path],
    clock,
  });
  tellIsolation(log, containment);

  const store = options.store ?? createMemoryStore();
  const workspaces = createWorkspaces({ root, scope: tracker.scope, owners: store.owners });
  const runLog = new RunLog(log, stateDir.transcripts, redactor);
  const tmpRoot = await makeDaemonFolder();
  const shared = { clock, containment, baseEnv: env, observer: runLog };
  const pool = new RunPool({
    ...shared,
    dispatch,
    tmpRoot,
    workspaces,
    tracker,
    tools: ({ config }) => [updateIssueTool(tracker, config.tracker), ...tracker.tools()],
    continuation: loadContinuation(),
    saveWork: saveWorkOf({ ...shared, saveDir: stateDir.saved }),
    executor: createCodexExecutor({
      version,
      onStderr: (runId, text) => runLog.agentStderr(runId, text),
      onUnkillable: (runId) => dispatch({ type: 'run_unkillable', runId }),
    }),
  });
  const warn = (what: string) => (error: Error) => log.warn({ detail: error.message }, what);
  await workspaces.emptyTrash().catch(warn('half-deleted workspaces could not be removed'));
  await pruneTranscripts(stateDir.transcripts, { keep: TRANSCRIPTS_KEPT }).catch(
    warn('old transcripts could not be removed'),
  );
  return { clock, store, tracker, root, runLog, tmpRoot, pool };
}

/** Whatever is read as a secret is masked from then on. */
function openTracker({ loaded, trackers, env, redactor }: DaemonOptions): Tracker {
  const { config, dir, secretNames } = loaded.workflow;
  const secret = (name: string) => {
    const value = resolveSecret(`$${name}`, env);
    if (value !== null) redactor.add(value);
    return value;
  };
  for (const name of secretNames) secret(name);
  for (const literal of loaded.literalSecrets) redactor.add(literal);
  return trackers.entry(config.tracker.kind).create({ config: config.tracker, env, dir, secret });
}

function tellIsolation(log: Logger, { kind, reason }: Containment): void {
  log[kind === 'pidns' ? 'info' : 'warn']({ isolation: kind, detail: reason }, 'isolation of runs');
  if (process.geteuid?.() === 0) {
    log.warn('running as root: agents are root too and can undo their isolation, better use an ordinary user');
  }
}
