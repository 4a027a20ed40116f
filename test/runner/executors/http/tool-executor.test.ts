import { expect, test } from 'vitest';
import { createToolExecutor } from '../../../../runner/executors/http/tool-executor.js';
import { failed, output, runTool, stepOn, TOKEN, tool } from './harness.js';
import { type Reply, type Script, scriptedServer } from './scripted-server.js';

const start = async (script: Script, settings = {}, facts = {}) => {
  const server = await scriptedServer(script);
  return { server, step: await stepOn('tools', server.url, settings, { step: facts }) };
};

const answers = (result: unknown): Reply => ({ json: { output: result, duration_ms: 3 } });

/** A registry whose tools put out `result` and have this schema. */
const registry =
  (result: unknown, schema: Reply): Script =>
  ({ path }) =>
    path.endsWith('/schema') ? schema : answers(result);

test('S4-03 S4-12 S4-14 S4-42 S4-43 S4-46 args, tenant, time limit and key go in the body', async () => {
  const facts = { timeoutMs: 20_000, idempotencyKey: 'größer\n1' };
  const { server, step } = await start(() => answers(null), {}, facts);

  await runTool(step, { tool: 'code-owners', args: { labels: ['a', 'b'], deep: { n: 1 } } });

  expect(server.lines()).toEqual(['POST /v1/tools/code-owners/invoke']);
  expect(server.requests[0]?.body).toEqual({
    args: { labels: ['a', 'b'], deep: { n: 1 } },
    tenant: '4711',
    timeout_ms: 20_000,
    idempotency_key: 'größer\n1',
  });
});

test('S4-11 S4-43 settings without a value are not sent', async () => {
  const { server, step } = await start(() => answers(null));

  await runTool(step);

  expect(Object.keys(server.requests[0]?.body ?? {})).toEqual(['args', 'tenant']);
  expect(server.requests[0]?.headers).not.toHaveProperty('idempotency-key');
});

test.each([
  ['a/b', '/v1/tools/a%2Fb/invoke'],
  ['%2f', '/v1/tools/%252f/invoke'],
  ['../../admin', '/v1/tools/..%2F..%2Fadmin/invoke'],
  ['a?b#c', '/v1/tools/a%3Fb%23c/invoke'],
  ['...', '/v1/tools/.../invoke'],
  ['ä b', '/v1/tools/%C3%A4%20b/invoke'],
])('S4-42 a tool called %j stays in its place', async (name, path) => {
  const { server, step } = await start(() => answers(1));

  output(await runTool(step, { tool: name }));

  expect(server.requests[0]?.path).toBe(path);
});

test.each(['..', '.', '', '\ud800'])('S4-42 a tool called %j is refused before any request', async (name) => {
  const { server, step } = await start(() => answers(1), { validateOutput: true });

  expect(failed(await runTool(step, { tool: name })).code).toBe('JobValidation');
  expect(server.requests).toEqual([]);
});

test.each([[null], [0], ['text'], [[1, { a: null }]], [{ a: 1, nested: { b: [] } }]])(
  'S4-44 the output of the step is the output of the tool: %j',
  async (result) => {
    const { step } = await start(() => answers(result));

    expect(output(await runTool(step))).toEqual(result);
  },
);

test.each([{ duration_ms: 3 }, [], 'output', null])(
  'S4-44 an answer without output is SERVICE_REJECTED: %j',
  async (json) => {
    const { step } = await start(() => ({ json }));

    expect(failed(await runTool(step)).code).toBe('SERVICE_REJECTED');
  },
);

const OWNERS = {
  type: 'object',
  required: ['owners'],
  properties: { owners: { type: 'array', items: { type: 'string' } } },
};

test.each([
  ['itself', OWNERS],
  ['output_schema', { input_schema: { type: 'string' }, output_schema: OWNERS }],
  ['outputSchema', { inputSchema: { type: 'string' }, outputSchema: OWNERS }],
  ['output', { input: { type: 'string' }, output: OWNERS }],
  ['schema', { schema: OWNERS }],
  ['schema.output', { schema: { output: OWNERS } }],
])('S4-45 an output that does not fit the schema is SERVICE_REJECTED; the schema is found as %s', async (_, json) => {
  const good = await start(registry({ owners: ['a'] }, { json }), { validateOutput: true });
  const bad = await start(registry({ owners: ['a', 2] }, { json }), { validateOutput: true });

  expect(output(await runTool(good.step))).toEqual({ owners: ['a'] });
  const error = failed(await runTool(bad.step));

  expect(error).toMatchObject({ code: 'SERVICE_REJECTED', retryable: false });
  expect(error.message).toContain('/owners/1 must be string');
  expect(bad.step.warnings).toEqual([]);
});

test('S4-45 the schema is read first, once per tool and run, also by parallel steps', async () => {
  const { server, step } = await start(registry({ owners: [] }, { json: OWNERS }), { validateOutput: true });

  await Promise.all([runTool(step), runTool(step), runTool(step, { tool: 'other' })]);
  await runTool(step);

  expect(server.lines()[0]).toMatch(/^GET .*schema$/);
  expect(
    server
      .lines()
      .filter((line) => line.startsWith('GET'))
      .sort(),
  ).toEqual(['GET /v1/tools/code-owners/schema', 'GET /v1/tools/other/schema']);
  expect(server.requests.find(({ method }) => method === 'GET')?.headers.authorization).toBe(`Bearer ${TOKEN}`);
});

test('S4-45 without validate_output the schema is not read', async () => {
  const { server, step } = await start(registry(1, { json: OWNERS }), { validateOutput: false });

  expect(output(await runTool(step))).toBe(1);
  expect(server.lines()).toEqual(['POST /v1/tools/code-owners/invoke']);
});

test('S4-45 a tool without a schema is not checked, with one warning per run', async () => {
  const { step } = await start(registry(1, { status: 404 }), { validateOutput: true });

  await runTool(step);
  expect(output(await runTool(step))).toBe(1);

  expect(step.warnings).toEqual([
    { message: 'the tool has no schema: its outputs are not checked', fields: { tool: 'code-owners' } },
  ]);
});

test('S4-45 an unsupported schema checks nothing, with one warning per run that does not hold the token', async () => {
  const json = { type: 'string', [`pattern-${TOKEN}`]: '(a+)+$' };
  const { step } = await start(registry(1, { json }), { validateOutput: true });

  await runTool(step);
  expect(output(await runTool(step))).toBe(1);

  expect(step.warnings).toMatchObject([{ fields: { tool: 'code-owners', reason: 'it uses pattern-***' } }]);
});

test.each([
  [503, 'SERVICE_UNAVAILABLE'],
  [403, 'SERVICE_REJECTED'],
] as const)(
  'S4-45 when asking for the schema fails with %i the tool is not called; the next try asks again',
  async (status, code) => {
    let asked = 0;
    const script: Script = ({ path }) => {
      if (!path.endsWith('/schema')) return answers('x');
      asked += 1;
      return asked === 1 ? { status } : { json: { type: 'string' } };
    };
    const { server, step } = await start(script, { validateOutput: true });

    expect(failed(await runTool(step)).code).toBe(code);
    expect(server.requests).toHaveLength(1);
    expect(output(await runTool(step))).toBe('x');
  },
);

test('a step that is stopped does not abort the schema that other steps wait for', async () => {
  let answerSchema = () => {};
  const server = await scriptedServer(({ path }, response) => {
    if (!path.endsWith('/schema')) return answers('x');
    answerSchema = () => response.writeHead(200).end('{"type":"string"}');
    return null;
  });
  const step = await stepOn('tools', server.url, { validateOutput: true });
  const stopper = new AbortController();
  const executor = createToolExecutor();
  const stopped = executor.execute(tool(), { ...step.context, signal: stopper.signal });
  const other = executor.execute(tool(), step.context);
  await server.heard(1);

  stopper.abort('sibling');
  expect((await stopped).state).toBe('cancelled');
  answerSchema();

  expect(output(await other)).toBe('x');
  expect(server.lines().filter((line) => line.startsWith('GET'))).toHaveLength(1);
});
