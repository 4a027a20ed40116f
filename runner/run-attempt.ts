import { setTimeout as pause } from 'node:timers/promises';
import { type Clock, withinLimit } from '../src/domain/clock.js';
import type { StartOrder } from '../src/domain/effects.js';
import { BatonError, toBatonError } from '../src/domain/errors.js';
import { cancelled, failureOf, type Outcome } from '../src/domain/outcome.js';
import type { HostTool, IssueLocks, Tracker } from '../src/domain/ports.js';
import type { StopReason } from '../src/domain/run.js';
import type { RunSignal } from '../src/domain/run-signal.js';
import type { Workflow } from '../src/domain/workflow.js';
import type { ContinuationValues } from '../templates/prompts.js';
import { compilePrompt, type Prompt } from '../templates/render-prompt.js';
import { MarkerSweep } from './contain/marker-sweep.js';
import type { Containment } from './contain/process.js';
import type { StepControls } from './executors/executor.js';
import type { Executors } from './executors/executors.js';
import { createIssueHooks, type IssueHooks } from './issue-hooks.js';
import type { OpenRuns } from './open-runs.js';
import { promptValues } from './prompt-values.js';
import { makeRunFolder, removeFolder } from './run-folder.js';
import type { RunObserver } from './run-observer.js';
import { runPlan, tellRendered } from './steps/run-plan.js';
import type { Workspace } from './workspace/workspace-folder.js';
import type { Workspaces } from './workspace/workspaces.js';

/** The part of a shutdown that agents and `after_run` may take; the rest is for ending hooks that go on. */
const SHUTDOWN_SHARE = 0.7;

export interface RunDeps {
  readonly clock: Clock;
  readonly containment: Containment;
  readonly workspaces: Workspaces;
  readonly tracker: Pick<Tracker, 'issuesByIds' | 'readComments'>;
  /** What agents may call on the host, under the settings that a run starts with. */
  tools(workflow: Workflow): readonly HostTool[];
  readonly executors: Executors;
  /** Throws `BatonError` where something that the steps need is not there (any more): then nothing is started. */
  checkPlan(workflow: Workflow): Promise<void>;
  /** The value behind a `$NAME`, masked from then on; `null`: missing or empty. */
  secret(written: string): string | null;
  /** The daemon's temporary folder, in which each run has its own. */
  readonly tmpRoot: string;
  readonly continuation: Prompt<ContinuationValues>;
  readonly baseEnv: { readonly [name: string]: string | undefined };
  readonly observer: RunObserver;
  readonly openRuns: OpenRuns;
  readonly issueLocks: Pick<IssueLocks, 'take'>;
  /** Pids of a run of an earlier daemon that outlive SIGKILL. */
  survivors(runId: string): Promise<readonly number[]>;
  onUnkillable(runId: string): void;
}

/** One run as the pool hands it over. */
export interface Attempt {
  readonly order: StartOrder;
  readonly workflow: Workflow;
  /** Aborted with a `StopReason`. */
  readonly signal: AbortSignal;
  readonly stoppedAtAwakeMs: number | null;
  readonly controls: StepControls;
  emit(signal: RunSignal): void;
}

/**
 * Carries one run through: workspace → after_create → prompt → before_run → steps → after_run. Never throws, and returns
 * only once every process of the run is gone.
 */
export async function runAttempt(attempt: Attempt, deps: RunDeps): Promise<Outcome> {
  let folder: string | null = null;
  let giveBack = async () => {};
  try {
    throwIfStopped(attempt.signal);
    attempt.emit({ type: 'phase', phase: 'preparing' });
    await deps.checkPlan(attempt.workflow);
    giveBack = await deps.issueLocks.take(attempt.order.issue);
    deps.openRuns.begin(attempt.order.runId, attempt.order.issue.id);
    folder = await makeRunFolder(deps.tmpRoot, attempt.order.runId);
    return await inWorkspace(await withComments(attempt, deps), deps, folder);
  } catch (error) {
    return outcomeOf(error, attempt.signal);
  } finally {
    await lastLook(attempt.order.runId, deps.clock, deps.observer);
    const litter = folder === null ? null : await removeFolder(folder);
    if (litter)
      deps.observer.warned(attempt.order.runId, 'temporary folder of the run could not be removed', {
        folder,
        detail: litter.message,
      });
    await deps.openRuns.end(attempt.order.runId);
    await giveBack().catch((error: Error) =>
      deps.observer.warned(attempt.order.runId, 'the issue could not be given back', { detail: error.message }),
    );
  }
}

async function inWorkspace(attempt: Attempt, deps: RunDeps, tmpDir: string): Promise<Outcome> {
  const { order, signal } = attempt;
  const workspace = await deps.workspaces.prepare(order.issue);
  if (workspace.adopted) {
    deps.observer.warned(order.runId, 'workspace folder was there already, using it', { workspace: workspace.path });
  }
  const hooks = hooksOf(attempt, deps, workspace, tmpDir);
  if (workspace.createdNow) await populate(hooks, workspace, deps, signal);

  if (attempt.workflow.config.hooks.scripts.after_run !== null) await deps.openRuns.owe(order.runId, workspace.key);
  let outcome: Outcome;
  try {
    outcome = await work(attempt, deps, workspace, tmpDir, hooks);
  } catch (error) {
    outcome = outcomeOf(error, signal);
  }
  attempt.emit({ type: 'phase', phase: 'finishing' });
  await hooks.run('after_run', {
    signal: new AbortController().signal,
    runOutcome: outcomeName(outcome),
    ...timeLeft(attempt, deps.clock),
  });
  await deps.openRuns.paid(order.runId);
  return outcome;
}

/** A failed after_create leaves nothing behind, so that the next attempt runs it again. */
async function populate(hooks: IssueHooks, workspace: Workspace, deps: RunDeps, signal: AbortSignal): Promise<void> {
  try {
    await hooks.run('after_create', { signal });
    throwIfStopped(signal);
  } catch (error) {
    await deps.workspaces.abandon(workspace);
    throw error;
  }
  await deps.workspaces.confirmCreated(workspace);
}

async function work(
  attempt: Attempt,
  deps: RunDeps,
  workspace: Workspace,
  tmpDir: string,
  hooks: IssueHooks,
): Promise<Outcome> {
  const { order, workflow, signal } = attempt;
  const { plan } = workflow;
  // Without steps there is nothing that the prompt would have to wait for: an error in it costs no hook and no process.
  const prompt = plan.isImplied
    ? tellRendered(compilePrompt(workflow.prompt).render(promptValues(order, workflow, workspace.path)), attempt)
    : null;
  await hooks.run('before_run', { signal });
  throwIfStopped(signal);
  await deps.workspaces.verify(workspace);
  return runPlan({ attempt, deps, workspace, tmpDir, prompt });
}

function hooksOf({ order, workflow }: Attempt, deps: RunDeps, workspace: Workspace, tmpDir: string): IssueHooks {
  const { issue, runId, attempt } = order;
  const onUnkillable = () => deps.onUnkillable(runId);
  return createIssueHooks({ ...deps, workflow, issue, workspace, tmpDir, runId, marker: runId, attempt, onUnkillable });
}

/** In a shutdown `after_run` has what the agent's own end left of the time. */
function timeLeft({ signal, workflow, stoppedAtAwakeMs }: Attempt, clock: Clock): { timeoutMs?: number } {
  if (stoppedAtAwakeMs === null || signal.reason !== ('shutdown' satisfies StopReason)) return {};
  const { hooks, runtime } = workflow.config;
  const leftMs = runtime.shutdownTimeoutMs * SHUTDOWN_SHARE - (clock.now().awakeMs - stoppedAtAwakeMs);
  return { timeoutMs: Math.max(0, Math.min(hooks.timeoutMs, leftMs)) };
}

/** What hooks are told in `BATON_RUN_OUTCOME`. */
function outcomeName(outcome: Outcome): string {
  if (outcome.state === 'success') return 'success';
  return outcome.error.code === 'INTERRUPTED' ? 'interrupted' : outcome.state;
}

function throwIfStopped(signal: AbortSignal): void {
  if (signal.aborted) throw new BatonError('INTERRUPTED', 'the run was stopped');
}

/** However it broke off: a run that was told to stop was stopped. */
function outcomeOf(error: unknown, signal: AbortSignal): Outcome {
  const known = toBatonError(error);
  return signal.aborted && known.code !== 'unkillable' ? cancelled(signal.reason as StopReason) : failureOf(known);
}

const LIMIT_MS = 5_000;
const LOOK_EVERY_MS = 20;

/**
 * A check on top: each process of the run was stopped by whoever started it, and nothing should be left. What carries the run's
 * marker all the same is killed and told. Never throws; a /proc that does not answer proves nothing and holds nothing up.
 */
async function lastLook(runId: string, clock: Clock, observer: Pick<RunObserver, 'warned'>): Promise<void> {
  const sweep = new MarkerSweep(runId);
  const look = async (signal: AbortSignal) => {
    let left = await sweep.find();
    if (left.length === 0) return;
    observer.warned(runId, 'processes of the run were found after its end, killing them', {
      pids: left.map(({ pid }) => pid),
    });
    while (left.length > 0 && !signal.aborted) {
      await sweep.signal('SIGKILL');
      await pause(LOOK_EVERY_MS);
      left = await sweep.find();
    }
  };
  await withinLimit(clock, LIMIT_MS, look, () => new Error(`it took longer than ${LIMIT_MS} ms`)).catch((error) =>
    observer.warned(runId, 'it cannot be told whether processes of the run are left', {
      detail: toBatonError(error).message,
    }),
  );
}

const READ_TIMEOUT_MS = 60_000;

/**
 * The same run with what people said about its issue, which lists do not carry. When it cannot be read the run fails before it costs anything:
 * an agent that has not heard its reviewer does the wrong work again.
 */
export async function withComments(
  attempt: Attempt,
  { clock, tracker }: Pick<RunDeps, 'clock' | 'tracker'>,
): Promise<Attempt> {
  if (!tracker.readComments) return attempt;
  const { order, signal } = attempt;
  const late = () =>
    new BatonError('tracker_request', `the tracker did not tell the comments within ${READ_TIMEOUT_MS / 1000} s`);
  const ask = async (inner: AbortSignal) => (await tracker.readComments?.(order.issue, inner)) ?? [];
  const comments = await withinLimit(clock, READ_TIMEOUT_MS, ask, late, signal);
  return {
    ...{ workflow: attempt.workflow, signal, controls: attempt.controls },
    order: { ...order, issue: { ...order.issue, comments } },
    emit: (said) => attempt.emit(said),
    // Not a copy: the run may be stopped at any time.
    get stoppedAtAwakeMs() {
      return attempt.stoppedAtAwakeMs;
    },
  };
}
