import { setTimeout as pause } from 'node:timers/promises';
import type { StartOrder } from '../src/domain/effects.js';
import { toBatonError } from '../src/domain/errors.js';
import { failure, type Outcome, type OutcomeMeta } from '../src/domain/outcome.js';
import type { RunSignal } from '../src/domain/run-signal.js';
import type { Workflow } from '../src/domain/workflow.js';
import { pushQuestion } from './delivery.js';
import { createIssueHooks } from './issue-hooks.js';
import type { RunServices } from './run-context.js';
import { makeRunFolder, removeFolder } from './run-folder.js';

const CHECK_INTERVAL_MS = 500;

/**
 * Closes a run that an earlier daemon started and did not end. The start of this daemon has killed its processes; when some survive,
 * nothing happens in the workspace until they are gone. Then the `after_run` that is still due runs. Never throws.
 */
export async function closeRun(
  order: StartOrder,
  workflow: Workflow,
  services: RunServices,
  emit: (signal: RunSignal) => void,
): Promise<Outcome> {
  const { observer, openRuns } = services;
  let meta: OutcomeMeta = {};
  try {
    await waitForSurvivors(order.runId, services);
    const key = openRuns.afterRunDueIn(order.runId);
    if (key !== null && workflow.config.hooks.scripts.after_run !== null)
      meta = await runDueAfterRun(order, workflow, key, services, emit);
  } catch (error) {
    const { code, message } = toBatonError(error);
    observer.warned(order.runId, 'the run of an earlier daemon could not be closed well', { code, detail: message });
  }
  await openRuns.end(order.runId);
  return failure('INTERRUPTED', 'the daemon that started the run has ended', { state: 'cancelled', meta });
}

async function waitForSurvivors(runId: string, { survivors, dispatch }: RunServices): Promise<void> {
  let left = await survivors(runId);
  if (left.length > 0) dispatch({ type: 'run_unkillable', runId });
  while (left.length > 0) {
    await pause(CHECK_INTERVAL_MS, undefined, { ref: false });
    left = await survivors(runId);
  }
}

/** Does nothing when the workspace is gone. */
async function runDueAfterRun(
  order: StartOrder,
  workflow: Workflow,
  key: string,
  services: RunServices,
  emit: (signal: RunSignal) => void,
): Promise<OutcomeMeta> {
  const { issue, runId, attempt } = order;
  const workspace = (await services.workspaces.ownedBy(issue.id)).find((one) => one.key === key);
  if (!workspace) return {};
  const tmpDir = await makeRunFolder(services.tmpRoot, runId);
  await services.containment.limits?.begin(runId, workflow.config.runtime);
  try {
    const hooks = createIssueHooks(services, {
      ...{ workflow, issue, workspace, tmpDir, runId, marker: runId, attempt },
      onUnkillable: () => services.dispatch({ type: 'run_unkillable', runId }),
    });
    let afterRunFailed = false;
    const hold = await hooks.run('after_run', {
      signal: new AbortController().signal,
      runOutcome: 'interrupted',
      onIgnoredFailure() {
        afterRunFailed = true;
      },
    });
    // The issue is parked with the question, and an answer starts a run that pushes.
    if (hold !== null) emit({ type: 'asked', question: pushQuestion(runId, hold) });
    await services.openRuns.afterRunEnded(runId);
    return { afterRunFailed };
  } finally {
    await services.containment.limits?.end(runId);
    await removeFolder(tmpDir);
  }
}
