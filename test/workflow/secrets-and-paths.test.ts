import { createHash } from 'node:crypto';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { resolveSecret } from '../../src/workflow/secrets.js';
import { workflowKey } from '../../src/workflow/workspace-root.js';
import { errorOf, load, loadSettings, temporaryFolder, warningsOf, writeWorkflow } from './workflow-fixture.js';

const rootOf = async (root: string, env: NodeJS.ProcessEnv = {}) => {
  const { workflow } = await loadSettings(`tracker: {kind: local}\nworkspace: {root: ${JSON.stringify(root)}}`, env);
  return { root: workflow.config.workspace.root, dir: workflow.dir, warnings: warningsOf(workflow) };
};

test('an OpenAI Symphony file runs unchanged: flat Linear keys, quoted numbers, comma-separated states', async () => {
  const { workflow } = await loadSettings(
    [
      'tracker:',
      '  kind: linear',
      '  endpoint: https://api.linear.app/graphql',
      '  api_key: $LINEAR_KEY',
      '  project_slug: "abc-123"',
      '  assignee: me',
      '  active_states: Todo, In Progress',
      '  terminal_states: [Done, Closed]',
      'polling: {interval_ms: "5000"}',
      'workspace: {root: ~/code/workspaces}',
      'agent: {max_concurrent_agents: 10, max_turns: 20}',
      'codex:',
      '  command: codex --config model_reasoning_effort=xhigh app-server',
      '  approval_policy: never',
      '  thread_sandbox: workspace-write',
      '  turn_sandbox_policy: {type: workspaceWrite}',
    ].join('\n'),
  );

  expect(workflow.config.tracker).toEqual({
    kind: 'linear',
    provider: {
      endpoint: 'https://api.linear.app/graphql',
      api_key: '$LINEAR_KEY',
      project_slug: 'abc-123',
      assignee: 'me',
    },
    activeStates: ['Todo', 'In Progress'],
    terminalStates: ['Done', 'Closed'],
    requiredLabels: [],
    trust: null,
  });
  expect(workflow.config.polling.intervalMs).toBe(5000);
  expect(workflow.config.workspace.root).toBe('/home/someone/code/workspaces');
  expect(workflow.warnings).toEqual([]);
});

test('the same key under tracker.provider overrides a flat key, with a warning', async () => {
  const { workflow } = await loadSettings('tracker: {kind: linear, project_slug: old, provider: {project_slug: new}}');

  expect(workflow.config.tracker.provider).toEqual({ project_slug: 'new' });
  expect(warningsOf(workflow)[0]).toContain('tracker.project_slug has no effect');
});

test('$NAME in provider settings is not expanded, and its variable counts as secret', async () => {
  const { workflow, literalSecrets } = await loadSettings(
    'tracker: {kind: github, provider: {token: $MY_TOKEN, nested: {list: [$DEEP]}, text: "a $NOT one"}}',
    { MY_TOKEN: 'canary' },
  );

  expect(workflow.config.tracker.provider.token).toBe('$MY_TOKEN');
  expect([...workflow.secretNames].sort()).toEqual(['DEEP', 'GH_TOKEN', 'GITHUB_TOKEN', 'MY_TOKEN']);
  expect(literalSecrets).toEqual([]);
  expect(JSON.stringify(workflow)).not.toContain('canary');
});

test('the default variable of another tracker does not count as secret', async () => {
  expect((await loadSettings('tracker: {kind: local}')).workflow.secretNames).toEqual([]);
  expect((await loadSettings('tracker: {kind: linear}')).workflow.secretNames).toEqual(['LINEAR_API_KEY']);
});

test('SEC-21 a literal token causes a warning without its value, and is returned for masking', async () => {
  const { workflow, literalSecrets } = await loadSettings(
    'tracker:\n  kind: linear\n  api_key: lin_canary1\n  provider:\n    apiToken: canary2\n    endpoint: https://me:canary3@example.org/\n    headers: {Authorization: Bearer canary4}\n    password: 1234567',
  );

  expect([...literalSecrets].sort()).toEqual(['1234567', 'Bearer canary4', 'canary2', 'canary3', 'lin_canary1']);
  expect(workflow.config.tracker.provider.api_key).toBe('lin_canary1');
  expect(workflow.warnings).toHaveLength(5);
  expect(warningsOf(workflow)[0]).toMatch(/^WORKFLOW\.md:4:12 tracker\.api_key holds a secret in the file/);
  expect(warningsOf(workflow).join()).not.toMatch(/canary|1234567/);
});

test('SEC-21 variables of a tracker program count as secrets by their usual names; other variables do not', async () => {
  const { literalSecrets } = await loadSettings(
    'tracker: {kind: local, provider: {env: {BOARD_PAT: canary1, AUTH: canary2, MY_KEY: canary3, LANG: C.UTF-8, BOARD_KEYS: many}}}',
  );

  expect([...literalSecrets].sort()).toEqual(['canary1', 'canary2', 'canary3']);
});

test('a token written as ${NAME} causes a warning that it is used literally', async () => {
  const { workflow } = await loadSettings(`tracker: {kind: linear, api_key: "\${LINEAR_API_KEY}"}`);

  expect(warningsOf(workflow)[0]).toContain('is taken literally; write $LINEAR_API_KEY');
});

test('SEC-20 an error does not show a misplaced token', async () => {
  const error = await errorOf(loadSettings('tracker: {kind: linear, provider: lin_canary}'));

  expect(error.message).toBe('WORKFLOW.md:2:35 tracker.provider must be a map, got text');
});

test('resolveSecret returns the value of $NAME or the literal; an empty value is missing', () => {
  const env = { FULL: 'x', EMPTY: '', BLANK: '  ' };

  expect(
    ['$FULL', '$EMPTY', '$BLANK', '$UNSET', 'literal', '', 42, null, undefined, ['$FULL']].map((v) =>
      resolveSecret(v, env),
    ),
  ).toEqual(['x', null, null, null, 'literal', null, '42', null, null, null]);
});

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
