import { hookVariables, writeIssueFile } from '../hooks/hook-variables.js';
import { abortsOnFailure, runHook } from '../hooks/run-hook.js';
import type { Clock } from '../src/domain/clock.js';
import type { HookName } from '../src/domain/config.js';
import { BatonError } from '../src/domain/errors.js';
import type { Issue } from '../src/domain/issue.js';
import type { Workflow } from '../src/domain/workflow.js';
import { captureOutput } from './contain/capture-output.js';
import { type ContainedProcess, type Containment, type StopResult, untilGone } from './contain/process.js';
import { spawnContained } from './contain/run-contained.js';
import { environmentFor } from './environment.js';
import type { RunObserver } from './run-observer.js';
import type { Workspace } from './workspace/workspace-folder.js';
import type { Workspaces } from './workspace/workspaces.js';

const MAX_OUTPUT_BYTES = 64 * 1024;
const DRAIN_MS = 1_000;

export interface IssueHooksOptions {
  readonly workflow: Workflow;
  readonly issue: Issue;
  readonly workspace: Workspace;
  readonly workspaces: Workspaces;
  readonly tmpDir: string;
  readonly runId: string | null;
  /** Marks the processes; the run's id, or one of its own where a workspace is removed outside of any run. */
  readonly marker: string;
  readonly attempt: number | null;
  readonly clock: Clock;
  readonly containment: Containment;
  readonly baseEnv: { readonly [name: string]: string | undefined };
  readonly observer: RunObserver;
  /** Processes of the hook outlive SIGKILL; `run` settles only once they are gone. */
  onUnkillable(survivors: readonly number[]): void;
}

export interface HookCall {
  readonly signal: AbortSignal;
  readonly timeoutMs?: number;
  /** For `after_run`. */
  readonly runOutcome?: string;
}

/** The hooks of one issue in its workspace. */
export interface IssueHooks {
  /** Throws `BatonError` when a hook fails whose failure matters. A hook that is not configured succeeds. */
  run(name: HookName, call: HookCall): Promise<void>;
}

export function createIssueHooks(options: IssueHooksOptions): IssueHooks {
  const { workflow, issue, workspace, clock, observer } = options;

  const run = async (name: HookName, script: string, call: HookCall) => {
    const startedAtMs = clock.now().awakeMs;
    const result = await runHook<ContainedProcess, StopResult>({
      name,
      script,
      timeoutMs: call.timeoutMs ?? workflow.config.hooks.timeoutMs,
      clock,
      signal: call.signal,
      spawn: async (text) =>
        untilGone(await spawnHook(options, name, text, call.runOutcome ?? null), options.onUnkillable),
      capture: (process) => captureOutput(process, { maxBytes: MAX_OUTPUT_BYTES, clock, drainMs: DRAIN_MS }),
    });
    const error = result.outcome === 'failed' || result.outcome === 'timeout' ? result.error : null;
    observer.hookEnded({
      runId: options.runId,
      issueId: issue.id,
      identifier: issue.identifier,
      hook: name,
      outcome: result.outcome,
      durationMs: clock.now().awakeMs - startedAtMs,
      message: error?.message ?? null,
      stdout: result.output?.stdout ?? '',
      stderr: result.output?.stderr ?? '',
      truncated: result.output?.truncated ?? false,
    });
    if (result.stopped && !result.stopped.gone) {
      throw new BatonError('unkillable', `processes of hook ${name} in ${workspace.path} outlived SIGKILL`);
    }
    if (error && abortsOnFailure(name)) throw error;
  };

  return {
    async run(name, call) {
      const script = workflow.config.hooks.scripts[name];
      if (script !== null) await run(name, script, call);
    },
  };
}

async function spawnHook(options: IssueHooksOptions, hook: HookName, script: string, runOutcome: string | null) {
  const { workflow, issue, workspace, runId, attempt, tmpDir } = options;
  const issueFile = await writeIssueFile(tmpDir, issue);
  const variables = hookVariables({
    hook,
    issue,
    workspace: workspace.path,
    workflowDir: workflow.dir,
    issueFile,
    runId,
    attempt,
    runOutcome,
  });
  const { env, unset } = environmentFor('hook', {
    base: options.baseEnv,
    policy: workflow.config.runtime.env,
    allow: workflow.config.runtime.envAllow,
    hookAllow: workflow.config.hooks.envAllow,
    secretNames: workflow.secretNames,
    extra: { ...variables, TMPDIR: tmpDir },
  });
  await options.workspaces.verify(workspace);
  const { path: cwd, identity } = workspace;
  return spawnContained(
    { marker: options.marker, script, cwd, identity, env, unset, stdin: 'ignore' },
    options.containment,
  );
}
