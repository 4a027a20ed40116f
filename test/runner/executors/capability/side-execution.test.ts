import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Fields } from '../../../../src/domain/json.js';
import { FakeClock } from '../../../support/fake-clock.js';
import {
  addExecutor,
  CAP_ID,
  capabilityBench,
  errorOf,
  handler,
  isAlive,
  outputOf,
  SIDE_ID,
  write,
} from './harness.js';

const HANGS = 'setInterval(() => {}, 1000);';
/** Says on stdout when the handler is at work, and never returns. */
const WORKS = handler("console.log('at work'); await new Promise(() => setInterval(() => {}, 1000));");

describe('code that cannot be compiled', () => {
  test.each([
    ['CommonJS', 'dist/index.js', 'const = 1;'],
    ['an ES module', 'index.mjs', 'export const = 1;'],
    ['a module by its syntax', 'dist/index.js', 'import fs from "node:fs";\nlet a = ;'],
    ['an ES module that asks for what is not exported', 'index.mjs', 'import { nothing } from "node:fs";'],
    ['CommonJS that requires a broken file', 'dist/index.js', 'require("../broken.cjs");'],
    ['an ES module that imports a broken file', 'index.mjs', 'import "./broken.cjs";'],
  ])('S3-56 %s with a syntax error is SYNTAX_ERROR', async (_, entryPoint, code) => {
    const bench = await capabilityBench('');
    write(join(addExecutor(bench.folder, 'test', code, { entryPoint }), 'broken.cjs'), 'let let = 1');

    expect(errorOf(await bench.execute('try'))).toMatchObject({ code: 'SYNTAX_ERROR', message: /SyntaxError: / });
  });

  test.each(['JSON.parse("{");', 'new Function("let let")();', 'throw new SyntaxError("mine");'])(
    'S3-57 %s is a crash, not a syntax error of the executor',
    async (code) => {
      const bench = await capabilityBench(code);

      expect(errorOf(await bench.execute('try')).code).toBe('PROCESS_CRASHED');
    },
  );
});

describe('a child that does not answer', () => {
  test('S3-48 a child that never connects is CONNECTION_FAILED after connect_timeout_ms, and is stopped', async () => {
    const clock = new FakeClock();
    const bench = await capabilityBench(`console.log('up'); ${HANGS}`, { clock });
    const running = bench.execute('try');
    await bench.untilPrinted('up');

    clock.advance(29_999);
    expect(bench.manager.getActiveExecutions()).toMatchObject([{ status: 'starting' }]);
    clock.advance(1);

    expect(errorOf(await running)).toMatchObject({ code: 'CONNECTION_FAILED', retryable: true });
    expect(isAlive(bench.processes[0]?.pid ?? 0)).toBe(false);
  });

  test.each([
    ['S3-57 a child that exits with 3', 'process.exit(3);', /code 3 before it connected/],
    ['S3-58 a child that exits with 0', '', /code 0 before it connected/],
    ['S3-58 a child that exits with 0 in its handler', handler('process.exit(0);'), /code 0 before it answered/],
    ['S3-57 a child that is killed', "process.kill(process.pid, 'SIGKILL');", /killed by SIGKILL/],
    [
      'S3-57 a child that leaves a rejection unhandled',
      handler("Promise.reject(new Error('x')); await new Promise(() => setInterval(() => {}, 1000));"),
      /code 1/,
    ],
  ])('%s is PROCESS_CRASHED', async (_, code, message) => {
    const bench = await capabilityBench(code);

    expect(errorOf(await bench.execute('try'))).toMatchObject({ code: 'PROCESS_CRASHED', message, retryable: false });
  });

  test('S3-49 S3-50 the only default limit is that of the step; over it the child is stopped with capabilityTimeout', async () => {
    const bench = await capabilityBench(WORKS, { clock: new FakeClock() });
    const running = bench.execute('try');
    await bench.untilPrinted('at work');
    (bench.context.clock as FakeClock).advance(1_000_000_000);
    expect(bench.manager.getActiveExecutions()).toMatchObject([{ status: 'running' }]);

    bench.abort('step_timeout');

    expect(await running).toMatchObject({ state: 'timeout', error: { code: 'turn_timeout' } });
    expect(bench.events().map(({ event }) => event)).toEqual(['capabilityStarted', 'capabilityTimeout']);
    expect(isAlive(bench.processes[0]?.pid ?? 0)).toBe(false);
  });

  test('S3-50 an execution over its own limit is EXECUTION_TIMEOUT', async () => {
    const clock = new FakeClock();
    const bench = await capabilityBench(WORKS, { clock });
    const order = { type: 'power', name: 'try', params: {}, timeoutMs: 5_000 };
    const running = bench.manager.startCapability(order, bench.context);
    await bench.untilPrinted('at work');

    clock.advance(5_000);

    expect(await running).toMatchObject({
      state: 'timeout',
      code: 'EXECUTION_TIMEOUT',
      executionId: expect.stringMatching(CAP_ID),
    });
    expect(bench.events().at(-1)).toMatchObject({ event: 'capabilityTimeout', status: 'timeout' });
  });
});

describe('a stop', () => {
  test('S3-51 a stop begins with SIGTERM, and the child may clean up', async () => {
    const code = handler(`
      process.on('SIGTERM', () => { console.log('cleaned'); process.exit(0); });
      console.log('at work');
      await new Promise(() => setInterval(() => {}, 1000));`);
    const bench = await capabilityBench(code);
    const running = bench.execute('try');
    await bench.untilPrinted('at work');

    bench.abort('terminal');

    expect(await running).toMatchObject({ state: 'cancelled', error: { code: 'CANCELLED_BY_ORCHESTRATOR' } });
    expect(bench.printed()).toContain('cleaned');
    expect(bench.events().at(-1)).toMatchObject({ event: 'capabilityFailed', status: 'stopped' });
  });

  test('S3-52 S3-61 a child that ignores SIGTERM gets SIGKILL, and closing the manager stops all children', async () => {
    const code = handler(`
      process.on('SIGTERM', () => console.log('ignored'));
      console.log('at work');
      await new Promise(() => setInterval(() => {}, 1000));`);
    const bench = await capabilityBench(code);
    const running = bench.execute('try');
    await bench.untilPrinted('at work');

    const closed = bench.manager.close();
    await bench.untilPrinted('ignored');
    expect(bench.manager.getActiveExecutions()).toMatchObject([{ status: 'stopping' }]);
    await closed;

    expect(isAlive(bench.processes[0]?.pid ?? 0)).toBe(false);
    expect(await running).toMatchObject({ state: 'cancelled', error: { code: 'INTERRUPTED' } });
    expect(await bench.processes[0]?.exited).toMatchObject({ signal: 'SIGKILL' });
    expect(await bench.execute('try')).toMatchObject({ error: { code: 'INTERRUPTED' } });
    expect(bench.processes).toHaveLength(1);
  });

  test('a step aborted before it began starts no process', async () => {
    const bench = await capabilityBench(WORKS);
    bench.abort('operator');

    expect(await bench.execute('try')).toMatchObject({ state: 'cancelled', error: { code: 'STOPPED_BY_OPERATOR' } });
    expect(bench.processes).toEqual([]);
  });

  test('the result of a child that does not exit is handed on at once, while the child is stopped', async () => {
    const code = handler(`
      process.on('SIGTERM', () => console.log('told to end'));
      process.exit = () => {};
      setInterval(() => {}, 1000);
      return 1;`);
    // With this clock any wait would last for ever.
    const bench = await capabilityBench(code, { clock: new FakeClock() });

    expect(outputOf(await bench.execute('try'))).toBe(1);
    await bench.untilPrinted('told to end');
    expect(isAlive(bench.processes[0]?.pid ?? 0)).toBe(true);
    expect(bench.manager.getActiveExecutions()).toEqual([]);

    await bench.manager.close();
    expect(isAlive(bench.processes[0]?.pid ?? 0)).toBe(false);
  });

  test('the run does not end before the process of an answered execution is gone', async () => {
    const code = handler(`
      process.on('SIGTERM', () => {});
      process.exit = () => {};
      setInterval(() => {}, 1000);`);
    const bench = await capabilityBench(code);
    outputOf(await bench.execute('try').then((outcome) => ({ ...outcome, output: {} })));

    await bench.endRun();

    expect(isAlive(bench.processes[0]?.pid ?? 0)).toBe(false);
  });
});

describe('without namespaces', () => {
  test('an executor runs, makes calls, and is gone at the end', async () => {
    const body = "return { ...(await codebolt.terminal.executeCommand('echo hi')), sent: typeof process.send };";
    const bench = await capabilityBench(handler(body), { isolation: 'none' });

    expect(outputOf(await bench.execute('try'))).toMatchObject({ exitCode: 0, stdout: 'hi\n', sent: 'function' });
    await bench.endRun();
    expect(bench.processes.filter(({ pid }) => isAlive(pid))).toEqual([]);
  });
});

describe('reports', () => {
  test('S3-46 S3-47 S3-53 S3-72 S3-73 events, statuses and stats follow an execution to its end', async () => {
    const bench = await capabilityBench(
      handler("console.log('at work'); await new Promise((r) => process.once('message', r)); return 1;"),
    );
    const started = once(bench.manager.events, 'capabilityStarted');
    const completed = once(bench.manager.events, 'capabilityCompleted');
    const running = bench.execute('try');
    await started;
    await bench.untilPrinted('at work');

    const [active] = bench.manager.getActiveExecutions();
    const id = String(active?.execution_id);
    expect(active).toEqual({
      execution_id: expect.stringMatching(CAP_ID),
      side_execution_id: expect.stringMatching(SIDE_ID),
      type: 'power',
      name: 'try',
      executor: 'test',
      status: 'running',
      started_at: expect.stringMatching(/Z$/),
      run_id: 'run-1',
      parent_id: null,
      depth: 1,
    });
    expect(bench.manager.getExecutionStatus(id)).toEqual(active);
    expect(bench.manager.stats()).toEqual({
      active: [active],
      totals: { completed: 0, failed: 0, timeout: 0, stopped: 0 },
    });
    bench.processes[0]?.channel?.write('"go"\n');
    outputOf(await running);

    expect((await completed)[0]).toMatchObject({ event: 'capabilityCompleted', execution_id: id, status: 'completed' });
    expect(bench.events().map(({ event }) => event)).toEqual(['capabilityStarted', 'capabilityCompleted']);
    expect(bench.manager.getActiveExecutions()).toEqual([]);
    expect(bench.manager.getExecutionStatus(id)).toMatchObject({ status: 'completed' });
    expect(bench.manager.getExecutionStatus('cap_0_00000000')).toBeNull();
    expect(bench.manager.stats()).toMatchObject({ active: [], totals: { completed: 1 } });
  });

  test('S3-46 S3-53 a failed execution is reported with its code', async () => {
    const bench = await capabilityBench(handler("throw new Error('no');"));
    errorOf(await bench.execute('try'));

    expect(bench.events()).toMatchObject([
      { event: 'capabilityStarted', status: 'starting' },
      { event: 'capabilityFailed', status: 'failed', code: 'CAPABILITY_FAILED', error: 'no' },
    ]);
    expect(bench.manager.stats()).toMatchObject({ active: [], totals: { failed: 1 } });
  });

  test('S3-60 console output goes to the transcript with the execution id, line by line', async () => {
    const bench = await capabilityBench(
      handler("console.log('one\\ntwo'); console.error('three'); return params.executionId;"),
    );

    const id = outputOf(await bench.execute('try'));

    await bench.endRun();
    const lines = bench.audits.filter(({ kind }) => kind === 'capability_output').map(({ data }) => data);
    expect(lines).toEqual(
      expect.arrayContaining([
        { execution_id: id, stream: 'stdout', text: 'one' },
        { execution_id: id, stream: 'stdout', text: 'two' },
        { execution_id: id, stream: 'stderr', text: 'three' },
      ]),
    );
    expect(bench.signals.filter(({ type }) => type === 'progress').length).toBeGreaterThan(2);
  });

  test('a long line is kept in pieces, also when it arrives at once', async () => {
    const bench = await capabilityBench(handler("process.stdout.write('x'.repeat(9_000) + '\\n'); return 1;"));

    expect(outputOf(await bench.execute('try'))).toBe(1);
    await bench.endRun();
    expect(bench.printed().join('')).toHaveLength(9_000);
  });

  test.each([
    ['one line', "'x'.repeat(3_000_000)"],
    ['short lines', "'x\\n'.repeat(100_000)"],
  ])('endless output is cut and does not block the child: %s', async (_, text) => {
    const bench = await capabilityBench(handler(`process.stdout.write(${text}); return 1;`));

    expect(outputOf(await bench.execute('try'))).toBe(1);
    await bench.endRun();
    const total = bench.printed().reduce((sum, line) => sum + line.length, 0);
    expect(total).toBeLessThan(1_010_000);
    expect(bench.printed().length).toBeLessThan(10_000);
    const outputs = bench.audits.filter(({ kind }) => kind === 'capability_output').map(({ data }) => data as Fields);
    expect(outputs.filter(({ truncated }) => truncated === true)).toEqual([outputs.at(-1)]);
  });

  test('S3-53 nothing is left in the temporary folder', async () => {
    const bench = await capabilityBench(
      handler("return await codebolt.sideExecution.startWithCode('process.exit(1)');"),
    );

    expect(outputOf(await bench.execute('try'))).toMatchObject({ success: false, code: 'PROCESS_CRASHED' });
    expect(existsSync(bench.context.tmpDir)).toBe(true);
    expect(readdirSync(bench.context.tmpDir)).toEqual([]);
  });
});
