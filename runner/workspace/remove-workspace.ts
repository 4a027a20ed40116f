import type { Clock } from '../../src/domain/clock.js';
import { toBatonError } from '../../src/domain/errors.js';
import type { Issue } from '../../src/domain/issue.js';
import type { RemovalReport } from '../../src/domain/ports.js';
import type { Workflow } from '../../src/domain/workflow.js';
import { captureOutput } from '../contain/capture-output.js';
import type { Containment } from '../contain/process.js';
import { spawnContained } from '../contain/spawn-contained.js';
import { environmentFor } from '../environment.js';
import { createIssueHooks } from '../issue-hooks.js';
import type { RunServices } from '../run-context.js';
import { makeRunFolder, removeFolder } from '../run-folder.js';
import type { RunObserver } from '../run-observer.js';
import { type RunScript, saveWork } from './save-work.js';
import { pruneSaved, removePartials } from './saved-work.js';
import type { Workspace } from './workspace-folder.js';

/** Runs before_remove, whose failure is only logged; then saves what git would lose; then removes the folders of the issue. Never throws. */
export async function removeWorkspaces(
  issue: Issue,
  workflow: Workflow,
  services: RunServices,
  marker: string,
): Promise<RemovalReport> {
  let folder: string | null = null;
  try {
    services.openRuns.begin(marker, issue.id);
    for (const workspace of await services.workspaces.ownedBy(issue.id)) {
      folder ??= await makeRunFolder(services.tmpRoot, marker);
      await removeOne(workspace, issue, workflow, services, folder, marker);
    }
    return { ok: true };
  } catch (error) {
    return { ok: false, message: toBatonError(error, 'workspace_failed').message };
  } finally {
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

const MAX_OUTPUT_BYTES = 16 * 1024;
const DRAIN_MS = 1_000;
const TIME_LIMIT_MS = 120_000;

interface SaveServices {
  readonly saveDir: string;
  readonly clock: Clock;
  readonly containment: Containment;
  readonly baseEnv: { readonly [name: string]: string | undefined };
  readonly observer: Pick<RunObserver, 'warned'>;
}

/** Creates a `saveWork` that runs git in contained processes, because the git settings of a workspace are as untrusted as its agent. */
export function createWorkSaver(deps: SaveServices) {
  // Before the first save of this daemon, half-saved folders belong to a dead daemon. Their workspaces are saved again.
  let cleaned: Promise<void> | null = null;
  return async (
    workspace: Workspace,
    issue: Issue,
    workflow: Workflow,
    tmpDir: string,
    marker: string,
  ): Promise<void> => {
    cleaned ??= removePartials(deps.saveDir).catch(({ message }: Error) =>
      deps.observer.warned(null, 'half-saved work of an earlier daemon could not be removed', { detail: message }),
    );
    await cleaned;
    const nowMs = deps.clock.now().wallMs;
    const run = scriptRunner(workspace, workflow, tmpDir, marker, deps);
    const { saveDir } = deps;
    const { folder, notices } = await saveWork({ issue, workspace, scratchDir: tmpDir, saveDir, nowMs, run });
    const about = { issue_id: issue.id, issue_identifier: issue.identifier };
    if (folder !== null) {
      const detail = `baton recover ${issue.identifier} brings it back`;
      deps.observer.warned(null, 'unpushed work was saved before the workspace is removed', {
        ...about,
        folder,
        detail,
      });
    }
    for (const notice of notices) deps.observer.warned(null, 'not everything was saved', { ...about, detail: notice });
    await pruneSaved(saveDir, workflow.config.workspace.keepDays, nowMs);
  };
}

function scriptRunner(
  workspace: Workspace,
  workflow: Workflow,
  tmpDir: string,
  marker: string,
  deps: SaveServices,
): RunScript {
  const { clock, containment, baseEnv } = deps;
  return async (script, variables) => {
    const { env, unset } = environmentFor('agent', {
      base: baseEnv,
      policy: 'allowlist',
      allow: [],
      hookAllow: [],
      secretNames: workflow.secretNames,
      extra: { ...variables, TMPDIR: tmpDir },
    });
    const { path: cwd, identity } = workspace;
    const process = await spawnContained({ marker, script, cwd, identity, env, unset, stdin: 'ignore' }, containment);
    const cancel = clock.after(TIME_LIMIT_MS, () => void process.stop());
    try {
      const { stderr, status } = await captureOutput(process, { maxBytes: MAX_OUTPUT_BYTES, clock, drainMs: DRAIN_MS });
      return { code: status.code, stderr };
    } finally {
      cancel();
      await process.stop();
    }
  };
}
