import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { runOf } from '../../orchestrator/state.js';
import { detectContainment } from '../../runner/contain/detect-containment.js';
import { isAtOrBelow } from '../../runner/contain/hidden-directories.js';
import type { Containment, HiddenDirectory, LimitSettings } from '../../runner/contain/process.js';
import { readBootId, reap, stillAlive } from '../../runner/contain/reap.js';
import { type LimitMeans, limitsText, machineMemoryMb, RunLimits } from '../../runner/contain/run-limits.js';
import { createLeftoverCheck } from '../../runner/end-leftovers.js';
import type { CapabilityManager } from '../../runner/executors/capability/capability-manager.js';
import { OpenRuns } from '../../runner/open-runs.js';
import { makeDaemonFolder } from '../../runner/run-folder.js';
import { combineObservers } from '../../runner/run-observer.js';
import type { RunPool } from '../../runner/run-pool.js';
import { openWorkspaceRoot } from '../../runner/workspace/workspace-root.js';
import { createWorkspaces, type Workspaces } from '../../runner/workspace/workspaces.js';
import { loadContinuation } from '../../templates/prompts.js';
import { Activity } from '../api/activity.js';
import type { SystemClock } from '../clock.js';
import type { Clock } from '../domain/clock.js';
import type { TrackerConfig } from '../domain/config.js';
import type { Durable } from '../domain/durable.js';
import { BatonError } from '../domain/errors.js';
import type { Dispatch } from '../domain/events.js';
import type { HostTool, Store, Tracker } from '../domain/ports.js';
import type { AllowedContent } from '../domain/workflow.js';
import { stateKey } from '../store/instance-lock.js';
import { openIssueLocks } from '../store/issue-locks.js';
import { openSqliteStore } from '../store/sqlite-store.js';
import { inertTool } from '../tracker/inert-tool.js';
import { updateIssueTool } from '../tracker/update-issue.js';
import { assertCodeFiles } from '../workflow/code-files.js';
import type { WorkflowVersions } from '../workflow/workflow-versions.js';
import { type DaemonLock, type DaemonLocks, workLocks } from './daemon-locks.js';
import { openHiddenFolders } from './hidden-folders.js';
import { isolationFault, secretsInEnvironment } from './isolation.js';
import { knownSecretsOf } from './known-secrets.js';
import type { DaemonOptions } from './options.js';
import type { ResourceStack } from './resource-stack.js';
import { RunLog } from './run-log.js';
import { openTracker } from './tracker.js';
import { admitWorkflow } from './workflow-gate.js';

/** Everything that the daemon opens at its start. */
export interface DaemonResources {
  readonly clock: SystemClock;
  readonly store: Store;
  /** The content of WORKFLOW.md that was allowed last. */
  readonly allowed: AllowedContent;
  /** The state that was stored when the daemon started. */
  readonly durable: Durable;
  readonly tracker: Tracker;
  /** The folder of all workspaces. */
  readonly root: string;
  /** What runs are doing now. */
  readonly activity: Activity;
  /** The daemon's temporary folder. */
  readonly tmpRoot: string;
  readonly pool: RunPool;
  readonly containment: Containment;
  readonly capabilities: CapabilityManager;
  readonly openRuns: OpenRuns;
  readonly workspaces: Workspaces;
  /** The locks that the daemon holds. */
  readonly lockedWork: readonly DaemonLock[];
}

interface ResourceLinks {
  readonly clock: SystemClock;
  readonly versions: WorkflowVersions;
  readonly dispatch: Dispatch;
  readonly locks: DaemonLocks;
  readonly isReopened: boolean;
  /** Closes the resources. */
  readonly stack: ResourceStack;
}

/**
 * Opens the resources in the order in which they fail most cheaply: settings, tracker, folders, locks, store, processes. After an error
 * the caller closes the stack. Throws `BatonError`.
 */
export async function openResources(options: DaemonOptions, links: ResourceLinks): Promise<DaemonResources> {
  const { stateDir, homeDir, log, redactor } = options;
  const { clock, versions, dispatch, stack } = links;
  const { workflow } = options.loaded;
  let containment: Containment | null = null;
  const tracker = await openTracker(options, {
    settings: () => versions.current.config.tracker,
    checkFiles: () => assertCodeFiles(versions.current, 'tracker'),
    containment: async () => {
      if (containment === null)
        throw new BatonError('internal_error', 'the tracker was used before the daemon has started');
      return containment;
    },
  });
  const root = await openWorkspaceRoot({
    root: workflow.config.workspace.root,
    workflowDir: workflow.dir,
    home: homeDir,
  });
  const lockedWork = await lock(options, tracker, root, links.locks);
  // From here on no other daemon uses these workspaces, this state or these issues.
  const folder = await makeDaemonFolder(join(stateDir.path, 'tmp-folder'));
  stack.add('temporary folder', async () => {
    const error = await folder.remove();
    if (error) log.warn({ folder: folder.path, detail: error.message }, 'temporary folder could not be removed');
  });
  const detecting = detect(options, clock);
  // A failure counts where the result is needed; no trial outlives a start that fails before.
  const tried = detecting.then(noop, noop);
  stack.add('trial of the isolation', () => tried);
  const issueLocks = await stack.open('issue locks', () =>
    openIssueLocks({ dir: options.lockDir, scope: tracker.scope, workflow: workflow.path }),
  );
  const store = await stack.open(
    'store',
    () =>
      options.store ??
      openSqliteStore({
        dir: stateDir.path,
        clean: (json) => redactor.maskJson(json),
        onWarning: ({ message, path }) => log.error({ path, detail: message }, 'part of the stored state is lost'),
      }),
  );
  const allowed = await admitWorkflow(options, store, links.isReopened);
  const activity = new Activity();
  const runLog = await stack.open('run log', () => new RunLog(log, stateDir.transcripts, redactor, activity));
  stack.add('tracker', () => tracker.close());

  // Loaded now, because the trial of the isolation keeps other processes busy, not this one.
  const { createExecutors, createWorkSaver, RunPool } = await import('./runs.js');
  const detected = await detecting;
  if (detected.kind === 'pidns') refuseHiddenRoot(root, detected.hide);
  const fault = isolationFault(detected, workflow, options.env);
  if (fault) throw fault;
  logIsolation(log, detected, secretsInEnvironment(workflow, options.env));
  const released = await store.useTracker(tracker.scope);
  if (released > 0)
    log.warn(
      { issues: released, tracker: tracker.scope },
      'another tracker: what was claimed in the last one is released',
    );
  const durable = await store.load();
  const { openRuns, survivors } = await reapEarlier(store, durable, stateDir.path, log);
  folder.removeEarlier();
  // After the reaping, which ends the processes in the groups of an earlier daemon.
  const limits = await RunLimits.open(detected, (message, fields) => log.warn(fields, message));
  logLimits(log, limits.means, workflow.config.runtime);
  containment =
    detected.kind === 'pidns'
      ? { ...detected, hide: [...detected.hide, ...limits.hide], trace: openRuns, limits }
      : { ...detected, trace: openRuns, limits };
  const workspaces = createWorkspaces({ root, scope: tracker.scope });
  await workspaces.removeHookFolders();
  await workspaces.takeOver(await store.formerOwners.all());
  await store.formerOwners.clear();
  const observer = combineObservers([runLog, options.observer ?? {}]);
  const { capabilities, ...executors } = createExecutors(options);
  stack.add('capabilities', () => capabilities.close());
  const shared = { clock, containment, baseEnv: options.env, observer };
  const pool = new RunPool({
    ...{ ...shared, openRuns, survivors, issueLocks, dispatch, workspaces, tracker },
    tmpRoot: folder.path,
    tools: ({ config }) => toolsOf(tracker, config.tracker),
    continuation: loadContinuation(),
    knownSecrets: knownSecretsOf(options),
    saveWork: createWorkSaver({ ...shared, workspaces, saveDir: stateDir.saved }),
    endLeftovers: createLeftoverCheck(containment, observer),
    ...executors,
  });
  // Not awaited: a large workspace takes a while to delete, and nothing depends on it.
  void workspaces
    .emptyTrash()
    .catch(({ message }: Error) => log.warn({ detail: message }, 'half-deleted workspaces could not be removed'));
  return {
    ...{ clock, store, allowed, durable, tracker, root, activity, tmpRoot: folder.path },
    ...{ pool, containment, capabilities, openRuns, workspaces, lockedWork },
  };
}

/** Tries out the isolation of runs. */
async function detect({ loaded, stateDir, lockDir, env, homeDir }: DaemonOptions, clock: Clock): Promise<Containment> {
  const { isolation } = loaded.workflow.config.runtime;
  const hidden = await openHiddenFolders({ stateDir: stateDir.path, lockDir, env, homeDir });
  return detectContainment({ isolation, ...hidden, lockDir, clock });
}

const noop = () => {};

/** Takes the locks on the state, the workspaces and the issues. Throws `already_running`. */
async function lock(
  { loaded, stateDir, lockDir, homeDir }: DaemonOptions,
  tracker: Tracker,
  root: string,
  locks: DaemonLocks,
): Promise<readonly DaemonLock[]> {
  // The lock on the state allows reaping processes. It lies in the state directory, where a daemon with another home finds it too.
  const state = { key: stateKey(stateDir.path), dir: stateDir.path };
  const config = loaded.workflow.config.tracker;
  const wanted = [state, ...workLocks({ root, tracker, config, lockDir, homeDir })];
  await locks.take(wanted);
  await locks.keepOnly(wanted);
  return wanted;
}

/** Such a workspace would be hidden from its own runs. Throws `invalid_workspace_root`. */
function refuseHiddenRoot(root: string, hide: readonly HiddenDirectory[]): void {
  const around = hide.find(({ path }) => isAtOrBelow(root, path));
  if (around === undefined) return;
  const message = `workspace.root ${root} lies in ${around.path}, which no run may see: choose a folder elsewhere`;
  throw new BatonError('invalid_workspace_root', message, { root });
}

function logIsolation(log: Logger, { kind, reason }: Containment, secrets: readonly string[]): void {
  const readable = kind === 'none' && secrets.length > 0 ? { readable_by_agents: secrets } : {};
  log[kind === 'pidns' ? 'info' : 'warn']({ isolation: kind, detail: reason, ...readable }, 'isolation of runs');
  if (process.geteuid?.() === 0) {
    log.warn('running as root: agents are root too and can undo their isolation, better use an ordinary user');
  }
}

function logLimits(log: Logger, means: LimitMeans, settings: LimitSettings): void {
  log.info({ detail: limitsText(settings, means, machineMemoryMb()) }, 'limits of runs');
}

/** The tools that agents may call. They run on the host. */
function toolsOf(tracker: Tracker, config: TrackerConfig): readonly HostTool[] {
  const tools = [updateIssueTool(tracker, config), ...tracker.tools()];
  return config.mentions ? tools : tools.map((tool) => inertTool(tool, config.kind));
}

interface ReapedRuns {
  readonly openRuns: OpenRuns;
  /** Pids of a run of an earlier daemon that survive SIGKILL. */
  survivors(runId: string): Promise<readonly number[]>;
}

/**
 * Ends every process that an earlier daemon on this state directory has left behind. This daemon holds the lock of the directory, so the
 * earlier one is dead.
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
        onError: ({ message }) => log.warn({ detail: message }, 'the processes of a run could not be recorded'),
      },
      left,
    ),
    survivors: (runId) => stillAlive(survivors.get(runId) ?? []),
  };
}
