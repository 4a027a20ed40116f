import { expect, test } from 'vitest';
import { createCodeExecutor } from '../../../../runner/executors/http/code-executor.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { code, execution, failed, output, runCode, sandbox, stepOn, TOKEN } from './harness.js';
import { type Script, scriptedServer } from './scripted-server.js';

const start = async (script: Script = sandbox(), session: 'run' | 'step' = 'run', options = {}) => {
  const server = await scriptedServer(script);
  return { server, step: await stepOn('sandbox', server.url, { session }, options) };
};

const CREATE = 'POST /v1/sandbox/sessions';

test('S4-41 with session: run all steps of a language share one session, which goes with the run', async () => {
  const { server, step } = await start();

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
  const { server, step } = await start();

  const outcomes = await Promise.all([runCode(step), runCode(step), runCode(step)]);

  expect(outcomes.map(({ state }) => state)).toEqual(['success', 'success', 'success']);
  expect(server.lines().filter((line) => line === CREATE)).toHaveLength(1);
});

test('S4-41 with session: step each step has its own, deleted after it however it ends', async () => {
  const { server, step } = await start(sandbox(execution({ exit_code: 1 })), 'step');

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
  const { server, step } = await start((heard) =>
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

test('S4-41 two steps that find the same session gone lose one session, not two', async () => {
  const waiting: (() => void)[] = [];
  const normal = sandbox();
  const { server, step } = await start((heard, response) => {
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

test('S4-41 a creation that failed is made anew by the next step', async () => {
  const normal = sandbox();
  const { step } = await start((heard, _, index) => (index === 0 ? { status: 503 } : normal(heard)));

  expect(failed(await runCode(step)).code).toBe('SERVICE_UNAVAILABLE');
  output(await runCode(step));
});

test('S4-41 a creation goes on while one step waits for it, and is aborted with the last one', async () => {
  let finish = () => {};
  const normal = sandbox();
  const { server, step } = await start((heard, response, index) => {
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

test('S4-41 a session that cannot be deleted is a warning, and one that is gone already is none', async () => {
  const refusing = (status: number): Script => {
    const normal = sandbox();
    return (heard) => (heard.method === 'DELETE' ? { status, json: { error: `no, ${TOKEN}` } } : normal(heard));
  };
  const bad = await start(refusing(500));
  const gone = await start(refusing(404));

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

test('S4-41 a sandbox that does not answer a deletion holds the end of the run for two seconds, no longer', async () => {
  const clock = new FakeClock();
  const normal = sandbox();
  const { server, step } = await start((heard) => (heard.method === 'DELETE' ? null : normal(heard)), 'run', { clock });
  output(await runCode(step));
  const ending = step.endRun();
  await server.heard(3);

  clock.advance(2_000);

  await ending;
  expect(step.warnings).toMatchObject([{ fields: { error: 'no answer within 2000 ms' } }]);
  await server.idle();
});

test('S4-41 a step that is stopped ends at once; its session is deleted meanwhile, and the end of the run waits for that', async () => {
  let answerDelete = () => {};
  const normal = sandbox();
  const { server, step } = await start(
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

test('S4-41 a run that made no session deletes none', async () => {
  const { server, step } = await start(() => ({ status: 500 }));

  await runCode(step);
  await step.endRun();

  expect(server.lines()).toEqual([CREATE]);
});
