import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { runOf } from '../../orchestrator/state.js';
import { detectContainment } from '../../runner/contain/detect-containment.js';
import type { Containment } from '../../runner/contain/process.js';
import { readBootId, reap, stillAlive } from '../../runner/contain/reap.js';
import { CapabilityManager, createCapabilityExecutor } from '../../runner/executors/capability/capability-manager.js';
import { discoverCapabilities } from '../../runner/executors/capability/definitions.js';
import { createCodexExecutor } from '../../runner/executors/codex/codex-executor.js';
import type { Executors } from '../../runner/executors/executors.js';
import { createExternalExecutor } from '../../runner/executors/external/external-executor.js';
import { createAgentServiceExecutor } from '../../runner/executors/http/agent-service-executor.js';
import { createCodeExecutor } from '../../runner/executors/http/code-executor.js';
import { createLlmExecutor } from '../../runner/executors/http/llm-executor.js';
import { createToolExecutor } from '../../runner/executors/http/tool-executor.js';
import { OpenRuns } from '../../runner/open-runs.js';
import { makeDaemonFolder } from '../../runner/run-folder.js';
import { combineObservers } from '../../runner/run-observer.js';
import { RunPool } from '../../runner/run-pool.js';
import { assertRunnable } from '../../runner/steps/run-plan.js';
import { saveWorkOf } from '../../runner/workspace/remove-workspace.js';
import { openWorkspaceRoot } from '../../runner/workspace/workspace-root.js';
import { createWorkspaces } from '../../runner/workspace/workspaces.js';
import { loadContinuation } from '../../templates/prompts.js';
import { Activity } from '../api/activity.js';
import { createClock, type SystemClock } from '../clock.js';
import type { TrackerConfig } from '../domain/config.js';
import type { Durable } from '../domain/durable.js';
import { BatonError } from '../domain/errors.js';
import type { Dispatch } from '../domain/events.js';
import { labelKey } from '../domain/issue.js';
import type { IssueLocks, Store, Tracker } from '../domain/ports.js';
import type { Workflow } from '../domain/workflow.js';
import { defaultConfigDir } from '../state-dir.js';
import { type Locks, takeLocks } from '../store/instance-lock.js';
import { openIssueLocks } from '../store/issue-locks.js';
import { openSqliteStore } from '../store/sqlite-store.js';
import { updateIssueTool } from '../tracker/update-issue.js';
import { resolveSecret } from '../workflow/provider-secrets.js';
import type { WorkflowVersions } from '../workflow/workflow-versions.js';
import type { DaemonOptions } from './daemon.js';
import { RunLog } from './run-log.js';
import { openTracker } from './tracker.js';

/** Everything that the daemon opens at its start and closes at its end. */
export interface Parts {
  readonly clock: SystemClock;
  readonly store: Store;
  /** What was stored when the daemon started. */
  readonly durable: Durable;
  readonly tracker: Tracker;
  readonly root: string;
  readonly runLog: RunLog;
  /** What runs are doing right now. */
  readonly activity: Activity;
  /** Temporary folders of runs; removed at the end. */
  readonly tmpRoot: string;
  /** What a killed daemon left of its own is gone. */
  readonly tidied: Promise<void>;
  readonly pool: RunPool;
  readonly containment: Containment;
  readonly capabilities: CapabilityManager;
  readonly openRuns: OpenRuns;
  readonly issueLocks: IssueLocks;
  readonly locks: Locks;
}

/** Opens the parts in the order in which they can fail most cheaply: settings, tracker, folders, processes. */
export async function openParts(options: DaemonOptions, book: WorkflowVersions, dispatch: Dispatch): Promise<Parts> {
  const { stateDir, homeDir } = options;
  const { workflow } = options.loaded;
  let containment: Containment | null = null;
  const tracker = openTracker(options, {
    settings: () => book.current.config.tracker,
    containment: async () => {
      if (containment === null)
        throw new BatonError('internal_error', 'The tracker was asked before the daemon is up.');
      return containment;
    },
  });
  const onContained = (found: Containment) => {
    containment = found;
  };
  const root = await openWorkspaceRoot({
    root: workflow.config.workspace.root,
    workflowDir: workflow.dir,
    home: homeDir,
  });
  // From here on nobody else touches these workspaces, this state and these issues.
  const since = new Date().toISOString();
  const holder = { pid: process.pid, since, workflow: workflow.path, stateDir: stateDir.path };
  // In the folder that it is about: who comes from another home finds it there, and nobody else may end what runs on this state.
  const stateLock = await takeLocks({ keys: [`the state in ${stateDir.path}`], dir: stateDir.path, holder });
  const keys = [`the workspaces in ${root}`, issuesKey(tracker, workflow.config.tracker)];
  const otherLocks = await takeLocks({ keys, dir: options.lockDir, holder }).catch(async (error: unknown) => {
    await stateLock.release();
    throw error;
  });
  const locks = {
    async release() {
      await otherLocks.release();
      await stateLock.release();
    },
  };
  return openLocked(options, dispatch, { tracker, root, locks, onContained }).catch(async (error: unknown) => {
    await locks.release();
    throw error;
  });
}

type Locked = Pick<Parts, 'tracker' | 'root' | 'locks'> & { onContained(containment: Containment): void };
type Stored = Locked & Pick<Parts, 'clock' | 'store'>;

async function openLocked(options: DaemonOptions, dispatch: Dispatch, locked: Locked): Promise<Parts> {
  const { stateDir, log, redactor } = options;
  const store =
    options.store ??
    openSqliteStore({
      dir: stateDir.path,
      clean: (json) => redactor.maskJson(json),
      onWarning: ({ message, path }) => log.error({ path, detail: message }, 'part of the stored state is lost'),
    });
  const clock = createClock();
  return openStored(options, dispatch, { ...locked, store, clock }).catch(async (error: unknown) => {
    await locked.tracker.close().catch(() => {}); // That it cannot start is what matters.
    await store.close().catch(() => {});
    clock.close();
    throw error;
  });
}

async function openStored(options: DaemonOptions, dispatch: Dispatch, stored: Stored): Promise<Parts> {
  const { stateDir, log, redactor, env } = options;
  const { workflow } = options.loaded;
  const { tracker, root, locks, store, clock } = stored;
  const detected = await detectContainment({
    isolation: workflow.config.runtime.isolation,
    hide: [stateDir.path, options.lockDir, ...(await serviceSecrets(options))],
    clock,
  });
  tellIsolation(log, detected);
  const durable = await store.load();
  const { openRuns, survivors } = await reapEarlier(store, durable, stateDir.path, log);
  const containment = { ...detected, trace: openRuns };
  stored.onContained(containment);
  const workspaces = createWorkspaces({ root, scope: tracker.scope, owners: store.owners });
  const activity = new Activity();
  const runLog = new RunLog(log, stateDir.transcripts, redactor, activity);
  const { path: tmpRoot, tidied } = await makeDaemonFolder(join(stateDir.path, 'tmp-folder'));
  const observer = combineObservers([runLog, options.observer ?? {}]);
  const issueLocks = openIssueLocks({ dir: options.lockDir, scope: tracker.scope, workflow: workflow.path });
  const shared = { clock, containment, baseEnv: env, observer, openRuns, survivors, issueLocks };
  const { capabilities, ...executorParts } = openExecutors(options);
  const pool = new RunPool({
    ...shared,
    dispatch,
    tmpRoot,
    workspaces,
    tracker,
    tools: ({ config }) => [updateIssueTool(tracker, config.tracker), ...tracker.tools()],
    continuation: loadContinuation(),
    saveWork: saveWorkOf({ ...shared, saveDir: stateDir.saved }),
    ...executorParts,
  });
  const warn = (what: string) => (error: Error) => log.warn({ detail: error.message }, what);
  // A large one takes its time, and nothing waits for it.
  void workspaces.emptyTrash().catch(warn('half-deleted workspaces could not be removed'));
  return {
    ...{ clock, store, durable, tracker, root, runLog, activity, tmpRoot, tidied },
    ...{ pool, containment, capabilities, openRuns, issueLocks, locks },
  };
}

/** The variables of services lie in the home of the same user: agents have no business there. */
async function serviceSecrets({ env, homeDir }: DaemonOptions): Promise<string[]> {
  const dir = defaultConfigDir(env, homeDir);
  const isFolder = await stat(dir).then(
    (found) => found.isDirectory(),
    () => false,
  );
  return isFolder ? [dir] : [];
}

/** Two daemons may share a tracker as long as labels keep their issues apart. */
function issuesKey({ scope }: Tracker, { requiredLabels, provider }: TrackerConfig): string {
  const labels = requiredLabels.map(labelKey).sort();
  const assignee = typeof provider.assignee === 'string' ? ` of ${provider.assignee}` : '';
  return `the issues of ${scope}${assignee}${labels.length === 0 ? '' : ` with the labels ${labels.join(', ')}`}`;
}

function tellIsolation(log: Logger, { kind, reason }: Containment): void {
  log[kind === 'pidns' ? 'info' : 'warn']({ isolation: kind, detail: reason }, 'isolation of runs');
  if (process.geteuid?.() === 0) {
    log.warn('running as root: agents are root too and can undo their isolation, better use an ordinary user');
  }
}

/** Everything that can run a step, and what the steps of a workflow need besides. */
interface ExecutorParts {
  readonly executors: Executors;
  readonly capabilities: CapabilityManager;
  checkPlan(workflow: Workflow): Promise<void>;
  secret(written: string): string | null;
}

function openExecutors(options: DaemonOptions): ExecutorParts {
  const { env, homeDir, redactor, version } = options;
  const capabilities = new CapabilityManager({
    discover: (projectDir) => discoverCapabilities({ projectDir, homeDir }),
  });
  return {
    capabilities,
    executors: {
      agentCli: createCodexExecutor({ version }),
      agentHttp: createAgentServiceExecutor(),
      external: createExternalExecutor(),
      capability: createCapabilityExecutor(capabilities),
      llm: createLlmExecutor(),
      tool: createToolExecutor(),
      code: createCodeExecutor(),
    },
    checkPlan: (workflow) => assertRunnable(workflow.plan, () => capabilities.refresh(workflow.dir)),
    secret(written) {
      const value = resolveSecret(written, env);
      if (value !== null) redactor.add(value);
      return value;
    },
  };
}

interface ReapedRuns {
  readonly openRuns: OpenRuns;
  /** Pids of a run of an earlier daemon that outlive SIGKILL. */
  survivors(runId: string): Promise<readonly number[]>;
}

/**
 * Ends every process that an earlier daemon on this state directory left, before anything else happens. We hold the lock of the
 * directory, so that daemon is dead.
 */
async function reapEarlier(store: Store, { claims }: Durable, stateDir: string, log: Logger): Promise<ReapedRuns> {
  const daemonMarker = createHash('sha256').update(stateDir).digest('hex').slice(0, 16);
  const [left, bootId] = await Promise.all([store.openRuns.all(), readBootId()]);
  const runMarkers = new Set(Object.values(claims).flatMap((claim) => runOf(claim)?.runId ?? []));
  const { killed, survivors } = await reap({ daemonMarker, runMarkers, openRuns: left, bootId });
  if (killed > 0) log.warn({ processes: killed }, 'ended processes that an earlier daemon left');
  for (const [marker, processes] of survivors)
    log.error(
      { marker, pids: processes.map(({ pid }) => pid) },
      'processes of an earlier daemon outlive SIGKILL, look for a hung disk or device',
    );
  return {
    openRuns: new OpenRuns(
      {
        store: store.openRuns,
        daemonMarker,
        bootId,
        onTrouble: ({ message }) => log.warn({ detail: message }, 'what a run has under way could not be noted down'),
      },
      left,
    ),
    survivors: (runId) => stillAlive(survivors.get(runId) ?? []),
  };
}
