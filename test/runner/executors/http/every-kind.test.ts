import { describe, expect, test } from 'vitest';
import { ERRORS } from '../../../../src/domain/error-table.js';
import { failed, KINDS, output, stepOn, TOKEN } from './harness.js';
import { scriptedServer } from './scripted-server.js';

describe.each(KINDS)('$kind', ({ service, run, good, path }) => {
  test('S4-01 S4-02 S4-52 S4-53 calls its own service and returns its output', async () => {
    const server = await scriptedServer(good);
    const step = await stepOn(service, server.url);

    const outcome = await run(step);

    expect(outcome.state).toBe('success');
    expect(server.lines()[0]).toBe(`POST ${path}`);
    expect(step.processes).toEqual([]);
    await step.endRun();
    await server.idle();
  });

  test('S4-06 S4-09 S4-10 every call carries the tenant in its header and the token of the runner as the only credential', async () => {
    const server = await scriptedServer(good);
    const step = await stepOn(service, server.url, { workspaceId: 'ws-1' });

    await run(step);
    await step.endRun();

    for (const { headers, rawHeaders } of server.requests) {
      expect(headers['x-koder-tenant']).toBe('4711');
      expect(headers['x-koder-workspace']).toBe('ws-1');
      expect(headers.accept).toBe('application/json');
      expect(headers['accept-encoding']).toBe('identity');
      expect(rawHeaders.filter((name) => /^authorization$/i.test(name))).toHaveLength(1);
      expect(headers.authorization).toBe(`Bearer ${TOKEN}`);
    }
    expect(server.requests[0]?.headers['content-type']).toBe('application/json');
    expect(step.secretsRead).toEqual(['$RUNNER_TOKEN']);
  });

  test('S4-06 without a workspace id there is no header for it, and header names can be set', async () => {
    const server = await scriptedServer(good);
    const step = await stepOn(service, server.url, { tenantHeader: 'X-Acme-User' });

    await run(step);

    expect(server.requests[0]?.headers).toMatchObject({ 'x-acme-user': '4711' });
    expect(server.requests[0]?.headers).not.toHaveProperty('x-koder-workspace');
    expect(server.requests[0]?.headers).not.toHaveProperty('x-koder-tenant');
  });

  test.each([
    ['an empty tenant', { tenant: ' ' }, { RUNNER_TOKEN: 'geheim' }, `services.${service}.tenant`],
    ['a token variable that is not set', {}, {}, '$RUNNER_TOKEN'],
    ['a token variable that is empty', {}, { RUNNER_TOKEN: ' ' }, '$RUNNER_TOKEN'],
    ['a token with a line break in it', {}, { RUNNER_TOKEN: 'geheim\nX-Evil: 1' }, '$RUNNER_TOKEN'],
    ['a tenant that breaks the line', { tenant: '1\r\nX-Evil: 1' }, { RUNNER_TOKEN: 'geheim' }, 'tenant'],
    ['a tenant header that is none', { tenantHeader: 'a b' }, { RUNNER_TOKEN: 'geheim' }, 'tenant_header'],
    ['a tenant as the principal', { tenantHeader: 'authorization' }, { RUNNER_TOKEN: 'geheim' }, 'tenant_header'],
    ['one header for both', { workspaceHeader: 'x-koder-tenant' }, { RUNNER_TOKEN: 'geheim' }, 'workspace_header'],
    ['a base_url that is none', { baseUrl: 'nowhere' }, { RUNNER_TOKEN: 'geheim' }, 'base_url'],
    ['a base_url of another kind', { baseUrl: 'file:///etc' }, { RUNNER_TOKEN: 'geheim' }, 'base_url'],
  ] as const)('S4-08 S4-10 %s is refused before any request', async (_, settings, env, named) => {
    const server = await scriptedServer(good);
    const step = await stepOn(service, server.url, settings, { env });

    const error = failed(await run(step));

    expect(error).toMatchObject({ code: 'JobValidation', retryable: false });
    expect(error.message).toContain(named);
    expect(error.message).not.toContain('geheim');
    expect(server.requests).toEqual([]);
  });

  test('S1-19 S1-20 without its service nothing is sent and nothing is spawned', async () => {
    const step = await stepOn(service, null);

    const error = failed(await run(step));

    expect(error.code).toBe(service === 'agents' ? 'UnwiredHttpTransport' : 'JobValidation');
    expect(error.message).toContain(`services.${service}`);
    expect(error.retryable).toBe(false);
    expect(step.processes).toEqual([]);
    expect(step.secretsRead).toEqual([]);
  });

  test.each([
    [400, 'SERVICE_REJECTED'],
    [401, 'SERVICE_REJECTED'],
    [404, 'SERVICE_REJECTED'],
    [408, 'SERVICE_REJECTED'],
    [422, 'SERVICE_REJECTED'],
    [429, 'SERVICE_REJECTED'],
    [500, 'SERVICE_UNAVAILABLE'],
    [503, 'SERVICE_UNAVAILABLE'],
    [599, 'SERVICE_UNAVAILABLE'],
    [600, 'SERVICE_REJECTED'],
  ] as const)('S4-07 S4-20 S4-22 S4-23 status %i is %s', async (status, code) => {
    const server = await scriptedServer(() => ({ status, json: { error: { message: 'no such luck' } } }));
    const step = await stepOn(service, server.url);

    const error = failed(await run(step));

    expect(error).toMatchObject({ code, retryable: code === 'SERVICE_UNAVAILABLE' });
    expect(error.message).toBe(`services.${service} POST ${path} answered ${status}: no such luck`);
    expect(server.requests).toHaveLength(1);
  });

  test('S4-19 a service that cannot be reached is SERVICE_UNAVAILABLE, and the message names its address', async () => {
    const server = await scriptedServer(good);
    await server.close();
    const step = await stepOn(service, server.url.replace('//', '//user:passwort@'));

    const error = failed(await run(step));

    expect(error).toMatchObject({ code: 'SERVICE_UNAVAILABLE', retryable: true });
    expect(error.message).toBe(`services.${service} POST ${path} failed at ${server.url}: ECONNREFUSED`);
  });

  test('S4-13 S4-21 at the deadline the request is aborted, its connection closed, and the end is a timeout', async () => {
    const server = await scriptedServer(() => null);
    const step = await stepOn(service, server.url);
    const running = run(step);
    await server.heard(1);

    step.abort('step_timeout');

    expect((await running).state).toBe('timeout');
    expect(ERRORS.SERVICE_TIMEOUT.retryable).toBe(true);
    await step.endRun();
    await server.idle();
  });

  test.each([
    ['shutdown', 'INTERRUPTED'],
    ['operator', 'STOPPED_BY_OPERATOR'],
    ['sibling', 'CANCELLED_BY_ORCHESTRATOR'],
  ] as const)('a step that is stopped for %s is %s', async (reason, code) => {
    const server = await scriptedServer(() => null);
    const step = await stepOn(service, server.url);
    const running = run(step);
    await server.heard(1);

    step.abort(reason);

    const outcome = await running;
    expect(outcome.state).toBe('cancelled');
    expect(failed(outcome).code).toBe(code);
    await step.endRun();
    await server.idle();
  });

  test('a step that is stopped before it starts sends nothing', async () => {
    const server = await scriptedServer(good);
    const step = await stepOn(service, server.url);
    step.abort('shutdown');

    expect(failed(await run(step)).code).toBe('INTERRUPTED');
    expect(server.requests).toEqual([]);
  });

  test('each request is progress twice: when it is sent and when its response begins', async () => {
    const server = await scriptedServer(good);
    const step = await stepOn(service, server.url);

    await run(step);

    const twice = server.requests.flatMap(() => Array(2).fill({ type: 'progress', openItems: 0 }));
    expect(step.signals).toEqual(twice);
  });

  test.each(['', '/', '/api', '/api/', '/a%20b//'])('a base_url may end in "%s"', async (prefix) => {
    const server = await scriptedServer(good);
    const step = await stepOn(service, server.url + prefix);

    output(await run(step));

    expect(server.requests[0]?.path).toBe(prefix.replace(/\/+$/, '') + path);
  });

  test('S4-17 the output survives a round trip through JSON', async () => {
    const server = await scriptedServer(good);
    const step = await stepOn(service, server.url);

    const given = output(await run(step));

    expect(JSON.parse(JSON.stringify(given))).toStrictEqual(given);
  });
});
