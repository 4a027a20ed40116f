import { expect, test } from 'vitest';
import { BUILT_IN_PROMPT } from '../../../src/workflow/load-workflow.js';
import { faultOf, loadSteps, stepOf } from './plan-fixture.js';

const EVERYTHING = `runtime: {backend: cli, max_inline_output_bytes: 1000}
capabilities: {connect_timeout_ms: 5000, modules: [fs, chat]}
executors:
  acme: { command: /opt/acme/harness, args: [run, --json], env: { PROFILE: ci, LEVEL: 3 }, model_flag: --model, timeout_seconds: 1800 }
services:
  defaults: { tenant: "4711", token: $RUNNER_TOKEN, timeout_s: 90 }
  gateway: { base_url: http://127.0.0.1:9001/ }
  sandbox: { base_url: http://127.0.0.1:9002, session: step, timeout_s: 30 }
  tools: { base_url: "http://[::1]:9003", validate_output: false, tenant: 5 }
  agents: { base_url: https://agents.example.org/v1, poll_interval_ms: 50, workspace_id: w, tenant_header: X-T }
inputs: { topic: "\${issue.title}" }
steps:
  - { id: plan, kind: llm, model: m-small, prompt: "Plan for: \${inputs.topic}", output_to: plan, retry: { max_attempts: 3 } }
  - { id: owners, kind: tool, tool: code-owners, args: { labels: "\${issue.labels}" }, idempotency_key: "\${issue.id}:owners", timeout_s: 20 }
  - { id: lint, kind: capability, type: skill, name: lint-check, params: { files: ["src/"] } }
  - { id: work, kind: agent, backend: auto }
  - id: review
    loop:
      max_iterations: 3
      break_when: "\${steps.critic.output.stop_reason} == 'approved'"
      steps:
        - { id: critic, kind: agent, backend: http, agent: reviewer, session: rev, input: { plan: "\${state.plan.output}" } }
        - id: fix
          kind: agent
          max_turns: 4
          prompt: |
            Address: {{ steps.critic.output.output }}
  - { id: check, kind: code, language: python, source: "print(1)", stdin: "\${state.plan.output}", env: {A: "\${iteration_not}"} }
  - { id: publish, kind: external, executor: acme, model: m-big, env_set: { STAGE: prod }, input: { task_id: "\${issue.id}", text: "\${steps.work.output.last_message}" }, when: "\${steps.check.output.exit_code} == 0" }
  - { id: both, parallel: [ { id: a, kind: tool, tool: t }, [ { id: b, kind: tool, tool: t }, { id: c, kind: tool, tool: t, when: true } ] ], join: any }
  - { id: each, fan_out: { items: "\${issue.labels}", max_workers: 2, steps: [ { id: one, kind: tool, tool: t, args: { item: "\${item}" } } ] }, fan_in: { join: 1 } }`;

test('a workflow with every kind and shape of step loads as a typed plan', async () => {
  const loaded = await loadSteps(EVERYTHING, { env: { RUNNER_TOKEN: 'canary' } });
  const { workflow } = loaded;
  const action = { shape: 'action', when: null, outputTo: null, retry: null, timeoutMs: null, idempotencyKey: null };

  expect(workflow.plan.isImplied).toBe(false);
  expect(workflow.plan.steps.map(({ id }) => id)).toEqual([
    'plan',
    'owners',
    'lint',
    'work',
    'review',
    'check',
    'publish',
    'both',
    'each',
  ]);
  expect(workflow.plan.inputs).toEqual({ topic: '${issue.title}' });
  expect(workflow.plan.backend).toEqual({ value: 'cli', source: 'runtime.backend', saidAuto: false });
  expect(stepOf(loaded, 'plan')).toEqual({
    ...action,
    id: 'plan',
    place: 'WORKFLOW.md:15:5',
    outputTo: 'plan',
    retry: { maxAttempts: 3, initialBackoffMs: 1000, backoffCapMs: 60_000, strategy: 'exponential' },
    timeoutMs: 90_000,
    action: {
      kind: 'llm',
      model: 'm-small',
      prompt: 'Plan for: ${inputs.topic}',
      maxTokens: null,
      temperature: null,
      stop: null,
    },
  });
  expect(stepOf(loaded, 'owners')).toMatchObject({
    timeoutMs: 20_000,
    idempotencyKey: '${issue.id}:owners',
    action: { kind: 'tool', tool: 'code-owners', args: { labels: '${issue.labels}' } },
  });
  expect(stepOf(loaded, 'lint')).toMatchObject({
    timeoutMs: null,
    action: { kind: 'capability', type: 'skill', name: 'lint-check', params: { files: ['src/'] } },
  });
  expect(stepOf(loaded, 'work')).toMatchObject({
    action: { kind: 'agent', backend: 'cli', prompt: workflow.prompt, maxTurns: 1, session: null },
  });
  expect(stepOf(loaded, 'review')).toMatchObject({
    shape: 'loop',
    maxIterations: 3,
    breakWhen: "${steps.critic.output.stop_reason} == 'approved'",
    items: null,
    steps: [{ id: 'critic' }, { id: 'fix' }],
  });
  expect(stepOf(loaded, 'critic')).toMatchObject({
    timeoutMs: 90_000,
    action: {
      kind: 'agent',
      backend: 'http',
      agent: 'reviewer',
      input: { plan: '${state.plan.output}' },
      strategy: null,
      session: 'rev',
    },
  });
  expect(stepOf(loaded, 'check')).toMatchObject({ timeoutMs: 30_000, action: { kind: 'code', cwd: null } });
  expect(stepOf(loaded, 'publish')).toMatchObject({
    timeoutMs: 1_800_000,
    when: '${steps.check.output.exit_code} == 0',
    action: { kind: 'external', executor: 'acme', model: 'm-big', envSet: { STAGE: 'prod' }, skills: [], memory: {} },
  });
  expect(stepOf(loaded, 'both')).toMatchObject({
    shape: 'parallel',
    join: 'any',
    branches: [[{ id: 'a' }], [{ id: 'b' }, { id: 'c', when: 'true' }]],
  });
  expect(stepOf(loaded, 'each')).toMatchObject({ shape: 'fan_out', items: '${issue.labels}', maxWorkers: 2, join: 1 });
  expect(workflow.config.runtime).toMatchObject({ backend: 'cli', maxInlineOutputBytes: 1000 });
  expect(workflow.config.capabilities).toEqual({ connectTimeoutMs: 5000, modules: ['fs', 'chat'] });
  expect(workflow.warnings).toEqual([]);
  expect(Object.isFrozen(workflow.plan.steps[0])).toBe(true);
});

test('a prompt in the front matter has the line number of its text', async () => {
  const block = await loadSteps(EVERYTHING, { env: { RUNNER_TOKEN: 'x' } });
  const inline = await loadSteps('steps:\n  - id: a\n    kind: agent\n    prompt: "Do {{ issue.title }}"');

  expect(stepOf(block, 'fix')).toMatchObject({
    action: {
      maxTurns: 4,
      prompt: { text: 'Address: {{ steps.critic.output.output }}\n', startLine: 29, file: 'WORKFLOW.md' },
    },
  });
  expect(stepOf(inline, 'a')).toMatchObject({ action: { prompt: { text: 'Do {{ issue.title }}', startLine: 6 } } });
});

test('without steps the plan is one agent step with the body as its prompt', async () => {
  const { workflow } = await loadSteps('agent: {max_turns: 7}', { body: 'Do {{ issue.title }}' });

  expect(workflow.plan).toEqual({
    isImplied: true,
    steps: [
      {
        shape: 'action',
        id: 'agent',
        place: 'WORKFLOW.md:5:1',
        when: null,
        outputTo: null,
        retry: null,
        timeoutMs: null,
        idempotencyKey: null,
        action: { kind: 'agent', backend: 'cli', prompt: workflow.prompt, maxTurns: 7, session: null },
      },
    ],
    inputs: {},
    backend: { value: 'http', source: 'built-in', saidAuto: false },
    executors: {},
    services: { gateway: null, sandbox: null, tools: null, agents: null },
  });
  expect(workflow.prompt).toEqual({ text: 'Do {{ issue.title }}', startLine: 5, file: 'WORKFLOW.md' });
  expect(workflow.config.runtime).toMatchObject({ backend: null, maxInlineOutputBytes: 65_536 });
  expect(workflow.config.capabilities).toEqual({
    connectTimeoutMs: 30_000,
    modules: ['fs', 'terminal', 'project', 'capability', 'sideExecution', 'chat'],
  });
});

test('without steps and without a body the agent step has the built-in prompt', async () => {
  const { workflow } = await loadSteps('', { body: '' });

  expect(workflow.plan.steps).toMatchObject([{ action: { prompt: { text: BUILT_IN_PROMPT, startLine: 0 } } }]);
});

test('steps that are empty, not a list, or not maps are rejected', async () => {
  expect((await faultOf('steps: []')).message).toContain('WORKFLOW.md:3:8 steps is empty');
  expect((await faultOf('steps: {a: 1}')).message).toContain('steps must be a list of steps, got a map');
  expect((await faultOf('steps: [5]')).message).toContain('steps[0] must be a map with an id and a kind, got a number');
});

test('more than 500 steps are rejected', async () => {
  const many = Array.from({ length: 501 }, (_, index) => `{id: s${index}, kind: agent}`).join(', ');

  expect((await faultOf(`steps: [${many}]`)).message).toContain(
    'steps has 501 steps in total, and at most 500 are allowed',
  );
});
