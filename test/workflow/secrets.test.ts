import { expect, test } from 'vitest';
import { resolveSecret } from '../../src/workflow/secrets.js';
import { errorOf, loadSettings, warningsOf } from './workflow-fixture.js';

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
    mentions: false,
    isFlatForm: true,
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
