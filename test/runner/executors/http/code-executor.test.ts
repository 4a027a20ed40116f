import { expect, test } from 'vitest';
import { createCodeExecutor } from '../../../../runner/executors/http/code-executor.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { code, execution, failed, output, runCode, sandbox, stepOn, TOKEN } from './harness.js';
import { type Script, scriptedServer } from './scripted-server.js';

const start = async (result: object = execution(), facts = {}) => {
  const server = await scriptedServer(sandbox(result));
  return { server, step: await stepOn('sandbox', server.url, {}, { step: facts }) };
};

test('S4-03 S4-32 S4-33 S4-34 S4-36 creates a session of the language and runs the code in it', async () => {
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

test('S4-17 S4-37 the output has exactly six members, with missing ones filled in', async () => {
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

test('S4-25 S4-40 output that the sandbox cut is marked as cut, and other output is not', async () => {
  const { step } = await start(execution({ stdout_truncated: true, stderr_truncated: false }));

  const given = output(await runCode(step));

  expect(given).toMatchObject({ stdout_truncated: true });
  expect(given).not.toHaveProperty('stderr_truncated');
});

test('S4-38 code that exits with an error is CODE_FAILED with the end of its stderr, and is not retried', async () => {
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

test('S4-32 the id of a session stays one path segment', async () => {
  const server = await scriptedServer(({ path }) =>
    path.endsWith('exec') ? { json: execution() } : { json: { id: '../a/%2e?x' } },
  );
  const step = await stepOn('sandbox', server.url);

  output(await runCode(step));

  expect(server.requests[1]?.path).toBe('/v1/sandbox/sessions/..%2Fa%2F%252e%3Fx/exec');
});

const startSandboxSessions = async (script: Script = sandbox(), session: 'run' | 'step' = 'run', options = {}) => {
  const server = await scriptedServer(script);
  return { server, step: await stepOn('sandbox', server.url, { session }, options) };
};

const CREATE = 'POST /v1/sandbox/sessions';

test('S4-41 with session: run all steps of a language share one session, which ends with the run', async () => {
  const { server, step } = await startSandboxSessions();

  await runCode(step);
  await runCode(step);
  await runCode(step, { language: 'node' });
  expect(server.lines().filter((line) => line.startsWith('DELETE'))).toEqual([]);
  await step.endRun();

  expect(server.lines().filter((line) => line === CREATE)).toHaveLength(2);
  expect(server.lines().slice(-2).sort()).toEqual([
    'DELETE /v1/sandbox/sessions/s-1',
    'DELETE /v1/sandbox/sessions/s-2',
  ]);
  await server.idle();
});

test('S4-41 steps at the same time wait for the same creation', async () => {
  const { server, step } = await startSandboxSessions();

  const outcomes = await Promise.all([runCode(step), runCode(step), runCode(step)]);

  expect(outcomes.map(({ state }) => state)).toEqual(['success', 'success', 'success']);
  expect(server.lines().filter((line) => line === CREATE)).toHaveLength(1);
});

test('S4-41 with session: step each step has its own session, deleted after it however it ends', async () => {
  const { server, step } = await startSandboxSessions(sandbox(execution({ exit_code: 1 })), 'step');

  await runCode(step);
  await runCode(step);

  expect(server.lines()).toEqual(
    ['s-1', 's-2'].flatMap((id) => [
      CREATE,
      `POST /v1/sandbox/sessions/${id}/exec`,
      `DELETE /v1/sandbox/sessions/${id}`,
    ]),
  );
  await step.endRun();
  expect(server.requests).toHaveLength(6);
});

test.each([404, 410])('S4-41 a shared session that is gone (%i) fails the step and is forgotten', async (status) => {
  let execs = 0;
  const normal = sandbox();
  const { server, step } = await startSandboxSessions((heard) =>
    heard.path.endsWith('/exec') && ++execs === 1 ? { status } : normal(heard),
  );

  expect(failed(await runCode(step)).code).toBe('SERVICE_REJECTED');
  output(await runCode(step));
  await step.endRun();

  expect(server.lines()).toEqual([
    CREATE,
    'POST /v1/sandbox/sessions/s-1/exec',
    CREATE,
    'POST /v1/sandbox/sessions/s-2/exec',
    'DELETE /v1/sandbox/sessions/s-2',
  ]);
});

test('S4-41 two steps that lose the same session replace it once', async () => {
  const waiting: (() => void)[] = [];
  const normal = sandbox();
  const { server, step } = await startSandboxSessions((heard, response) => {
    if (!heard.path.endsWith('s-1/exec')) return normal(heard);
    waiting.push(() => response.writeHead(404).end());
    return null;
  });
  const first = runCode(step);
  const second = runCode(step);
  await server.heard(3);

  waiting[0]?.();
  const firstDone = await Promise.race([first, second]);
  output(await runCode(step));
  waiting[1]?.();
  await Promise.all([first, second]);
  output(await runCode(step));

  expect(failed(firstDone).code).toBe('SERVICE_REJECTED');
  expect(server.lines().filter((line) => line === CREATE)).toHaveLength(2);
});

test('S4-41 a session whose creation failed is created again by the next step', async () => {
  const normal = sandbox();
  const { step } = await startSandboxSessions((heard, _, index) => (index === 0 ? { status: 503 } : normal(heard)));

  expect(failed(await runCode(step)).code).toBe('SERVICE_UNAVAILABLE');
  output(await runCode(step));
});

test('S4-41 a creation continues while a step waits for it, and is aborted with the last waiting step', async () => {
  let finish = () => {};
  const normal = sandbox();
  const { server, step } = await startSandboxSessions((heard, response, index) => {
    if (index > 1) return normal(heard);
    finish = () => response.writeHead(200).end('{"id":"late"}');
    return null;
  });
  const executor = createCodeExecutor();
  const runAborted = (controller: AbortController) =>
    executor.execute(code(), { ...step.context, signal: controller.signal });

  const alone = new AbortController();
  const lonely = runAborted(alone);
  await server.heard(1);
  alone.abort('step_timeout');
  expect((await lonely).state).toBe('timeout');
  await server.idle();

  const one = new AbortController();
  const stopped = runAborted(one);
  const other = runCode(step);
  await server.heard(2);
  one.abort('sibling');
  expect((await stopped).state).toBe('cancelled');
  finish();
  output(await other);

  expect(server.lines().slice(0, 3)).toEqual([CREATE, CREATE, 'POST /v1/sandbox/sessions/late/exec']);
});

test('S4-41 a session that cannot be deleted is a warning, a session that is gone already is not', async () => {
  const refusing = (status: number): Script => {
    const normal = sandbox();
    return (heard) => (heard.method === 'DELETE' ? { status, json: { error: `no, ${TOKEN}` } } : normal(heard));
  };
  const bad = await startSandboxSessions(refusing(500));
  const gone = await startSandboxSessions(refusing(404));

  for (const { step } of [bad, gone]) {
    output(await runCode(step));
    await step.endRun();
  }

  expect(bad.step.warnings).toEqual([
    {
      message: 'a session of the sandbox could not be deleted',
      fields: { error: 'services.sandbox DELETE /v1/sandbox/sessions/s-1 answered 500: no, ***' },
    },
  ]);
  expect(gone.step.warnings).toEqual([]);
});

test('S4-41 a sandbox that does not answer a deletion delays the end of the run by two seconds at most', async () => {
  const clock = new FakeClock();
  const normal = sandbox();
  const { server, step } = await startSandboxSessions(
    (heard) => (heard.method === 'DELETE' ? null : normal(heard)),
    'run',
    { clock },
  );
  output(await runCode(step));
  const ending = step.endRun();
  await server.heard(3);

  clock.advance(2_000);

  await ending;
  expect(step.warnings).toMatchObject([{ fields: { error: 'no answer within 2000 ms' } }]);
  await server.idle();
});

test('S4-41 a step that is stopped ends at once; its session is deleted in the background, and the end of the run waits for that', async () => {
  let answerDelete = () => {};
  const normal = sandbox();
  const { server, step } = await startSandboxSessions(
    (heard, response) => {
      if (heard.path.endsWith('/exec')) return null;
      if (heard.method !== 'DELETE') return normal(heard);
      answerDelete = () => response.writeHead(204).end();
      return null;
    },
    'step',
    { clock: new FakeClock() },
  );
  const running = runCode(step);
  await server.heard(2);

  step.abort('operator');
  expect(failed(await running).code).toBe('STOPPED_BY_OPERATOR');
  await server.heard(3);
  let isOver = false;
  const ending = step.endRun().then(() => {
    isOver = true;
  });
  expect(isOver).toBe(false);
  answerDelete();
  await ending;

  expect(server.lines().at(-1)).toBe('DELETE /v1/sandbox/sessions/s-1');
  await server.idle();
});

test('S4-41 a run that created no session deletes none', async () => {
  const { server, step } = await startSandboxSessions(() => ({ status: 500 }));

  await runCode(step);
  await step.endRun();

  expect(server.lines()).toEqual([CREATE]);
});
