import { lstat, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { hookVariables, writeIssueFile } from '../../hooks/hook-variables.js';
import { tempFolder } from '../runner/workspace/temp-folder.js';
import { issue } from '../support/builders.js';

const context = {
  hook: 'after_run' as const,
  workspace: '/ws/AB-1',
  workflowDir: '/project',
  issueFile: '/tmp/run/issue.json',
  deliveryFile: '/tmp/run/delivery.json',
  runId: 'r1',
  attempt: 2,
  runOutcome: 'success',
};

describe('hookVariables', () => {
  test('returns all documented variables', () => {
    const given = issue({
      id: '7',
      identifier: 'AB-1',
      title: 'T',
      state: 'Todo',
      url: 'https://x/7',
      branch_name: 'ab-1',
    });

    expect(hookVariables({ ...context, issue: given })).toEqual({
      BATON_HOOK: 'after_run',
      BATON_HOOKS: expect.stringMatching(/hooks\/scripts$/),
      BATON_NODE: process.execPath,
      BATON_WORKFLOW_DIR: '/project',
      BATON_WORKSPACE: '/ws/AB-1',
      BATON_RUN_ID: 'r1',
      BATON_RUN_OUTCOME: 'success',
      BATON_ATTEMPT: '2',
      BATON_ISSUE_FILE: '/tmp/run/issue.json',
      BATON_DELIVERY_FILE: '/tmp/run/delivery.json',
      BATON_ISSUE_ID: '7',
      BATON_ISSUE_IDENTIFIER: 'AB-1',
      BATON_ISSUE_TITLE: 'T',
      BATON_ISSUE_STATE: 'Todo',
      BATON_ISSUE_URL: 'https://x/7',
      BATON_ISSUE_BRANCH: 'ab-1',
    });
  });

  test('a missing value is empty, not unset', () => {
    const variables = hookVariables({ ...context, issue: issue(), runId: null, attempt: null, runOutcome: null });

    expect(variables).toMatchObject({
      BATON_RUN_ID: '',
      BATON_ATTEMPT: '',
      BATON_RUN_OUTCOME: '',
      BATON_ISSUE_URL: '',
    });
  });

  test('SEC-10 newlines and shell syntax are not changed', () => {
    const title = 'a\n$(touch x)`y`"\'';

    expect(hookVariables({ ...context, issue: issue({ title }) }).BATON_ISSUE_TITLE).toBe(title);
  });
});

describe('writeIssueFile', () => {
  test('writes the whole issue, readable only by the owner', async () => {
    const given = issue({ title: 'a\0b', description: 'x'.repeat(200_000) });

    const path = await writeIssueFile(await tempFolder(), given);

    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual(given);
    expect((await lstat(path)).mode & 0o777).toBe(0o600);
  });

  test('a file or a symlink at the path is not written over', async () => {
    const folder = await tempFolder();
    await writeFile(join(folder, 'precious'), 'kept');
    await symlink(join(folder, 'precious'), join(folder, 'issue.json'));

    await expect(writeIssueFile(folder, issue())).rejects.toThrow('EEXIST');

    expect(await readFile(join(folder, 'precious'), 'utf8')).toBe('kept');
  });
});
