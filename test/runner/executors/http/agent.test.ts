import { expect, test } from 'vitest';
import { failed, output, runAgent, stepOn } from './harness.js';
import { type Reply, type Script, scriptedServer } from './scripted-server.js';

const start = async (script: Script, facts = {}) => {
  const server = await scriptedServer(script);
  return { server, step: await stepOn('agents', server.url, {}, { step: facts }) };
};

const done: Reply = { json: { output: 'fine', stop_reason: 'approved' } };

test('S4-03 S4-06 S4-47 input and tenant go in the body, and nothing that is not set', async () => {
  const { server, step } = await start(() => done, { timeoutMs: 1_000 });

  await runAgent(step, { agent: 'reviewer', input: { plan: { a: 1 } } });

  expect(server.lines()).toEqual(['POST /v1/agents/reviewer/run']);
  expect(server.requests[0]?.body).toEqual({ input: { plan: { a: 1 } }, tenant: '4711' });
  expect(server.requests[0]?.headers).not.toHaveProperty('idempotency-key');
});

test('a prompt is told for the transcript as it is sent, and only where one is sent', async () => {
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

test('S4-47 the name of an agent stays in its place, and one that cannot is refused', async () => {
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

test('S1-31 S1-32 a named session is a conversation id, made on first use and sent with each later call', async () => {
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
