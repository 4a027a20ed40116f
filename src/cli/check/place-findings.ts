import { isInside } from '../../../runner/workspace-path.js';
import { checkWorkspaceRoot, existingPart, freeDiskMb } from '../../../runner/workspace/workspace-root.js';
import { ERRORS } from '../../domain/error-table.js';
import { toBatonError } from '../../domain/errors.js';
import type { CheckContext } from './check-context.js';
import { type Finding, reporter } from './finding.js';

/** How well runs are kept apart from everything else here. */
export function isolationFindings({ file, at, containment }: CheckContext): Finding[] {
  const report = reporter('Isolation', file);
  const where = at(['runtime', 'isolation']);
  const { kind, reason } = containment;
  const advice =
    'Allow user namespaces (docs/containment.md), or leave nothing on this machine that an agent may not read.';
  const findings = [
    kind === 'pidns'
      ? report('note', 'isolated', where, reason)
      : report('warning', 'not_isolated', where, reason, advice),
  ];
  if (process.geteuid?.() === 0) {
    const message = 'this is root: agents are root too and can undo their isolation';
    findings.push(report('warning', 'runs_as_root', null, message, 'Run Baton as an ordinary user.'));
  }
  return findings;
}

/** Whether workspaces can be made, and whether there is room for them. Makes nothing. */
export async function workspaceFindings(context: CheckContext, stateDir: string): Promise<Finding[]> {
  const { file, at, loaded, io } = context;
  const { workflow } = loaded;
  const { root, minFreeMb } = workflow.config.workspace;
  const report = reporter('Workspaces', file);
  const where = at(['workspace', 'root']);
  try {
    const real = await checkWorkspaceRoot({ root, workflowDir: workflow.dir, home: io.homeDir });
    if (real === stateDir || isInside(stateDir, real)) {
      const message = `workspace.root ${real} lies inside the state directory ${stateDir}, which is hidden from every run`;
      return [report('error', 'invalid_workspace_root', where, message, ERRORS.invalid_workspace_root.action)];
    }
    const freeMb = await freeDiskMb(await existingPart(real));
    if (freeMb !== null && freeMb < minFreeMb) {
      const message = `${freeMb} MB are free for ${real}, workspace.min_free_mb is ${minFreeMb}: nothing would be started`;
      const minimum = at(['workspace', 'min_free_mb']);
      return [report('error', 'low_disk', minimum, message, ERRORS.low_disk.action)];
    }
    const free = freeMb === null ? '' : `, ${freeMb} MB free`;
    return [report('note', 'workspaces_fine', where, `workspaces are made in ${real}${free}`)];
  } catch (thrown) {
    const error = toBatonError(thrown);
    return [report('error', error.code, where, error.message)];
  }
}
