import { describe, expect, test } from 'vitest';
import { ERRORS } from '../../../src/domain/error-table.js';
import { allSteps } from '../../../src/domain/steps/plan.js';
import { problemsOf } from '../../../src/domain/workflow.js';
import { describeBackend, FALLBACK_BACKEND, resolveBackend } from '../../../src/workflow/steps/resolve-backend.js';
import { actionOf, faultOf, loadSteps, SERVICES, TOKEN } from './plan-fixture.js';

const AUTO = `${SERVICES}\nsteps: [{id: a, kind: agent, backend: auto, agent: x}]`;
const backendOf = async (yaml: string, given: Parameters<typeof loadSteps>[1] = {}) => {
  const loaded = await loadSteps(yaml, { ...given, env: { ...TOKEN, ...given.env } });
  return { step: (actionOf(loaded, 'a').action as { backend?: string }).backend, ...loaded.workflow.plan.backend };
};

describe('auto resolves to', () => {
  test('S1-01 S1-02 S1-06 http, the built-in value, when nothing is set', async () => {
    expect(FALLBACK_BACKEND).toBe('http');
    expect(await backendOf(AUTO)).toEqual({ step: 'http', value: 'http', source: 'built-in', saidAuto: false });
  });

  test('S1-05 S1-11 runtime.backend, and the source is recorded', async () => {
    expect(await backendOf(`runtime: {backend: cli}\n${AUTO}`)).toEqual({
      step: 'cli',
      value: 'cli',
      source: 'runtime.backend',
      saidAuto: false,
    });
  });

  test.each(['BATON_BACKEND', 'ORBIT_BACKEND'])(
    'S1-04 the variable %s, which overrides runtime.backend',
    async (name) => {
      expect(await backendOf(`runtime: {backend: http}\n${AUTO}`, { env: { [name]: ' cli ' } })).toMatchObject({
        step: 'cli',
        source: name,
      });
    },
  );

  test('S1-04 BATON_BACKEND before ORBIT_BACKEND; a blank variable counts as unset', async () => {
    expect(await backendOf(AUTO, { env: { BATON_BACKEND: 'cli', ORBIT_BACKEND: 'http' } })).toMatchObject({
      value: 'cli',
    });
    expect(await backendOf(AUTO, { env: { BATON_BACKEND: ' ', ORBIT_BACKEND: 'cli' } })).toMatchObject({
      source: 'ORBIT_BACKEND',
    });
    expect(await backendOf(AUTO, { env: { BATON_BACKEND: '', ORBIT_BACKEND: '' } })).toMatchObject({
      source: 'built-in',
    });
  });

  test('S1-03 the flag, which overrides everything', async () => {
    const env = { BATON_BACKEND: 'http', ORBIT_BACKEND: 'http' };

    expect(await backendOf(`runtime: {backend: http}\n${AUTO}`, { env, backendFlag: 'cli' })).toEqual({
      step: 'cli',
      value: 'cli',
      source: 'flag',
      saidAuto: false,
    });
  });

  test.each([
    ['flag', { backendFlag: 'auto', env: { BATON_BACKEND: 'cli' } }],
    ['BATON_BACKEND', { env: { BATON_BACKEND: 'auto', ORBIT_BACKEND: 'cli' } }],
    ['ORBIT_BACKEND', { env: { ORBIT_BACKEND: 'auto' } }],
  ])('S1-07 the built-in value when %s is auto, even when a lower level is set', async (source, given) => {
    expect(await backendOf(`runtime: {backend: cli}\n${AUTO}`, given)).toEqual({
      step: 'http',
      value: 'http',
      source,
      saidAuto: true,
    });
  });

  test('S1-07 the built-in value when runtime.backend is auto', async () => {
    expect(await backendOf(`runtime: {backend: auto}\n${AUTO}`)).toMatchObject({ value: 'http', saidAuto: true });
  });
});

test('S1-02 S1-08 S1-09 S1-10 auto is replaced once at every depth, and nothing else is replaced', async () => {
  const loaded = await loadSteps(
    `${SERVICES}
steps:
  - { id: plain, kind: agent }
  - { id: cli, kind: agent, backend: cli }
  - { id: http, kind: agent, backend: http, agent: x }
  - { id: par, parallel: [ { id: p, kind: agent, backend: auto, agent: x }, [ { id: q, kind: tool, tool: t } ] ] }
  - { id: fan, fan_out: { items: [1], steps: [ { id: f, kind: agent, backend: auto, agent: x } ] }, fan_in: {} }
  - id: loop
    loop:
      max_iterations: 2
      steps:
        - { id: inner, parallel: [ { id: deep, loop: { max_iterations: 2, steps: [ { id: l, kind: agent, backend: auto, agent: x } ] } } ] }
`,
    { env: { ...TOKEN, BATON_BACKEND: 'http' } },
  );
  const backends = [...allSteps(loaded.workflow.plan.steps)].flatMap((step) =>
    step.shape === 'action' && step.action.kind === 'agent' ? [`${step.id} ${step.action.backend}`] : [],
  );

  expect(backends).toEqual(['plain cli', 'cli cli', 'http http', 'p http', 'f http', 'l http']);
  expect(JSON.stringify(loaded.workflow.plan)).not.toContain('"auto"');
});

test('S1-09 the flag does not change an explicit backend', async () => {
  const yaml = `${SERVICES}\nsteps: [{id: a, kind: agent, backend: cli}]`;

  expect(await backendOf(yaml, { backendFlag: 'http' })).toMatchObject({ step: 'cli', value: 'http' });
});

test('S1-30 a workflow of cli steps needs no service and rejects keys of http steps', async () => {
  const loaded = await loadSteps(
    'steps: [{id: a, kind: agent, max_turns: 3}, {id: b, kind: agent, backend: cli, prompt: Hi}]',
  );
  const error = await faultOf('steps: [{id: a, kind: agent, agent: x, input: {}, strategy: s}]');

  expect(actionOf(loaded, 'a').action).toMatchObject({ backend: 'cli', maxTurns: 3 });
  expect(error.message.match(/is only for backend http, but this step runs on cli/g)).toHaveLength(3);
  expect(
    (await faultOf(`${SERVICES}\nsteps: [{id: a, kind: agent, backend: http, agent: x, max_turns: 2}]`, { env: TOKEN }))
      .message,
  ).toContain('max_turns is only for backend cli');
});

describe('an invalid backend is rejected', () => {
  const plain = 'steps: [{id: a, kind: agent}]';

  test('S1-25 in the flag: the error names the flag and the allowed values, even when no step has auto', async () => {
    const error = await faultOf(plain, { backendFlag: 'grpc' });

    expect(error.code).toBe('invalid_backend');
    expect(error.message).toBe('the flag --backend must be one of http, cli, auto, got "grpc"');
    expect((await faultOf('', { backendFlag: '' })).code).toBe('invalid_backend');
  });

  test('S1-26 in runtime.backend: the error has the line', async () => {
    const error = await faultOf(`runtime: {backend: grpc}\n${plain}`);

    expect(error.code).toBe('invalid_backend');
    expect(error.message).toBe('WORKFLOW.md:3:20 runtime.backend must be one of http, cli, auto, got "grpc"');
  });

  test.each(['BATON_BACKEND', 'ORBIT_BACKEND'])(
    'S1-27 in the variable %s: the error names the variable, even when a flag is set',
    async (name) => {
      const error = await faultOf(plain, { env: { [name]: 'HTTP' }, backendFlag: 'cli' });

      expect(error.code).toBe('invalid_backend');
      expect(error.message).toBe(`the variable ${name} must be one of http, cli, auto, got "HTTP"`);
    },
  );

  test('S1-01 in backend of a step: the error has the line', async () => {
    const error = await faultOf('steps:\n  - id: a\n    kind: agent\n    backend: grpc');

    expect(error.message).toBe('WORKFLOW.md:6:14 step "a": backend must be one of http, cli, auto, got "grpc"');
  });

  test('an invalid backend of a step is one fault, whatever keys of a backend the step has', async () => {
    const keys = 'backend: HTTP, agent: reviewer, session: s, input: {a: b}, strategy: x, max_turns: 2';
    const error = await faultOf(`steps: [{id: a, kind: agent, ${keys}}]`);

    expect(problemsOf(error)).toHaveLength(1);
    expect(error.message).toContain('backend must be one of http, cli, auto, got "HTTP"');
  });
});

describe('http without a usable service', () => {
  test.each([
    ['no service', 'steps: [{id: a, kind: agent, backend: http, agent: x}]', 'services.agents is missing'],
    [
      'no address',
      'services: {agents: {tenant: t, token: $TOKEN}}\nsteps: [{id: a, kind: agent, backend: http, agent: x}]',
      'services.agents has no base_url',
    ],
    ['no agent', `${SERVICES}\nsteps: [{id: a, kind: agent, backend: http}]`, 'it has no agent'],
  ])('S1-19 S1-20 %s is UnwiredHttpTransport, without a fallback to cli', async (_, yaml, part) => {
    const error = await faultOf(yaml, { env: TOKEN });

    expect(error.code).toBe('UnwiredHttpTransport');
    expect(error.message).toMatch(/^WORKFLOW\.md:\d+:\d+ step "a": this step runs over http, and /);
    expect(error.message).toContain(part);
    expect(error.message).toContain('or set backend: cli');
  });

  test('S1-19 when auto resolved to http, the message says why', async () => {
    const error = await faultOf('steps: [{id: a, kind: agent, backend: auto}]', { env: { ORBIT_BACKEND: 'http' } });

    expect(error.message).toContain('(backend: auto became http, because ORBIT_BACKEND is set)');
  });
});

test('S1-34 structural errors are not retried, and hold the daemon instead of an issue', () => {
  for (const code of ['JobValidation', 'UnwiredHttpTransport', 'invalid_backend', 'EXECUTOR_NOT_FOUND'] as const) {
    expect(ERRORS[code], code).toMatchObject({ scope: 'daemon', retryable: false });
  }
});

test('S1-35 external steps accept a list of tools, agent steps reject it', async () => {
  const loaded = await loadSteps(
    'executors: {acme: {command: x}}\nsteps: [{id: a, kind: external, executor: acme, tools: [read], allowed_programs: [git]}]',
  );
  const error = await faultOf('steps: [{id: a, kind: agent, tools: [read]}]');

  expect(actionOf(loaded, 'a').action).toMatchObject({ tools: ['read'], allowedPrograms: ['git'] });
  expect(error.message).toContain('step "a": agent steps have no key tools');
});

test.each([
  [{ env: {}, setting: null }, 'backend: auto became http, because nothing else is set'],
  [{ env: {}, setting: 'cli' as const }, 'backend: auto became cli, because runtime.backend is set'],
  [{ env: {}, setting: null, flag: 'cli' }, 'backend: auto became cli, because --backend is set'],
  [{ env: { ORBIT_BACKEND: 'cli' }, setting: null }, 'backend: auto became cli, because ORBIT_BACKEND is set'],
  [
    { env: { BATON_BACKEND: 'auto' }, setting: null },
    'backend: auto became http, because BATON_BACKEND is auto, which means the built-in value',
  ],
])('S1-11 the resolution of auto is described in words: %j', (tiers, words) => {
  expect(describeBackend(resolveBackend(tiers).backend)).toBe(words);
});
