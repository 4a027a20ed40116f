import type { CodexConfig } from '../../../src/domain/config.js';
import type { Json } from '../../../src/domain/json.js';

/**
 * What each turn may write. Set by the user: passed on as it is. Otherwise, under `workspace-write`, the workspace and the run's own
 * TMPDIR, named outright: the TMPDIR variable may have been changed by the login shell, and the system's temp folder is shared with others.
 * Any other `thread_sandbox` is a choice of its own, which a turn policy would silently undo: then none is sent.
 */
export function sandboxPolicyOf(codex: CodexConfig, workspace: string, tmpDir: string): Json {
  if (codex.turnSandboxPolicy !== null) return codex.turnSandboxPolicy;
  if (codex.threadSandbox !== 'workspace-write') return null;
  return {
    type: 'workspaceWrite',
    writableRoots: [workspace, tmpDir],
    networkAccess: false,
    excludeTmpdirEnvVar: true,
    excludeSlashTmp: true,
  };
}
