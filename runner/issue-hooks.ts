import { rm } from 'node:fs/promises';
import { hookVariables, writeIssueFile } from '../hooks/hook-variables.js';
import { abortsOnFailure, runHook } from '../hooks/run-hook.js';
import type { HookName } from '../src/domain/config.js';
import { BatonError } from '../src/domain/errors.js';
import type { Issue } from '../src/domain/issue.js';
import type { Workflow } from '../src/domain/workflow.js';
import { captureOutput } from './contain/capture-output.js';
import type { ContainedProcess, StopResult } from './contain/process.js';
import { spawnContained } from './contain/spawn-contained.js';
import { readHeldPush, writeDeliveryFile } from './delivery.js';
import { hookEnvironment } from './environment.js';
import { HELD } from './git/delivery-file.js';
import type { HeldPush } from './git/review-push.js';
import type { RunServices } from './run-context.js';
import type { Workspace } from './workspace/workspace-folder.js';

const MAX_OUTPUT_BYTES = 64 * 1024;
const DRAIN_MS = 1_000;

type HookServices = Pick<
  RunServices,
  'workspaces' | 'clock' | 'containment' | 'baseEnv' | 'observer' | 'checkFiles' | 'knownSecrets'
>;

/** What the hooks run for. */
interface HookTarget {
  readonly workflow: Workflow;
  readonly issue: Issue;
  readonly workspace: Workspace;
  readonly tmpDir: string;
  /** Null when a workspace is removed outside of any run. */
  readonly runId: string | null;
  /** Marks the processes: the run's id, or the id of the removal. */
  readonly marker: string;
  readonly attempt: number | null;
  /** Called when processes of a hook survive SIGKILL. `run` settles only once they are gone. */
  onUnkillable(survivors: readonly number[]): void;
}

interface HookRun extends HookTarget {
  /** Has the files that Baton gives to the hook, and the report of a push that it holds. */
  readonly folder: string;
}

export interface HookCall {
  readonly signal: AbortSignal;
  readonly timeoutMs?: number;
  /** For `after_run`. */
  readonly runOutcome?: string;
  /** For `after_run`: the digest of the held push that a person has approved. */
  readonly approvedPush?: string;
  /** Called when the hook failed and its failure does not matter to the run. */
  onIgnoredFailure?(): void;
}

/** The hooks of one issue in its workspace. */
export interface IssueHooks {
  /**
   * Returns the push that the hook has held; null when there is none. Throws `BatonError` when a hook fails whose failure matters. A hook
   * that is not configured succeeds.
   */
  run(name: HookName, call: HookCall): Promise<HeldPush | null>;
}

export function createIssueHooks(services: HookServices, target: HookTarget): IssueHooks {
  return {
    async run(name, call) {
      const script = target.workflow.config.hooks.scripts[name];
      if (script === null) return null;
      // Another agent must not replace the files of a hook between their writing and their use, so they lie where only hooks see them.
      const folder = await services.workspaces.makeHookFolder(target.marker);
      try {
        return await runIssueHook(name, script, call, services, { ...target, folder });
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
  };
}

async function runIssueHook(
  name: HookName,
  script: string,
  call: HookCall,
  services: HookServices,
  target: HookRun,
): Promise<HeldPush | null> {
  const { clock, observer } = services;
  const { workflow, issue, workspace, runId } = target;
  const startedAtMs = clock.now().awakeMs;
  const result = await runHook<ContainedProcess, StopResult>({
    name,
    script,
    timeoutMs: call.timeoutMs ?? workflow.config.hooks.timeoutMs,
    clock,
    signal: call.signal,
    spawn: (text) => spawnHook(name, text, call, services, target),
    capture: (process) => captureOutput(process, { maxBytes: MAX_OUTPUT_BYTES, clock, drainMs: DRAIN_MS }),
  });
  // A hook that was cut off by the exit runs again at the next start.
  services.containment.halted?.throwIfAborted();
  const hold = await readHeldPush(target.folder);
  const isHeld = hold !== null && (result.output?.status.code === 0 || result.output?.status.code === HELD);
  const error = !isHeld && (result.outcome === 'failed' || result.outcome === 'timeout') ? result.error : null;
  observer.hookEnded({
    runId,
    issueId: issue.id,
    identifier: issue.identifier,
    hook: name,
    outcome: isHeld ? 'held' : result.outcome,
    durationMs: clock.now().awakeMs - startedAtMs,
    message: error?.message ?? null,
    stdout: result.output?.stdout ?? '',
    stderr: result.output?.stderr ?? '',
    truncated: result.output?.truncated ?? false,
  });
  if (result.stopped && !result.stopped.gone) {
    throw new BatonError('unkillable', `processes of hook ${name} in ${workspace.path} survived SIGKILL`);
  }
  if (error && abortsOnFailure(name)) throw error;
  if (error) call.onIgnoredFailure?.();
  return hold;
}

async function spawnHook(
  hook: HookName,
  script: string,
  call: HookCall,
  { workspaces, baseEnv, containment, checkFiles, knownSecrets }: HookServices,
  { workflow, issue, workspace, runId, marker, attempt, tmpDir, folder, onUnkillable }: HookRun,
): Promise<ContainedProcess> {
  containment.halted?.throwIfAborted();
  const { runOutcome = null, approvedPush = null } = call;
  const issueFile = await writeIssueFile(folder, issue);
  const secrets = await knownSecrets();
  const deliveryFile = await writeDeliveryFile(folder, { workflow, issue, approved: approvedPush, secrets });
  const { path: cwd, identity } = workspace;
  const variables = hookVariables({
    ...{ hook, issue, issueFile, deliveryFile, runId, attempt, runOutcome },
    workspace: cwd,
    workflowDir: workflow.dir,
  });
  const { env, unset } = hookEnvironment(workflow, baseEnv, { ...variables, TMPDIR: tmpDir });
  await checkFiles(workflow, 'run');
  await workspaces.verify(workspace);
  return spawnContained({ marker, script, cwd, identity, env, unset, stdin: 'ignore', onUnkillable }, containment);
}
