import { toBatonError } from '../../src/domain/errors.js';
import type { Issue } from '../../src/domain/issue.js';
import type { RemovalReport } from '../../src/domain/ports.js';
import type { Workflow } from '../../src/domain/workflow.js';
import { createIssueHooks } from '../issue-hooks.js';
import type { RunServices } from '../run-context.js';
import { makeRunFolder, removeFolder } from '../run-folder.js';
import type { Workspace } from './workspace-folder.js';

/** Runs before_remove, whose failure is only logged; then saves what git would lose; then removes the folders of the issue. Never throws. */
export async function removeIssueFolders(
  issue: Issue,
  workflow: Workflow,
  services: RunServices,
  marker: string,
): Promise<RemovalReport> {
  let folder: string | null = null;
  try {
    services.openRuns.begin(marker, issue.id);
    await services.containment.limits?.begin(marker, workflow.config.runtime);
    for (const workspace of await services.workspaces.ownedBy(issue.id)) {
      folder ??= await makeRunFolder(services.tmpRoot, marker);
      await removeOne(workspace, issue, workflow, services, folder, marker);
    }
    return { ok: true };
  } catch (error) {
    return { ok: false, message: toBatonError(error, 'workspace_failed').message };
  } finally {
    await services.containment.limits?.end(marker);
    if (folder !== null) await removeFolder(folder);
    await services.openRuns.end(marker);
  }
}

async function removeOne(
  workspace: Workspace,
  issue: Issue,
  workflow: Workflow,
  services: RunServices,
  tmpDir: string,
  marker: string,
): Promise<void> {
  const hooks = createIssueHooks(services, {
    ...{ workflow, issue, workspace, tmpDir, runId: null, marker, attempt: null },
    onUnkillable: (survivors) =>
      services.observer.warned(null, 'processes of before_remove survive SIGKILL', { issue_id: issue.id, survivors }),
  });
  // A workspace whose after_create has not ended contains no work.
  if (!workspace.createdNow) {
    await hooks.run('before_remove', { signal: new AbortController().signal });
    await services.saveWork(workspace, issue, workflow, tmpDir, marker);
  }
  await services.workspaces.remove(workspace);
}
