import { expect, test } from 'vitest';
import { execution, failed, output, runCode, sandbox, stepOn, TOKEN } from './harness.js';
import { scriptedServer } from './scripted-server.js';

const start = async (result: object = execution(), facts = {}) => {
  const server = await scriptedServer(sandbox(result));
  return { server, step: await stepOn('sandbox', server.url, {}, { step: facts }) };
};

test('S4-03 S4-32 S4-33 S4-34 S4-36 a session of the language, then the code in it, at once', async () => {
  const { server, step } = await start();

  await runCode(step, { language: 'python', source: 'import sys' });

  expect(server.lines()).toEqual(['POST /v1/sandbox/sessions', 'POST /v1/sandbox/sessions/s-1/exec']);
  expect(server.requests.map(({ body }) => body)).toEqual([
    { language: 'python' },
    { code: 'import sys', async: false },
  ]);
});

test('S4-12 S4-14 S4-34 S4-35 stdin, env, cwd, time limit and key are sent when they are set', async () => {
  const { server, step } = await start(execution(), { timeoutMs: 60_000, idempotencyKey: 'AB-1:check' });

  await runCode(step, { stdin: 'in', env: { STAGE: 'ci' }, cwd: '/data' });

  const [session, exec] = server.requests;
  expect(exec?.body).toEqual({
    code: 'print(1)',
    stdin: 'in',
    env: { STAGE: 'ci' },
    cwd: '/data',
    timeout_ms: 60_000,
    async: false,
  });
  expect(exec?.headers['idempotency-key']).toBe('AB-1:check');
  expect(session?.headers).not.toHaveProperty('idempotency-key');
});

test('S4-11 S4-35 without a time limit the sandbox uses its own', async () => {
  const { server, step } = await start(execution(), { timeoutMs: null });

  await runCode(step);

  expect(server.requests[1]?.body).not.toHaveProperty('timeout_ms');
});

test.each([
  ['', ''],
  [0, '0'],
  [false, 'false'],
  [{ a: [1, 'ä'] }, '{"a":[1,"ä"]}'],
])('S4-34 stdin %j goes in as %j', async (stdin, sent) => {
  const { server, step } = await start();

  await runCode(step, { stdin });

  expect(server.requests[1]?.body?.stdin).toBe(sent);
});

test('S4-17 S4-37 the output has exactly six members, with what was left out filled in', async () => {
  const full = await start(execution({ stderr: 'warn', peak_memory_kib: 1, oom: false, killed_reason: '' }));
  const bare = await start({ exit_code: 0, stdout: '', stderr: '' });

  expect(output(await runCode(full.step))).toStrictEqual({
    exit_code: 0,
    stdout: '1\n',
    stderr: 'warn',
    duration_ms: 12,
    oom: false,
    killed_reason: null,
  });
  expect(output(await runCode(bare.step))).toStrictEqual({
    exit_code: 0,
    stdout: '',
    stderr: '',
    duration_ms: null,
    oom: false,
    killed_reason: null,
  });
});

test('S4-25 S4-40 what the sandbox cut is marked as cut, and nothing else is', async () => {
  const { step } = await start(execution({ stdout_truncated: true, stderr_truncated: false }));

  const given = output(await runCode(step));

  expect(given).toMatchObject({ stdout_truncated: true });
  expect(given).not.toHaveProperty('stderr_truncated');
});

test('S4-38 code that exits with an error is CODE_FAILED, with the end of its stderr, and is not tried again', async () => {
  const stderr = `${'x'.repeat(5_000)}\nValueError: \u001b[31mbad ${TOKEN}\n`;
  const { step } = await start(execution({ exit_code: 3, stdout: 'so far', stderr }));

  const error = failed(await runCode(step));

  expect(error).toMatchObject({ code: 'CODE_FAILED', retryable: false });
  expect(error.message).toContain('exited with 3');
  expect(error.message).toMatch(/ValueError: \\u001b\[31mbad \*\*\*$/);
  expect(error.message.length).toBeLessThan(2_100);
  expect(step.audits).toMatchObject([{ kind: 'code_failed', data: { exit_code: 3, stdout: 'so far' } }]);
});

test.each([
  [{ exit_code: 137, oom: true }, 'ran out of memory'],
  [{ exit_code: 0, oom: true }, 'ran out of memory'],
  [{ exit_code: 0, killed_reason: 'timeout' }, 'was killed (timeout)'],
  [{ exit_code: null, killed_reason: 'timeout' }, 'was killed (timeout)'],
  [{ exit_code: -1, killed_reason: 'x'.repeat(5_000_000) }, 'was killed (xxx'],
])('S4-39 code that was killed is CODE_FAILED, whatever its exit code: %#', async (result, said) => {
  const { step } = await start(execution(result));

  const error = failed(await runCode(step));

  expect(error.code).toBe('CODE_FAILED');
  expect(error.message).toContain(said);
  expect(error.message.length).toBeLessThan(500);
  expect(JSON.stringify(step.audits).length).toBeLessThan(60_000);
});

test.each([
  {},
  { exit_code: null },
  { exit_code: '0' },
  { exit_code: 0.5 },
  { stdout: 1 },
  { stderr: ['a'] },
  { oom: 'yes' },
  { killed_reason: 9 },
  { duration_ms: '1' },
])('S4-22 an answer that is no result of an execution is SERVICE_REJECTED: %j', async (wrong) => {
  const result = Object.keys(wrong).length === 0 ? { exec_id: 'later' } : execution(wrong);
  const { step } = await start(result);

  expect(failed(await runCode(step)).code).toBe('SERVICE_REJECTED');
});

test.each([[undefined], [''], ['..'], [7], ['x'.repeat(201)], [{ a: 1 }]])(
  'S4-32 a session with the id %j is SERVICE_REJECTED, and nothing is executed',
  async (id) => {
    const server = await scriptedServer(() => ({ json: { id } }));
    const step = await stepOn('sandbox', server.url);

    expect(failed(await runCode(step)).code).toBe('SERVICE_REJECTED');
    expect(server.requests).toHaveLength(1);
  },
);

test('S4-32 the id of a session stays in its place', async () => {
  const server = await scriptedServer(({ path }) =>
    path.endsWith('exec') ? { json: execution() } : { json: { id: '../a/%2e?x' } },
  );
  const step = await stepOn('sandbox', server.url);

  output(await runCode(step));

  expect(server.requests[1]?.path).toBe('/v1/sandbox/sessions/..%2Fa%2F%252e%3Fx/exec');
});
