import { expect, test } from 'vitest';
import type { Clock } from '../../../../src/domain/clock.js';
import { at, FakeClock } from '../../../support/fake-clock.js';
import { failed, output, runAgent, stepOn } from './harness.js';
import { type Reply, type Script, scriptedServer } from './scripted-server.js';

const start = async (script: Script, facts = {}) => {
  const server = await scriptedServer(script);
  return { server, step: await stepOn('agents', server.url, {}, { step: facts }) };
};

const done: Reply = { json: { output: 'fine', stop_reason: 'approved' } };

test('S4-03 S4-06 S4-47 input and tenant go in the body, and no setting without a value', async () => {
  const { server, step } = await start(() => done, { timeoutMs: 1_000 });

  await runAgent(step, { agent: 'reviewer', input: { plan: { a: 1 } } });

  expect(server.lines()).toEqual(['POST /v1/agents/reviewer/run']);
  expect(server.requests[0]?.body).toEqual({ input: { plan: { a: 1 } }, tenant: '4711' });
  expect(server.requests[0]?.headers).not.toHaveProperty('idempotency-key');
});

test('the transcript has the sent prompt, and none without a prompt', async () => {
  const { server, step } = await start(() => done);

  await runAgent(step, { input: { prompt: 'Review AB-1' } });
  await runAgent(step, { input: { plan: 1 } });

  expect(server.requests[0]?.body).toMatchObject({ input: { prompt: 'Review AB-1' } });
  expect(step.prompts).toEqual(['Review AB-1']);
});

test('S4-14 S4-47 a strategy goes in the body, the key in its header', async () => {
  const { server, step } = await start(() => done, { idempotencyKey: 'AB-1:review' });

  await runAgent(step, { strategy: 'deep' });

  expect(server.requests[0]?.body).toMatchObject({ strategy: 'deep' });
  expect(server.requests[0]?.headers['idempotency-key']).toBe('AB-1:review');
});

test('S4-47 the name of an agent stays one path segment, and a name that cannot is refused', async () => {
  const { server, step } = await start(() => done);

  output(await runAgent(step, { agent: 'team/../reviewer' }));
  expect(failed(await runAgent(step, { agent: '..' })).code).toBe('JobValidation');

  expect(server.lines()).toEqual(['POST /v1/agents/team%2F..%2Freviewer/run']);
});

test.each([
  [
    { output: { a: 1 }, stop_reason: 'approved' },
    { output: { a: 1 }, stop_reason: 'approved' },
  ],
  [{ output: null }, { output: null, stop_reason: null }],
  [
    { output: 1, steps: [{ n: 1 }], usage: 3 },
    { output: 1, stop_reason: null, steps: [{ n: 1 }] },
  ],
  [
    { output: 1, steps: 'many' },
    { output: 1, stop_reason: null },
  ],
  [
    { id: 'r-1', output: 1, status: 'Completed' },
    { output: 1, stop_reason: null },
  ],
])('S4-17 S4-48 a 200 with an output is final: %j', async (json, given) => {
  const { server, step } = await start(() => ({ json }));

  expect(output(await runAgent(step))).toStrictEqual(given);
  expect(server.requests).toHaveLength(1);
});

test.each([
  { output: 'half', status: 'failed', error: 'out of ideas' },
  { output: 'half', state: 'CANCELLED', message: 'out of ideas' },
  { status: 'error', error: { message: 'out of ideas' } },
  { status: 'timeout', detail: 'out of ideas' },
  { output: 'half', stop_reason: 'error', error: 'out of ideas' },
  { output: 'half', stop_reason: 'failed', status: 'completed', error: 'out of ideas' },
])('S4-51 a bad end is a failed step, whatever output it has: %j', async (json) => {
  const { step } = await start(() => ({ json }));

  const error = failed(await runAgent(step));

  expect(error).toMatchObject({ code: 'SERVICE_REJECTED', retryable: false });
  expect(error.message).toContain('out of ideas');
  expect(error.message).toContain('agent reviewer');
});

test.each([
  [200, {}],
  [200, []],
  [200, 'output'],
  [200, { status: 'completed' }],
  [200, { stop_reason: 'done' }],
  [200, { status: 'running' }],
  [202, { id: '..' }],
  [202, { run_id: { a: 1 } }],
])('S4-22 an answer with neither an output nor a run is SERVICE_REJECTED: %i %j', async (status, json) => {
  const { server, step } = await start(() => ({ status, json }));

  expect(failed(await runAgent(step)).code).toBe('SERVICE_REJECTED');
  expect(server.requests).toHaveLength(1);
});

test('S1-31 S1-32 a named session is a conversation id, created on first use and sent with each later call', async () => {
  const { server, step } = await start(() => done);

  await runAgent(step, { session: 'rev', input: { a: 1, session_id: 'from outside' } });
  await runAgent(step, { session: 'rev' });
  await runAgent(step, { session: 'other' });
  await runAgent(step);

  const inputs = server.requests.map(({ body }) => body?.input as { session_id?: string });
  expect(inputs[0]).toEqual({ a: 1, session_id: expect.stringMatching(/^[0-9a-f-]{36}$/) });
  expect(inputs[1]?.session_id).toBe(inputs[0]?.session_id);
  expect(inputs[2]?.session_id).not.toBe(inputs[0]?.session_id);
  expect(inputs[3]).not.toHaveProperty('session_id');
});

test('S1-33 another run has other conversations under the same names', async () => {
  const server = await scriptedServer(() => done);

  for (const step of [await stepOn('agents', server.url), await stepOn('agents', server.url)]) {
    await runAgent(step, { session: 'rev' });
  }

  const ids = server.requests.map(({ body }) => (body?.input as { session_id?: string } | undefined)?.session_id);
  expect(new Set(ids).size).toBe(2);
});

const startAgentPolling = async (script: Script, options = {}, prefix = '') => {
  const server = await scriptedServer(script);
  return { server, step: await stepOn('agents', server.url + prefix, {}, options) };
};

/** The first request starts the run; the looks at it get one reply each, and the last one again and again. */
const polled =
  (first: Reply, ...looks: Reply[]): Script =>
  (_, __, index) =>
    index === 0 ? first : (looks[Math.min(index, looks.length) - 1] as Reply);

const started: Reply = { status: 202, json: { run_id: 'r-1' } };
const running: Reply = { json: { status: 'running', output: null } };
const ended: Reply = { json: { status: 'succeeded', output: 'fine', stop_reason: 'done', steps: [] } };
const RUN = '/v1/agents/reviewer/runs/r-1';

test('S4-49 a run that was only started is polled until it ends', async () => {
  const { server, step } = await startAgentPolling(
    polled(started, running, { json: { state: 'thinking', output: null } }, { status: 202, json: {} }, ended),
  );

  expect(output(await runAgent(step))).toEqual({ output: 'fine', stop_reason: 'done', steps: [] });
  expect(server.lines()).toEqual(['POST /v1/agents/reviewer/run', ...Array(4).fill(`GET ${RUN}`)]);
  expect(server.requests[1]?.headers).toMatchObject({ 'x-koder-tenant': '4711' });
  expect(server.requests[1]?.headers).not.toHaveProperty('idempotency-key');
  expect(step.signals).toEqual(Array(10).fill({ type: 'progress', openItems: 0 }));
});

test.each([
  [{ json: { run_id: 'r-1' } }],
  [{ json: { id: 'r-1', output: null, status: 'queued' } }],
  [{ status: 201, json: { id: 'r-1', state: 'warming up' } }],
  [{ status: 202, json: { id: 'r-1', output: 'not yet' } }],
])('S4-49 a run without an output is looked at, whatever the status: %j', async (first) => {
  const { server, step } = await startAgentPolling(polled(first, ended));

  output(await runAgent(step));

  expect(server.lines().at(-1)).toBe(`GET ${RUN}`);
});

test('S4-49 ids that are numbers or need encoding are put into the path correctly', async () => {
  const numbers = await startAgentPolling(polled({ status: 202, json: { id: 42 } }, ended));
  const odd = await startAgentPolling(polled({ status: 202, json: { id: 'a/../b' } }, ended));

  for (const { step } of [numbers, odd]) output(await runAgent(step));

  expect(numbers.server.lines().at(-1)).toBe('GET /v1/agents/reviewer/runs/42');
  expect(odd.server.lines().at(-1)).toBe('GET /v1/agents/reviewer/runs/a%2F..%2Fb');
});

test('S4-49 two polls are poll_interval_ms apart', async () => {
  const delays: number[] = [];
  const clock: Clock = {
    now: () => at(0),
    after: (ms, callback) => {
      delays.push(ms);
      const soon = setImmediate(callback);
      return () => clearImmediate(soon);
    },
  };
  const server = await scriptedServer(polled(started, running, running, ended));
  const step = await stepOn('agents', server.url, { pollIntervalMs: 2_000 }, { clock });

  output(await runAgent(step));

  expect(delays).toEqual([2_000, 2_000, 2_000]);
});

test.each([
  ['runs/9', '/api/v1/agents/reviewer/runs/9'],
  ['/api/jobs/9?view=short', '/api/jobs/9?view=short'],
])('S4-49 a Location below base_url is polled: %s', async (location, path) => {
  const first = { status: 202, json: { run_id: 'r-1' }, headers: { location } };
  const { server, step } = await startAgentPolling(polled(first, ended), {}, '/api');

  output(await runAgent(step));

  expect(server.lines().at(-1)).toBe(`GET ${path}`);
});

test('S4-49 an absolute Location on the same origin is followed, and no body has to name the run', async () => {
  const server = await scriptedServer((_, __, index) =>
    index === 0 ? { status: 202, json: {}, headers: { location: `${server.url}/jobs/1#top` } } : ended,
  );
  const step = await stepOn('agents', server.url);

  output(await runAgent(step));

  expect(server.lines().at(-1)).toBe('GET /jobs/1');
});

test.each([
  'http://elsewhere.invalid/api/jobs/1',
  '//elsewhere.invalid/api/jobs/1',
  'https://127.0.0.1/api/jobs/1',
  '/jobs/1',
  '/api',
  '/apis/1',
  '/api/../jobs/1',
  '/api/%2e%2e/jobs/1',
  '/api/..%2fjobs/1',
  '/api/..%5cjobs/1',
  '/api/%zz',
  'http://',
  'javascript:alert(1)',
])('S4-49 a Location outside base_url is SERVICE_REJECTED and never requested: %s', async (location) => {
  const { server, step } = await startAgentPolling(polled({ ...started, headers: { location } }, ended), {}, '/api');

  const error = failed(await runAgent(step));

  expect(error.code).toBe('SERVICE_REJECTED');
  expect(error.message).toContain('Location');
  expect(server.requests).toHaveLength(1);
});

test('S4-49 a Location with credentials is refused too', async () => {
  const server = await scriptedServer(() => ({
    ...started,
    headers: { location: server.url.replace('//', '//user:pass@') + RUN },
  }));
  const step = await stepOn('agents', server.url);

  expect(failed(await runAgent(step)).code).toBe('SERVICE_REJECTED');
});

test.each(['failed', 'error', 'cancelled', 'canceled', 'timeout', 'expired', 'FAILED'])(
  'S4-51 a run that ends as %s is a failed step',
  async (status) => {
    const { step } = await startAgentPolling(
      polled(started, running, { json: { status, output: 'x', error: { message: 'why' } } }),
    );

    const error = failed(await runAgent(step));

    expect(error).toMatchObject({ code: 'SERVICE_REJECTED', retryable: false });
    expect(error.message).toContain(`ended as ${status.toLowerCase()}: why`);
  },
);

test('S4-19 S4-20 four failed polls in a row are tolerated, and the count starts again after a good one', async () => {
  const bad = { status: 503 };
  const { step } = await startAgentPolling(polled(started, bad, bad, bad, bad, running, bad, bad, bad, bad, ended));

  expect(output(await runAgent(step))).toMatchObject({ output: 'fine' });
});

test('S4-19 a poll whose connection breaks counts as failed', async () => {
  const { step } = await startAgentPolling((_, response, index) => {
    if (index === 0) return started;
    if (index > 2) return ended;
    response.destroy();
    return null;
  });

  output(await runAgent(step));
});

test.each([
  ['and its run is cancelled: it must not go on beside the one of a retry', null, 1],
  ['and its run goes on when a retry will find it by its key', 'k', 0],
])('S4-15 S4-20 S4-50 five failed looks in a row are SERVICE_UNAVAILABLE, %s', async (_, idempotencyKey, cancelled) => {
  const { server, step } = await startAgentPolling(polled(started, { status: 503 }), { step: { idempotencyKey } });

  expect(failed(await runAgent(step))).toMatchObject({ code: 'SERVICE_UNAVAILABLE', retryable: true });
  await step.endRun();
  expect(server.lines().filter((line) => line.startsWith('GET'))).toHaveLength(5);
  expect(server.lines().filter((line) => line.endsWith('/cancel'))).toHaveLength(cancelled);
});

test.each([
  [{ status: 404 }],
  [{ status: 429 }],
  [{ status: 303, headers: { location: '/v1/result' } }],
  [{ text: 'oops' }],
  [{ json: {} }],
  [{ json: { status: 'completed' } }],
])('S4-07 S4-22 a poll that is refused or has no status is SERVICE_REJECTED at once: %j', async (look) => {
  const { server, step } = await startAgentPolling(polled(started, look));

  expect(failed(await runAgent(step)).code).toBe('SERVICE_REJECTED');
  expect(server.lines().filter((line) => line.startsWith('GET'))).toHaveLength(1);
});

test('S4-50 a step that is stopped between two polls polls no more and cancels the run', async () => {
  const clock = new FakeClock();
  const { server, step } = await startAgentPolling(({ method }) => (method === 'GET' ? null : started), { clock });
  const isRunning = runAgent(step);
  await server.heard(1);
  await waitUntil(() => clock.pendingTimers === 1);

  step.abort('terminal');

  expect(failed(await isRunning).code).toBe('CANCELLED_BY_ORCHESTRATOR');
  await step.endRun();
  expect(clock.pendingTimers).toBe(0);
  expect(server.lines()).toEqual(['POST /v1/agents/reviewer/run', `POST ${RUN}/cancel`]);
  expect(server.requests[1]?.headers).toMatchObject({ 'x-koder-tenant': '4711' });
  await server.idle();
});

test('S4-13 S4-50 a step that is stopped during a poll ends at once, even when the service does not answer the cancellation', async () => {
  const clock = new FakeClock();
  const { server, step } = await startAgentPolling((_, __, index) => (index === 0 ? started : null), { clock });
  const isRunning = runAgent(step);
  await server.heard(1);
  await waitUntil(() => clock.pendingTimers === 1);
  clock.advance(1);
  await server.heard(2);

  step.abort('step_timeout');

  expect((await isRunning).state).toBe('timeout');
  await server.heard(3);
  const ending = step.endRun();
  clock.advance(2_000);
  await ending;
  expect(step.warnings).toMatchObject([{ message: 'a run of an agent could not be cancelled' }]);
  await server.idle();
});

test('S4-15 S4-50 a run that timed out is not cancelled when a retry will find it by its key', async () => {
  const clock = new FakeClock();
  const { server, step } = await startAgentPolling(() => started, { clock, step: { idempotencyKey: 'k' } });
  const isRunning = runAgent(step);
  await server.heard(1);
  await waitUntil(() => clock.pendingTimers === 1);

  step.abort('step_timeout');

  expect((await isRunning).state).toBe('timeout');
  await step.endRun();
  expect(server.requests).toHaveLength(1);
});

/** Lets the event loop turn until it holds. */
async function waitUntil(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}
