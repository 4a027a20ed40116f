import { describe, expect, test } from 'vitest';
import { warningsOf } from '../workflow-fixture.js';
import { faultOf, loadSteps, stepOf } from './plan-fixture.js';

const LLM = 'steps: [{id: a, kind: llm, model: m, prompt: x}]';
const GATEWAY = (rest: string, defaults = '{tenant: "1", token: $TOKEN}') =>
  `services: {defaults: ${defaults}, gateway: {${rest}}}`;
const env = { TOKEN: 'canary' };

test('a setting of a service overrides services.defaults, which overrides the built-in value', async () => {
  const yaml = `services:
  defaults: {tenant: 4711, workspace_id: w, token: $TOKEN, timeout_s: 60, tenant_header: X-A}
  gateway: {base_url: "https://g.example.org/base/"}
  tools: {base_url: "http://localhost:1", tenant: "5", workspace_id: v, token: $OTHER, timeout_s: 5, workspace_header: X-B, validate_output: false}
  sandbox: {base_url: "http://127.0.0.1:2", session: step}
  agents: {base_url: "http://[::1]:3", poll_interval_ms: 10}`;

  const { workflow } = await loadSteps(yaml, { env: { ...env, OTHER: 'x' } });

  expect(workflow.plan.services.gateway).toEqual({
    name: 'gateway',
    baseUrl: 'https://g.example.org/base',
    tenant: '4711',
    workspaceId: 'w',
    token: '$TOKEN',
    timeoutMs: 60_000,
    tenantHeader: 'X-A',
    workspaceHeader: 'X-Koder-Workspace',
    session: 'run',
    validateOutput: true,
    pollIntervalMs: 2000,
  });
  expect(workflow.plan.services.tools).toMatchObject({
    tenant: '5',
    workspaceId: 'v',
    token: '$OTHER',
    timeoutMs: 5000,
    workspaceHeader: 'X-B',
    validateOutput: false,
  });
  expect(workflow.plan.services.sandbox).toMatchObject({ session: 'step' });
  expect(workflow.plan.services.agents).toMatchObject({ pollIntervalMs: 10, baseUrl: 'http://[::1]:3' });
  expect(workflow.secretNames).toEqual(['TOKEN', 'OTHER']);
  expect(JSON.stringify(workflow)).not.toContain('canary');
});

test('the default timeout of steps over HTTP is 120 s', async () => {
  const loaded = await loadSteps(`${GATEWAY('base_url: "http://127.0.0.1:1"')}\n${LLM}`, { env });

  expect(stepOf(loaded, 'a')).toMatchObject({ timeoutMs: 120_000 });
  expect(loaded.workflow.plan.services.gateway).toMatchObject({ tenantHeader: 'X-Koder-Tenant', workspaceId: null });
});

describe('a step with an unusable service is rejected', () => {
  test.each([
    ['none', 'server: {}', 'kind llm needs a service, and services.gateway is missing'],
    ['no address', GATEWAY('timeout_s: 1'), 'services.gateway has no base_url'],
    ['no tenant', GATEWAY('base_url: "http://127.0.0.1:1"', '{token: $TOKEN}'), 'services.gateway has no tenant'],
    ['no token', GATEWAY('base_url: "http://127.0.0.1:1"', '{tenant: t}'), 'services.gateway has no token'],
    ['no variable', GATEWAY('base_url: "http://127.0.0.1:1", token: $UNSET'), 'the variable UNSET is not set'],
    [
      'an unset variable for the tenant',
      GATEWAY('base_url: "http://127.0.0.1:1", tenant: $UNSET'),
      'the variable UNSET is not set',
    ],
  ])('%s', async (_, services, part) => {
    const error = await faultOf(`${services}\n${LLM}`, { env });

    expect(error.code).toBe('JobValidation');
    expect(error.message).toContain('WORKFLOW.md:4:23 step "a": ');
    expect(error.message).toContain(part);
  });

  test('an unused service may be incomplete', async () => {
    expect(
      (await loadSteps(GATEWAY('base_url: "http://127.0.0.1:1"', '{}'))).workflow.plan.services.gateway,
    ).toBeNull();
  });
});

test.each([
  ['ftp://example.org', 'must begin with https:// or http://'],
  ['example.org', 'must be an address such as'],
  ['https://me:canary@example.org', 'must not hold a name or password'],
  ['https://example.org/?a=canary', 'must not have a query'],
  ['https://example.org/#canary', 'must not have a query (?) or fragment (#)'],
  ['http://example.org', 'is plain http to another machine'],
  ['http://127.0.0.1.example.org', 'is plain http to another machine'],
  ['http://localhost.example.org', 'is plain http to another machine'],
])('SEC-21 an address that must not receive a token is rejected and not shown: %s', async (url, part) => {
  const error = await faultOf(GATEWAY(`base_url: "${url}"`), { env });

  expect(error.message).toMatch(/^WORKFLOW\.md:3:\d+ services\.gateway\.base_url /);
  expect(error.message).toContain(part);
  expect(error.message).not.toContain('canary');
});

test('plain http to another machine must be enabled explicitly', async () => {
  const { workflow } = await loadSteps(GATEWAY('base_url: "http://example.org", insecure: true'), { env });

  expect(workflow.plan.services.gateway).toMatchObject({ baseUrl: 'http://example.org' });
});

test('$NAME is also expanded in address, tenant and workspace', async () => {
  const { workflow } = await loadSteps(GATEWAY('base_url: $URL, tenant: $T, workspace_id: $W'), {
    env: { ...env, URL: 'https://g.example.org', T: 't1', W: 'w1' },
  });

  expect(workflow.plan.services.gateway).toMatchObject({
    baseUrl: 'https://g.example.org',
    tenant: 't1',
    workspaceId: 'w1',
  });
});

test('SEC-20 SEC-21 a literal token works, causes a warning without its value, and is returned for masking', async () => {
  const { workflow, literalSecrets } = await loadSteps(
    'services: {defaults: {tenant: t, token: canary1}, gateway: {base_url: "http://127.0.0.1:1", token: canary2}}',
  );

  expect(literalSecrets).toEqual(['canary1', 'canary2']);
  expect(workflow.plan.services.gateway).toMatchObject({ token: 'canary2' });
  expect(workflow.warnings).toHaveLength(2);
  expect(warningsOf(workflow)[0]).toBe(
    'WORKFLOW.md:3:41 services.defaults.token holds a secret in the file; put it in a variable and write $NAME here',
  );
  expect(warningsOf(workflow).join()).not.toContain('canary');
});

test.each([
  ['services: {gatway: {}}', 'unknown key services.gatway; did you mean gateway?'],
  ['services: {gateway: {base_ul: x}}', 'unknown key services.gateway.base_ul; did you mean base_url?'],
  ['services: {gateway: {session: run}}', 'unknown key services.gateway.session'],
  ['services: {sandbox: {session: always}}', 'services.sandbox.session must be one of run, step, got "always"'],
  ['services: {defaults: {token: [canary]}}', 'services.defaults.token must be text, got a list'],
  ['services: {defaults: {token: 5555}}', 'services.defaults.token must be text, got a number'],
  [
    'services: {defaults: {tenant_header: "a b"}}',
    'services.defaults.tenant_header must be the name of a header, got "a b"',
  ],
  [
    'services: {gateway: {base_url: "http://127.0.0.1", tenant: "a\\r\\nX-Evil: 1"}}',
    'tenant must be one line of plain text',
  ],
  ['services: [1]', 'services must be a map of services, got a list'],
])('an invalid service is rejected with its line: %s', async (yaml, part) => {
  const { message } = await faultOf(yaml);

  expect(message).toMatch(/^WORKFLOW\.md:3:\d+ /);
  expect(message).toContain(part);
  expect(message.split('\n')).toHaveLength(1);
});
