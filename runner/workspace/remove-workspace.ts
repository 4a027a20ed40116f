import type { Workflow } from '../../src/domain/config.js';
import { toBatonError } from '../../src/domain/errors.js';
import type { RemovalReport } from '../../src/domain/events.js';
import type { Issue } from '../../src/domain/issue.js';
import { createIssueHooks } from '../issue-hooks.js';
import type { RunDeps } from '../run-attempt.js';
import { makeRunFolder, removeFolder } from '../run-folder.js';
import type { Workspace } from './workspace-folder.js';

export interface RemovalDeps extends RunDeps {
  /** Saves what git would lose with the folder; a failure keeps the folder. */
  saveWork(workspace: Workspace, issue: Issue, workflow: Workflow, tmpDir: string, marker: string): Promise<void>;
}

/** before_remove, whose failure is logged only; then what git would lose is saved; then the folders of the issue go. Never throws. */
export async function removeWorkspaces(
  issue: Issue,
  workflow: Workflow,
  deps: RemovalDeps,
  marker: string,
): Promise<RemovalReport> {
  let folder: string | null = null;
  try {
    deps.openRuns.begin(marker, issue.id);
    for (const workspace of await deps.workspaces.ownedBy(issue.id)) {
      folder ??= await makeRunFolder(deps.tmpRoot, marker);
      await removeOne(workspace, issue, workflow, deps, folder, marker);
    }
    return { ok: true };
  } catch (error) {
    return { ok: false, message: toBatonError(error, 'workspace_failed').message };
  } finally {
    if (folder !== null) await removeFolder(folder);
    await deps.openRuns.end(marker);
  }
}

async function removeOne(
  workspace: Workspace,
  issue: Issue,
  workflow: Workflow,
  deps: RemovalDeps,
  tmpDir: string,
  marker: string,
): Promise<void> {
  const hooks = createIssueHooks({
    ...deps,
    workflow,
    issue,
    workspace,
    tmpDir,
    runId: null,
    marker,
    attempt: null,
    onUnkillable: (survivors) =>
      deps.observer.warned(null, 'processes of before_remove outlive SIGKILL', { issue_id: issue.id, survivors }),
  });
  // A folder that is still being made has nothing worth a hook.
  if (!workspace.createdNow) {
    await hooks.run('before_remove', { signal: new AbortController().signal });
    await deps.saveWork(workspace, issue, workflow, tmpDir, marker);
  }
  await deps.workspaces.remove(workspace);
}
