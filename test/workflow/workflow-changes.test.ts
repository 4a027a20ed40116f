import { expect, test } from 'vitest';
import type { Workflow } from '../../src/domain/workflow.js';
import { allowedContent, heldChanges } from '../../src/workflow/allowed-content.js';
import { describeChanges, effectiveNow } from '../../src/workflow/workflow-changes.js';
import { loadSettings } from './workflow-fixture.js';

const BASE = 'workspace: {root: /w}\n';
const workflow = async (yaml: string): Promise<Workflow> => (await loadSettings(BASE + yaml)).workflow;

test('equal workflows have no changes and need no restart', async () => {
  const [old, next] = [
    await workflow('tracker: {kind: linear, provider: {a: 1, b: {c: 2, d: 3}}}'),
    await workflow('tracker: {provider: {b: {d: 3, c: 2}, a: 1}, kind: linear}'),
  ];

  expect(describeChanges(old, next)).toEqual([]);
  expect(effectiveNow(old, next)).toEqual({ effective: next, waitingKeys: [] });
});

test('a change has the key as in the file, the old value and the new value', async () => {
  const old = await workflow('tracker: {kind: local}');
  const next = await workflow(
    'tracker: {kind: local, active_states: [a, b]}\nagent: {max_turns: 30, max_concurrent_agents_by_state: {x: 1}}\nserver: {port: 80}',
  );

  expect(describeChanges(old, next)).toEqual([
    'tracker.active_states: ["todo"] → ["a","b"] (security)',
    'agent.max_concurrent_agents_by_state: {} → {"x":1}',
    'agent.max_turns: 20 → 30',
    'server.port: none → 80 (security)',
  ]);
});

test('a changed prompt is a change', async () => {
  const old = await workflow('tracker: {kind: local}');

  expect(describeChanges(old, { ...old, prompt: { ...old.prompt, text: 'other' } })).toEqual(['prompt changed']);
});

test('SEC-27 changes of hooks, the agent command and policies are marked as security changes', async () => {
  const old = await workflow('tracker: {kind: local, required_labels: [baton]}\nhooks: {before_run: a, after_run: b}');
  const next = await workflow(
    [
      'tracker: {kind: local, trust: anyone}',
      'hooks: {before_run: canary, after_create: c, env_allow: [TOKEN]}',
      'codex: {command: evil canary, on_approval_request: accept, approval_policy: on-request, thread_sandbox: danger-full-access, turn_sandbox_policy: {type: dangerFullAccess}}',
      'runtime: {env: inherit, env_allow: ["*"], isolation: none}',
    ].join('\n'),
  );

  const changes = describeChanges(old, next);

  expect(changes).toEqual([
    'tracker.required_labels: ["baton"] → [] (security)',
    'tracker.trust: none → anyone (security)',
    'hooks.after_create added (security)',
    'hooks.before_run changed (security)',
    'hooks.after_run removed (security)',
    'hooks.env_allow: [] → ["TOKEN"] (security)',
    'codex.command changed (security)',
    'codex.approval_policy: never → on-request (security)',
    'codex.thread_sandbox: none → danger-full-access (security)',
    'codex.turn_sandbox_policy: none → {"type":"dangerFullAccess"} (security)',
    'codex.on_approval_request: decline → accept (security)',
    'runtime.env: allowlist → inherit (security)',
    'runtime.env_allow: [] → ["*"] (security)',
    'runtime.isolation: auto → none (security)',
  ]);
});

test("SEC-30 a change to Symphony's flat form, which switches the raw tool on, waits to be allowed", async () => {
  const old = await workflow('tracker: {kind: linear, provider: {project_slug: a}}');
  const next = await workflow('tracker: {kind: linear, project_slug: a}');
  const overridden = await workflow('tracker: {kind: linear, project_slug: b, provider: {project_slug: a}}');

  for (const flat of [next, overridden]) {
    expect(heldChanges(allowedContent(old, '', 0), flat)).toEqual(['tracker.provider.raw_tool (flat form) added']);
    expect(describeChanges(old, flat)).toEqual(['tracker.provider.raw_tool (flat form) added (security)']);
    expect(effectiveNow(old, flat).waitingKeys).toEqual(['tracker.provider.raw_tool (flat form)']);
  }
});

test('SEC-27 a change does not show values of provider settings', async () => {
  const old = await workflow('tracker: {kind: linear, provider: {api_key: canary1}}');
  const next = await workflow('tracker: {kind: linear, provider: {api_key: canary2, x: canary3}}');

  expect(describeChanges(old, next)).toEqual([
    'tracker.provider.api_key changed (security)',
    'tracker.provider.x added (security)',
  ]);
});

test('keys that need a restart keep their running values; all others apply', async () => {
  const running = await workflow('tracker: {kind: linear, provider: {project_slug: a}}\nserver: {port: 1}');
  const next = {
    ...(await workflow(
      'tracker: {kind: linear, provider: {project_slug: $B}, active_states: [New]}\nserver: {port: 2, host: "::1"}\nruntime: {isolation: none, env: inherit}\nagent: {max_turns: 7}',
    )),
    hash: 'next',
  };
  const moved = { ...next, config: { ...next.config, workspace: { ...next.config.workspace, root: '/elsewhere' } } };

  const { effective, waitingKeys } = effectiveNow(running, moved);

  expect(waitingKeys).toEqual([
    'tracker.provider.project_slug',
    'workspace.root',
    'server.port',
    'server.host',
    'runtime.isolation',
  ]);
  expect(effective.hash).toBe('next');
  expect(effective.secretNames).toEqual(['LINEAR_API_KEY', 'B']);
  expect(effective.config).toMatchObject({
    tracker: { provider: { project_slug: 'a' }, activeStates: ['New'] },
    workspace: { root: '/w' },
    server: { port: 1, host: '127.0.0.1' },
    runtime: { isolation: 'auto', env: 'inherit' },
    agent: { maxTurns: 7 },
  });
});

test('another tracker kind keeps all running tracker settings, because its states do not exist in the running tracker', async () => {
  const running = await workflow('tracker: {kind: linear}');
  const next = await workflow('tracker: {kind: github, required_labels: [x]}');

  const { effective, waitingKeys } = effectiveNow(running, next);

  expect(waitingKeys).toEqual(['tracker.kind']);
  expect(effective.config.tracker).toEqual(running.config.tracker);
});

test('SEC-27 plan changes are listed by name only; those that run code are marked as security changes', async () => {
  const services = (token: string) =>
    `services: {defaults: {tenant: t, token: ${token}}, gateway: {base_url: "http://127.0.0.1:1"}}`;
  const old = await workflow(
    `tracker: {kind: local}\n${services('canary1')}\ninputs: {a: canary1}\nexecutors: {e: {command: canary1}}\nsteps: [{id: a, kind: agent, prompt: canary1}]`,
  );
  const next = await workflow(
    `tracker: {kind: local}\n${services('canary2')}\ninputs: {a: canary2}\nexecutors: {e: {command: canary2}}\nsteps: [{id: a, kind: agent, prompt: canary2}]`,
  );

  expect(describeChanges(old, next)).toEqual([
    'steps changed (security)',
    'executors changed (security)',
    'services changed (security)',
    'inputs changed (security)',
  ]);
});

test('steps that only moved to other lines, or whose prompt is the body, are unchanged', async () => {
  const steps = 'steps: [{id: a, kind: agent}, {id: b, kind: agent, prompt: Do}]';
  const old = await workflow(`tracker: {kind: local}\n${steps}`);
  const moved = await workflow(`tracker: {kind: local}\n# one\n# two\n${steps}`);
  const rewritten = {
    ...old,
    prompt: { ...old.prompt, text: 'other' },
    plan: JSON.parse(JSON.stringify(old.plan).replace('Do it.', 'other')),
  };

  expect(describeChanges(old, moved)).toEqual([]);
  expect(describeChanges(old, rewritten)).toEqual(['prompt changed']);
});

test('adding steps to a workflow without steps is a change of steps', async () => {
  const [old, next] = [
    await workflow('tracker: {kind: local}'),
    await workflow('tracker: {kind: local}\nsteps: [{id: a, kind: agent}]'),
  ];

  expect(describeChanges(old, next)).toEqual(['steps changed (security)']);
});
