import { createHash } from 'node:crypto';
import { mkdirSync, rmdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { workflowKey } from '../../src/workflow/workflow-key.js';
import { errorOf, load, loadSettings, temporaryFolder, warningsOf, writeWorkflow } from './workflow-fixture.js';

const rootOf = async (root: string, env: NodeJS.ProcessEnv = {}) => {
  const { workflow } = await loadSettings(`tracker: {kind: local}\nworkspace: {root: ${JSON.stringify(root)}}`, env);
  return { root: workflow.config.workspace.root, dir: workflow.dir, warnings: warningsOf(workflow) };
};

test('S2-06 workspace.root expands ~ and $NAME; a relative path starts at the folder of the file', async () => {
  expect((await rootOf('~')).root).toBe('/home/someone');
  expect((await rootOf('~/a/../b')).root).toBe('/home/someone/b');
  expect((await rootOf('/abs/x')).root).toBe('/abs/x');
  expect((await rootOf('$ROOT', { ROOT: '/from/env' })).root).toBe('/from/env');
  expect((await rootOf('$ROOT', { ROOT: '~/env' })).root).toBe('/home/someone/env');
  for (const bare of ['work', './work', '~other', 'a~b']) {
    const { root, dir } = await rootOf(bare);
    expect(root).toBe(path.join(dir, bare));
  }
});

test('an empty variable in workspace.root counts as missing; the error names it', async () => {
  const error = await errorOf(rootOf('$ROOT', { ROOT: '' }));

  expect(error.code).toBe('invalid_workflow_config');
  expect(error.message).toContain('the variable ROOT is not set or empty');
});

test('a variable inside a longer workspace.root is not expanded and causes a warning', async () => {
  const { root, dir, warnings } = await rootOf('$HOME/work', { HOME: '/h' });

  expect(root).toBe(path.join(dir, '$HOME/work'));
  expect(warnings[0]).toContain('$NAME stands for a variable only as the whole value');
});

test('the default workspace root is in the user’s data folder, in a folder derived from the path of the workflow', async () => {
  const file = writeWorkflow('---\ntracker: {kind: local}\n---\n');
  const key = createHash('sha256').update(file).digest('hex').slice(0, 12);

  const roots = [];
  for (const env of [{}, { XDG_DATA_HOME: '/data' }, { XDG_DATA_HOME: 'relative' }, { XDG_DATA_HOME: '' }]) {
    roots.push((await load(file, env)).workflow.config.workspace.root);
  }

  const home = `/home/someone/.local/share/baton/${key}/workspaces`;
  expect(roots).toEqual([home, `/data/baton/${key}/workspaces`, home, home]);
});

test('the key of a workflow does not change through a symlinked folder or when the file’s symlink is replaced', async () => {
  const folder = temporaryFolder();
  mkdirSync(path.join(folder, 'real'));
  symlinkSync('real', path.join(folder, 'link'));
  const file = path.join(folder, 'real', 'WORKFLOW.md');
  writeFileSync(path.join(folder, 'one.md'), '');
  const before = await workflowKey(file);
  symlinkSync('../one.md', file);

  expect(await workflowKey(path.join(folder, 'link', 'WORKFLOW.md'))).toBe(before);
});

test('SEC-30 a branch that makes the folder of WORKFLOW.md a link does not change the key, so the next start is not a first one', async () => {
  const folder = temporaryFolder();
  for (const name of ['repository/.git', 'repository/ops', 'repository/evil'])
    mkdirSync(path.join(folder, name), { recursive: true });
  symlinkSync('repository', path.join(folder, 'link'));
  const file = path.join(folder, 'repository/ops/WORKFLOW.md');
  const before = await workflowKey(file);

  rmdirSync(path.join(folder, 'repository/ops'));
  symlinkSync('evil', path.join(folder, 'repository/ops'));

  expect(await workflowKey(file)).toBe(before);
  expect(await workflowKey(path.join(folder, 'link/ops/WORKFLOW.md'))).toBe(before);
});

test.each([
  ['the folder itself', '.', true],
  ['a parent', '..', true],
  ['a sibling folder', 'workspaces', false],
  ['a folder with the same prefix', '../WORK', false],
])('SEC-28 a WORKFLOW.md inside workspace.root causes a warning: root is %s', async (_name, root, isInside) => {
  const { warnings } = await rootOf(root);

  expect(warnings.some((warning) => warning.includes('lies inside workspace.root'))).toBe(isInside);
});

test('SEC-28 a WORKFLOW.md that links into workspace.root causes a warning', async () => {
  const folder = temporaryFolder();
  mkdirSync(path.join(folder, 'root', 'A-1'), { recursive: true });
  writeWorkflow('---\ntracker: {kind: local}\nworkspace: {root: root}\n---\n', path.join(folder, 'root', 'A-1'));
  symlinkSync('root/A-1/WORKFLOW.md', path.join(folder, 'WORKFLOW.md'));

  const { workflow } = await load(path.join(folder, 'WORKFLOW.md'));

  expect(warningsOf(workflow)[0]).toContain('lies inside workspace.root');
});
