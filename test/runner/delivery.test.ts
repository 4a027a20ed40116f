import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pushQuestion, readHeldPush, writeDeliveryFile } from '../../runner/delivery.js';
import type { Delivery } from '../../runner/git/delivery-file.js';
import { ruleFor } from '../../runner/git/protected-paths.js';
import { secretPrints } from '../../src/domain/find-secrets.js';
import { issue } from '../support/builders.js';
import { loadSettings } from '../workflow/workflow-fixture.js';
import { tempFolder } from './workspace/temp-folder.js';

/** The action for a path, when WORKFLOW.md is in the folder `ops` of a repository. */
async function actionsWith(settings: string) {
  const root = await tempFolder();
  const dir = join(root, 'ops');
  for (const folder of ['.git', 'ops/backlog', 'shared/executors'])
    await mkdir(join(root, folder), { recursive: true });
  await writeFile(join(root, 'shared/flow.md'), '');
  await symlink('../shared/flow.md', join(dir, 'WORKFLOW.md'));
  await symlink('../shared/executors', join(dir, '.baton'));
  const { workflow } = await loadSettings(settings);
  const file = await writeDeliveryFile(root, {
    workflow: { ...workflow, path: join(dir, 'WORKFLOW.md'), dir },
    issue: issue({}),
    approved: null,
    secrets: secretPrints([], 'salt'),
  });
  const { rules } = JSON.parse(await readFile(file, 'utf8')) as Delivery;
  return (path: string) => ruleFor(path, rules)?.action ?? null;
}

test('SEC-30 the files of the workflow are never pushed, nor are those that links among them lead to', async () => {
  const actionOf = await actionsWith('tracker: { kind: local }');

  for (const path of ['ops/WORKFLOW.md', 'ops/.baton/x', 'ops/.codebolt/x', 'shared/flow.md', 'shared/executors/x'])
    expect(actionOf(path)).toBe('leave_out');
  for (const path of ['ops/x', 'shared/x', 'backlog/x']) expect(actionOf(path)).toBeNull();
});

test('SEC-30 the folder of the local tracker is never pushed, also when the settings do not name it', async () => {
  expect((await actionsWith('tracker: { kind: local }'))('ops/backlog/tasks/x.md')).toBe('leave_out');
  expect((await actionsWith('tracker: { kind: local, provider: { path: ../tasks } }'))('tasks/x.md')).toBe('leave_out');
});

test('SEC-30 the workflow may allow that its own files are pushed', async () => {
  const actionOf = await actionsWith(
    'tracker: { kind: local }\ndelivery: { protected_paths: { /ops/WORKFLOW.md: allow } }',
  );

  expect(actionOf('ops/WORKFLOW.md')).toBe('allow');
  expect(actionOf('ops/.baton/x')).toBe('leave_out');
});

test.each([
  [true, true],
  [undefined, true],
  [false, undefined],
])('SEC-36 a report of a held push with isCut %s becomes a question with isCut %s', async (isCut, expected) => {
  const folder = await tempFolder();
  await writeFile(join(folder, 'held-push.json'), JSON.stringify({ digest: 'd', text: 't', isCut }));

  const hold = await readHeldPush(folder);

  expect(hold && pushQuestion('r', hold).isCut).toBe(expected);
});
