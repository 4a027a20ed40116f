import { writeFile } from 'node:fs/promises';
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
  /** The path from `writeIssueFile`. */
  readonly issueFile: string;
  /** The rules for pushes, for the ready-made scripts. */
  readonly deliveryFile: string;
  /** Null when a workspace is removed outside of a run. */
  readonly runId: string | null;
  readonly attempt: number | null;
  /** For `after_run`: how the run ended. */
  readonly runOutcome: string | null;
}

/** The folder of the ready-made scripts. */
const SHIPPED_SCRIPTS = fileURLToPath(new URL('scripts', import.meta.url));

/**
 * The variables of a hook. All of them are always set, possibly empty, so that scripts can use `set -u`. The text of an issue
 * reaches a script only through these variables and the issue file.
 */
export function hookVariables(context: HookContext): { readonly [name: string]: string } {
  const { issue } = context;
  return {
    BATON_HOOK: context.hook,
    BATON_HOOKS: SHIPPED_SCRIPTS,
    BATON_NODE: process.execPath,
    BATON_WORKFLOW_DIR: context.workflowDir,
    BATON_WORKSPACE: context.workspace,
    BATON_RUN_ID: context.runId ?? '',
    BATON_RUN_OUTCOME: context.runOutcome ?? '',
    BATON_ATTEMPT: context.attempt === null ? '' : String(context.attempt),
    BATON_ISSUE_FILE: context.issueFile,
    BATON_DELIVERY_FILE: context.deliveryFile,
    BATON_ISSUE_ID: issue.id,
    BATON_ISSUE_IDENTIFIER: issue.identifier,
    BATON_ISSUE_TITLE: issue.title,
    BATON_ISSUE_STATE: issue.state,
    BATON_ISSUE_URL: issue.url ?? '',
    BATON_ISSUE_BRANCH: issue.branch_name ?? '',
  };
}

/** Writes the issue as JSON into the folder of a hook, readable by the owner only. Never over a file or a link that is there. */
export async function writeIssueFile(folder: string, issue: Issue): Promise<string> {
  const path = join(folder, 'issue.json');
  await writeFile(path, `${JSON.stringify(issue, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  return path;
}
