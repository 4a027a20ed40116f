import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { HookName } from '../src/domain/config.js';
import type { Issue } from '../src/domain/issue.js';

export interface HookContext {
  readonly hook: HookName;
  readonly issue: Issue;
  /** Path of the workspace. */
  readonly workspace: string;
  /** The folder of WORKFLOW.md. */
  readonly workflowDir: string;
  /** What `writeIssueFile` answered. */
  readonly issueFile: string;
  /** `null` where a workspace is removed outside of any run. */
  readonly runId: string | null;
  readonly attempt: number | null;
  /** For `after_run`: how the run ended. */
  readonly runOutcome: string | null;
}

/** The folder of the ready-made scripts. */
const SHIPPED_SCRIPTS = fileURLToPath(new URL('scripts', import.meta.url));

/**
 * Everything a hook is told. All of them are always set, empty where there is nothing to say, so that scripts may use
 * `set -u`. The text of an issue reaches a script in no other way than these variables and the issue file.
 */
export function hookVariables(context: HookContext): { readonly [name: string]: string } {
  const { issue } = context;
  return {
    BATON_HOOK: context.hook,
    BATON_HOOKS: SHIPPED_SCRIPTS,
    BATON_WORKFLOW_DIR: context.workflowDir,
    BATON_WORKSPACE: context.workspace,
    BATON_RUN_ID: context.runId ?? '',
    BATON_RUN_OUTCOME: context.runOutcome ?? '',
    BATON_ATTEMPT: context.attempt === null ? '' : String(context.attempt),
    BATON_ISSUE_FILE: context.issueFile,
    BATON_ISSUE_ID: issue.id,
    BATON_ISSUE_IDENTIFIER: issue.identifier,
    BATON_ISSUE_TITLE: issue.title,
    BATON_ISSUE_STATE: issue.state,
    BATON_ISSUE_URL: issue.url ?? '',
    BATON_ISSUE_BRANCH: issue.branch_name ?? '',
  };
}

/**
 * Writes the whole issue as JSON into the run's temporary folder, readable by the owner only. Written anew before every
 * hook: an agent can write there too, so whatever lies there (a symlink, a folder, a forged issue) is replaced, not followed.
 */
export async function writeIssueFile(tmpDir: string, issue: Issue): Promise<string> {
  const path = join(tmpDir, 'issue.json');
  await rm(path, { recursive: true, force: true });
  await writeFile(path, `${JSON.stringify(issue, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  return path;
}
