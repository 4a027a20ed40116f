import { withinLimit } from '../src/domain/clock.js';
import type { StartOrder } from '../src/domain/effects.js';
import { BatonError, toBatonError } from '../src/domain/errors.js';
import { cancelled, failure, failureOf, type Outcome, success } from '../src/domain/outcome.js';
import type { StopReason } from '../src/domain/run.js';
import type { Answer, Question } from '../src/domain/run-signal.js';
import type { ActiveRun } from './active-run.js';
import { ticksNow } from './contain/proc-table.js';
import { explainedBy } from './contain/run-limits.js';
import { pushQuestion } from './delivery.js';
import { createIssueHooks, type IssueHooks } from './issue-hooks.js';
import { type PushAnswer, RunContext, type RunServices } from './run-context.js';
import { makeRunFolder, removeFolder } from './run-folder.js';
import { runPlan } from './steps/run-plan.js';
import { watchDiskUse } from './workspace/disk-use.js';

/** The share of a shutdown that agents and `after_run` may take. The rest is for ending hooks that do not stop. */
const SHUTDOWN_SHARE = 0.7;

/**
 * Carries one run through: workspace → after_create → prompt → before_run → steps → after_run. Never throws, and returns
 * only once every process of the run is gone.
 */
export async function runAttempt(run: ActiveRun, services: RunServices): Promise<Outcome> {
  const { runId, issue } = run.order;
  const { openRuns, observer } = services;
  const { limits } = services.containment;
  const warn = (message: string, fields: object) => observer.warned(runId, message, { ...fields });
  const startedTicks = ticksNow();
  let tmpDir: string | null = null;
  let unlockIssue = async () => {};
  let outcome: Outcome;
  try {
    throwIfStopped(run.signal);
    run.emit({ type: 'phase', phase: 'preparing' });
    await services.checkPlan(run.workflow);
    unlockIssue = await services.issueLocks.take(issue);
    openRuns.begin(runId, issue.id);
    await limits?.begin(runId, run.workflow.config.runtime);
    tmpDir = await makeRunFolder(services.tmpRoot, runId);
    const order = await withComments(run, services);
    const workspace = await services.workspaces.prepare(issue);
    if (workspace.adopted) warn('workspace folder was there already, using it', { workspace: workspace.path });
    outcome = await runInWorkspace(new RunContext(run, order, services, workspace, tmpDir));
  } catch (error) {
    outcome = outcomeOf(error, run.signal);
  }
  await services.endLeftovers(runId, startedTicks);
  const reached = (await limits?.end(runId)) ?? null;
  const litter = tmpDir === null ? null : await removeFolder(tmpDir);
  if (litter) {
    warn('temporary folder of the run could not be removed', { folder: tmpDir, detail: litter.message });
  }
  await openRuns.end(runId);
  await unlockIssue().catch(({ message }: Error) =>
    warn('the lock of the issue could not be released', { detail: message }),
  );
  return explainedBy(reached, outcome);
}

async function runInWorkspace(context: RunContext): Promise<Outcome> {
  const { run, runId, workflow, services, workspace } = context;
  const hooks = hooksOf(context);
  if (context.pushAnswer !== null) return finishAnsweredPush(hooks, context, context.pushAnswer);
  if (workspace.createdNow) await populate(hooks, context);

  if (workflow.config.hooks.scripts.after_run !== null) await services.openRuns.afterRunDue(runId, workspace.key);
  let outcome: Outcome;
  try {
    outcome = await work(hooks, context);
  } catch (error) {
    outcome = outcomeOf(error, run.signal);
  }
  return finish(hooks, context, outcome);
}

/** Runs `after_run`. When it holds a push, a person is asked, and `after_run` runs once more with the approval. */
async function finish(
  hooks: IssueHooks,
  context: RunContext,
  outcome: Outcome,
  approved: string | null = null,
): Promise<Outcome> {
  const { run, runId, services } = context;
  run.emit({ type: 'phase', phase: 'finishing' });
  let ended = outcome;
  let afterRunFailed = false;
  for (let approvedPush = approved; ; ) {
    const hold = await hooks.run('after_run', {
      signal: new AbortController().signal,
      runOutcome: outcomeName(outcome),
      ...afterRunTimeout(context),
      onIgnoredFailure() {
        afterRunFailed = true;
      },
      ...(approvedPush === null ? {} : { approvedPush }),
    });
    if (hold === null) break;
    const question = pushQuestion(runId, hold);
    run.emit({ type: 'asked', question });
    const answer = await answerTo(question, run);
    // The run is stopped. The core keeps the question when it parks the issue.
    if (answer === null) break;
    if (answer.kind !== 'accept') {
      ended = pushDeclined();
      break;
    }
    approvedPush = hold.digest;
  }
  await services.openRuns.afterRunEnded(runId);
  if (context.workflow.config.hooks.scripts.after_run === null) return ended;
  return { ...ended, meta: { ...ended.meta, afterRunFailed } };
}

function pushDeclined(): Outcome {
  return failure('push_declined', 'a person declined the push of the work');
}

/** Null when the run is stopped first. */
function answerTo({ id }: Question, { mailbox, signal }: ActiveRun): Promise<Answer | null> {
  return new Promise((resolve) => {
    const unread: string[] = [];
    const end = (answer: Answer | null) => {
      signal.removeEventListener('abort', onAbort);
      release(unread);
      resolve(answer);
    };
    const onAbort = () => end(null);
    const release = mailbox.attend({
      onAnswer: (questionId, answer) => {
        if (questionId === id) end(answer);
      },
      onMessage: (text) => unread.push(text),
    });
    if (signal.aborted) end(null);
    else signal.addEventListener('abort', onAbort);
  });
}

/** The answer about the held push of an earlier run: this run only finishes that one, without an agent. */
async function finishAnsweredPush(
  hooks: IssueHooks,
  context: RunContext,
  { digest, isAccepted }: PushAnswer,
): Promise<Outcome> {
  const { workspace, services } = context;
  if (workspace.createdNow) await services.workspaces.abandon(workspace);
  if (!isAccepted) return pushDeclined();
  if (workspace.createdNow) {
    context.warn('the workspace is gone, so its held push cannot be carried out', { workspace: workspace.path });
    return success(null);
  }
  await services.openRuns.afterRunDue(context.runId, context.workspace.key);
  return finish(hooks, context, success(null), digest);
}

/** A failed after_create leaves nothing behind, so that the next attempt runs it again. */
async function populate(hooks: IssueHooks, { run, services, workspace }: RunContext): Promise<void> {
  try {
    await hooks.run('after_create', { signal: run.signal });
    throwIfStopped(run.signal);
  } catch (error) {
    await services.workspaces.abandon(workspace);
    throw error;
  }
  await services.workspaces.confirmCreated(workspace);
}

async function work(hooks: IssueHooks, context: RunContext): Promise<Outcome> {
  const { run, workflow, services, workspace, prompts } = context;
  // Without steps the prompt depends on nothing that comes later: an error in it costs no hook and no process.
  if (workflow.plan.isImplied) prompts.renderImplied();
  await hooks.run('before_run', { signal: run.signal });
  throwIfStopped(run.signal);
  await services.workspaces.verify(workspace);
  return runWatchedPlan(context);
}

/** A run whose workspace grows too large ends like one that fails: `after_run` saves its work. */
async function runWatchedPlan(context: RunContext): Promise<Outcome> {
  const watch = watchDiskUse(context, () => context.endSteps('workspace_too_large'));
  const outcome = await runPlan(context);
  const tooLarge = await watch.end();
  const isOwnEnd = outcome.state === 'success' || outcome.error.code === 'unkillable';
  return tooLarge === null || isOwnEnd ? outcome : failureOf(tooLarge, { meta: outcome.meta });
}

function hooksOf({ order, runId, workflow, services, workspace, tmpDir }: RunContext): IssueHooks {
  const { issue, attempt } = order;
  return createIssueHooks(services, {
    ...{ workflow, issue, workspace, tmpDir, runId, marker: runId, attempt },
    onUnkillable: () => services.dispatch({ type: 'run_unkillable', runId }),
  });
}

/** In a shutdown `after_run` gets the time that the end of the agent has left over. */
function afterRunTimeout({ run, config, services }: RunContext): { timeoutMs?: number } {
  const { stoppedAtAwakeMs, signal } = run;
  if (stoppedAtAwakeMs === null || signal.reason !== ('shutdown' satisfies StopReason)) return {};
  const elapsedMs = services.clock.now().awakeMs - stoppedAtAwakeMs;
  const leftMs = config.runtime.shutdownTimeoutMs * SHUTDOWN_SHARE - elapsedMs;
  return { timeoutMs: Math.max(0, Math.min(config.hooks.timeoutMs, leftMs)) };
}

/** The value of `BATON_RUN_OUTCOME` for hooks. */
function outcomeName(outcome: Outcome): string {
  if (outcome.state === 'success') return 'success';
  return outcome.error.code === 'INTERRUPTED' ? 'interrupted' : outcome.state;
}

function throwIfStopped(signal: AbortSignal): void {
  if (signal.aborted) throw new BatonError('INTERRUPTED', 'the run was stopped');
}

/** A run with a stop request counts as stopped, whatever error the stop has caused. */
function outcomeOf(error: unknown, signal: AbortSignal): Outcome {
  const known = toBatonError(error);
  return signal.aborted && known.code !== 'unkillable' ? cancelled(signal.reason as StopReason) : failureOf(known);
}

const READ_TIMEOUT_MS = 60_000;

/**
 * The order of a run with the comments of its issue, which lists do not carry. A run without them would cost money for the wrong work:
 * the agent would not know what its reviewer wants. So the run fails when they cannot be read. Throws `BatonError`.
 */
export async function withComments(
  { order, signal: outer }: Pick<ActiveRun, 'order' | 'signal'>,
  { clock, tracker }: Pick<RunServices, 'clock' | 'tracker'>,
): Promise<StartOrder> {
  if (!tracker.readComments) return order;
  const onLate = () =>
    new BatonError('tracker_request', `the tracker did not return the comments within ${READ_TIMEOUT_MS / 1000} s`);
  const read = async (signal: AbortSignal) => (await tracker.readComments?.(order.issue, signal)) ?? [];
  const comments = await withinLimit(clock, READ_TIMEOUT_MS, read, onLate, outer);
  return { ...order, issue: { ...order.issue, comments } };
}
