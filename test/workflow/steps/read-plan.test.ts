import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BatonError } from '../../../src/domain/errors.js';
import { problemsOf } from '../../../src/domain/workflow.js';
import { BUILT_IN_PROMPT, parseWorkflow } from '../../../src/workflow/load-workflow.js';
import { optionsWith } from '../workflow-fixture.js';
import { definition, faultOf, loadSteps, stepOf } from './plan-fixture.js';

const LLM = (id: string) => `{id: ${id}, kind: llm, model: m, prompt: p}`;
const AUTO = '{id: z, kind: agent, backend: auto}';

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

test('all errors of settings, steps, services, executors and definitions are reported together, each with its position and code', async () => {
  const error = await faultOf(
    `agent: { max_turns: many }
services:
  tools: { base_url: "ftp://x" }
executors:
  bad: { command: x, arg: [] }
inputs: { a: "\${steps.x.output}" }
activities:
  old: { schemaVersion: 1, kind: agent }
steps:
  - { id: one, kind: llm, model: m, prompt: "\${issue.titel}" }
  - { id: one, kind: agent, session: s, whn: 1 }
  - { id: three, kind: external, executor: nobody, when: "1 =" }
  - { id: four, target: "activity:gone" }
  - { id: five, kind: agent, backend: http }
codx: {}`,
    {
      backendFlag: 'x',
      project: { '.baton/executors/wrong.yaml': definition('other') },
    },
  );
  const problems = problemsOf(error);

  expect(error.code).toBe('invalid_workflow_config');
  expect(problems.map(({ code, file, at }) => `${file} ${at.line}:${at.column} ${code}`)).toEqual([
    'null 1:1 invalid_backend',
    'WORKFLOW.md 3:21 invalid_workflow_config',
    'WORKFLOW.md 5:22 invalid_workflow_config',
    'WORKFLOW.md 7:22 invalid_workflow_config',
    'WORKFLOW.md 8:14 step_data_error',
    'WORKFLOW.md 10:10 JobValidation',
    'WORKFLOW.md 12:22 JobValidation',
    'WORKFLOW.md 12:45 step_data_error',
    'WORKFLOW.md 13:11 JobValidation',
    'WORKFLOW.md 13:38 JobValidation',
    'WORKFLOW.md 13:41 invalid_workflow_config',
    'WORKFLOW.md 14:44 EXECUTOR_NOT_FOUND',
    'WORKFLOW.md 14:58 expression_error',
    'WORKFLOW.md 15:25 JobValidation',
    'WORKFLOW.md 16:39 UnwiredHttpTransport',
    'WORKFLOW.md 17:1 unknown_key',
    '.baton/executors/wrong.yaml 4:9 invalid_workflow_config',
  ]);
  expect(error.message.split('\n')).toHaveLength(problems.length);
  expect(error.message).toContain('WORKFLOW.md:13:38 step "one": session "s" needs backend http');
});

test('the error has the code that all problems share; a warning about an unknown key does not change it', async () => {
  const error = await faultOf('agnet: {}\nsteps: [{id: a, kind: agent, session: s}, {id: b, kind: agent, session: t}]');

  expect(error.code).toBe('JobValidation');
  expect(error.message.split('\n')).toHaveLength(3);
});

test('for arbitrary steps only BatonError is thrown', async () => {
  const key = fc.constantFrom(
    ...[
      'id',
      'kind',
      'steps',
      'loop',
      'parallel',
      'fan_out',
      'fan_in',
      'items',
      'target',
      'when',
      'break_when',
      'join',
    ],
    ...[
      'prompt',
      'session',
      'backend',
      'input',
      'args',
      'executor',
      'max_iterations',
      'max_workers',
      'retry',
      'env_set',
    ],
    ...[
      'defaults',
      'gateway',
      'base_url',
      'token',
      'tenant',
      'command',
      'env',
      'schemaVersion',
      'a',
      '__proto__',
      'toString',
    ],
  );
  const leaf = fc.oneof(
    fc.string(),
    fc.integer(),
    fc.boolean(),
    fc.constantFrom(
      null,
      'a',
      'agent',
      'llm',
      'tool',
      'http',
      'auto',
      'activity:a',
      '$TOKEN',
      '${issue.title}',
      '${steps.a.output}',
      '${item}',
      '${',
    ),
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 6, withCrossShrink: true },
      leaf,
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(key, tie('tree'), { maxKeys: 5 }),
    ),
  }));
  const top = fc.record(
    {
      steps: fc.oneof(fc.array(tree, { maxLength: 3 }), tree),
      activities: tree,
      executors: tree,
      services: tree,
      inputs: tree,
    },
    { requiredKeys: [] },
  );

  await fc.assert(
    fc.asyncProperty(top, async (settings) => {
      const bytes = Buffer.from(`---\n${JSON.stringify({ tracker: { kind: 'local' }, ...settings })}\n---\nHi`);
      const file = { path: '/nowhere/WORKFLOW.md', bytes, hash: 'h' };
      await parseWorkflow(file, optionsWith({ TOKEN: 'x' })).catch((error: unknown) => {
        if (!(error instanceof BatonError)) throw error;
      });
    }),
    { numRuns: 300 },
  );
});

test.each([
  [
    'an address',
    'services: {gateway: {base_url: "ftp://x", tenant: t, token: $TOKEN}}',
    LLM('a'),
    'base_url must begin',
  ],
  ['a missing service of several steps', '', `${LLM('a')}, ${LLM('b')}`, 'step "a": kind llm needs a service'],
  ['a definition', 'executors: {e: {comand: x}}', '{id: a, kind: external, executor: e}', 'unknown key comand'],
  ['runtime.backend', 'runtime: {backend: clli}', AUTO, 'runtime.backend must be one of'],
  [
    'an invalid setting beside a valid backend',
    'runtime: {backend: cli}\nagent: {max_turns: x}',
    AUTO,
    'agent.max_turns',
  ],
])('an error is reported once, without errors that only follow from it: %s', async (_, more, steps, part) => {
  const { message } = await faultOf(`${more}\nsteps: [${steps}]`, { env: { TOKEN: 'x' } });

  expect(message.split('\n')).toEqual([expect.stringContaining(part)]);
});

test('S1-27 an invalid variable is reported once, and no step reports a backend taken from it', async () => {
  const { message } = await faultOf(`steps: [${AUTO}]`, { env: { BATON_BACKEND: 'clii' } });

  expect(message).toBe('the variable BATON_BACKEND must be one of http, cli, auto, got "clii"');
});

test('an invalid variable name is reported as invalid', async () => {
  const { message } = await faultOf(
    'executors: {e: {command: x}}\nsteps: [{id: a, kind: external, executor: e, env_set: {A-B: x}}]',
  );

  expect(message).toContain('step "a": env_set.A-B is not a name of a variable: use letters, digits and `_`');
});
