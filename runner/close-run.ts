import { setTimeout as pause } from 'node:timers/promises';
import type { StartOrder } from '../src/domain/effects.js';
import { toBatonError } from '../src/domain/errors.js';
import { failure, type Outcome } from '../src/domain/outcome.js';
import type { Workflow } from '../src/domain/workflow.js';
import { createIssueHooks } from './issue-hooks.js';
import type { RunDeps } from './run-attempt.js';
import { makeRunFolder, removeFolder } from './run-folder.js';

const LOOK_EVERY_MS = 500;

/**
 * Ends a run that an earlier daemon began and did not end. Its processes were killed at the start; where some outlive even that,
 * nothing may happen in the workspace before they are gone. Then it gets the `after_run` that it is owed. Never throws.
 */
export async function closeRun(order: StartOrder, workflow: Workflow, deps: RunDeps): Promise<Outcome> {
  try {
    await untilGone(order.runId, deps);
    const key = deps.openRuns.owedIn(order.runId);
    if (key !== null && workflow.config.hooks.scripts.after_run !== null) await payAfterRun(order, workflow, key, deps);
  } catch (error) {
    const { code, message } = toBatonError(error);
    deps.observer.warned(order.runId, 'the run of an earlier daemon could not be closed well', {
      code,
      detail: message,
    });
  }
  await deps.openRuns.end(order.runId);
  return failure('INTERRUPTED', 'the daemon that began the run ended', { state: 'cancelled' });
}

async function untilGone(runId: string, { survivors, onUnkillable }: RunDeps): Promise<void> {
  let left = await survivors(runId);
  if (left.length > 0) onUnkillable(runId);
  while (left.length > 0) {
    await pause(LOOK_EVERY_MS, undefined, { ref: false });
    left = await survivors(runId);
  }
}

/** The folder may be gone by now: then there is nothing to run it for. */
async function payAfterRun(order: StartOrder, workflow: Workflow, key: string, deps: RunDeps): Promise<void> {
  const { issue, runId, attempt } = order;
  const workspace = (await deps.workspaces.ownedBy(issue.id)).find((one) => one.key === key);
  if (!workspace) return;
  const tmpDir = await makeRunFolder(deps.tmpRoot, runId);
  try {
    const onUnkillable = () => deps.onUnkillable(runId);
    const hooks = createIssueHooks({
      ...deps,
      workflow,
      issue,
      workspace,
      tmpDir,
      runId,
      marker: runId,
      attempt,
      onUnkillable,
    });
    await hooks.run('after_run', { signal: new AbortController().signal, runOutcome: 'interrupted' });
    await deps.openRuns.paid(runId);
  } finally {
    await removeFolder(tmpDir);
  }
}
