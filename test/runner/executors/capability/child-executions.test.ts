import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Fields } from '../../../../src/domain/json.js';
import { addCapability, addExecutor, CAP_ID, capabilityBench, handler, isAlive, outputOf, SIDE_ID } from './harness.js';

/** Its first handler runs `body`; the capabilities `inner` and `bad` of type skill have executors of their own. */
async function nestedBench(body: string) {
  const bench = await capabilityBench(handler(body));
  addExecutor(
    bench.folder,
    'inner',
    handler('return { got: params.value, thread: metadata.threadId, agent: metadata.parentAgentId };'),
    {
      supportedTypes: ['skill'],
    },
  );
  addExecutor(bench.folder, 'bad', handler("throw new Error('not today');"), { supportedTypes: ['none'] });
  addExecutor(
    bench.folder,
    'slow',
    handler("console.log('slow is up'); await new Promise(() => setInterval(() => {}, 1000));"),
    {
      supportedTypes: ['none'],
    },
  );
  const inputs = [{ name: 'value', type: 'number' }];
  addCapability(bench.folder, 'skill', 'inner', { inputs, description: 'the inner one' });
  addCapability(bench.folder, 'skill', 'bad', { executor: 'bad' });
  addCapability(bench.folder, 'skill', 'slow', { executor: 'slow' });
  return bench;
}

describe('nested capabilities', () => {
  test('S3-65 S3-43 S3-31 a capability starts others in its thread and gets their ends', async () => {
    const bench = await nestedBench(`
      const { capability } = codebolt;
      return {
        good: await capability.startSkill('inner', { value: 7 }),
        same: await capability.startCapability('inner', 'skill'),
        bad: await capability.startSkill('bad'),
        gone: await capability.startPower('gone'),
        wrong: await capability.startSkill('inner', { value: 'seven' }),
        badTime: await capability.startSkill('inner', {}, -1),
      };`);

    expect(outputOf(await bench.execute('try'))).toEqual({
      good: {
        success: true,
        executionId: expect.stringMatching(CAP_ID),
        status: 'completed',
        result: { got: 7, thread: 'run-1', agent: 'the-step' },
      },
      same: expect.objectContaining({ success: true }),
      bad: {
        success: false,
        executionId: expect.stringMatching(CAP_ID),
        status: 'failed',
        error: 'not today',
        code: 'CAPABILITY_FAILED',
      },
      gone: expect.objectContaining({ success: false, code: 'CAPABILITY_NOT_FOUND' }),
      wrong: expect.objectContaining({ success: false, code: 'INVALID_REQUEST' }),
      badTime: { success: false, error: expect.stringMatching(/timeout/), code: 'INVALID_REQUEST' },
    });
    expect(bench.events().filter(({ parent_id }) => parent_id !== null)).toHaveLength(6);
  });

  test('S3-50 S3-73 a nested execution has its own limit, a status, and can be stopped', async () => {
    const bench = await nestedBench(`
      const { capability } = codebolt;
      const late = await capability.startSkill('slow', {}, 500);
      const begun = await capability.startSkill('slow', {}, undefined, { wait: false });
      let status;
      do status = await capability.getExecutionStatus(begun.executionId); while (status.status !== 'running');
      const active = await capability.getActiveExecutions();
      const stopped = await capability.stopCapability(begun.executionId);
      const after = await capability.getExecutionStatus(begun.executionId);
      const unknown = await capability.getExecutionStatus('cap_1_00000000');
      const foreign = await capability.stopCapability(params.executionId);
      return { late, begun, status, active: active.map(({ name }) => name), stopped, after, unknown, foreign };`);

    const output = outputOf(await bench.execute('try'));

    expect(output).toMatchObject({
      late: { success: false, status: 'timeout', code: 'EXECUTION_TIMEOUT' },
      begun: { success: true, executionId: expect.stringMatching(CAP_ID), status: 'starting' },
      status: { success: true, name: 'slow', depth: 2 },
      active: ['try', 'slow'],
      stopped: { success: true, status: 'stopped' },
      after: { success: true, status: 'stopped' },
      unknown: { success: false },
      foreign: { success: false },
    });
    expect(bench.events().map(({ event }) => event)).toContain('capabilityTimeout');
  });

  test('S3-65 skills and capabilities can be listed', async () => {
    const bench = await nestedBench(`
      const { capability } = codebolt;
      return { skills: await capability.listSkills(), all: await capability.listCapabilities() };`);

    const { skills, all } = outputOf(await bench.execute('try')) as { skills: Fields[]; all: Fields[] };

    expect(skills.map(({ name }) => name)).toEqual(['bad', 'inner', 'slow']);
    expect(skills[1]).toMatchObject({ description: 'the inner one', inputs: [{ name: 'value', type: 'number' }] });
    expect(all.map(({ name }) => name)).toEqual(['try', 'bad', 'inner', 'slow']);
  });

  test('S3-70 a capability that calls itself is refused below depth five', async () => {
    const bench = await capabilityBench(
      handler(`
        const inner = await codebolt.capability.startPower('try');
        return { depth: (inner.result?.depth ?? 0) + 1, error: inner.error ?? inner.result?.error };`),
    );

    expect(outputOf(await bench.execute('try'))).toEqual({ depth: 5, error: expect.stringMatching(/5 deep/) });
    expect(bench.processes).toHaveLength(5);
    expect(bench.events().map(({ depth }) => depth)).toEqual([1, 2, 3, 4, 5, 5, 4, 3, 2, 1]);
  });

  test('S3-70 S3-53 at most eight executions run at a time, and all end with their parent', async () => {
    const bench = await nestedBench(`
      const starts = Array.from({ length: 10 }, () => codebolt.capability.startSkill('slow', {}, undefined, { wait: false }));
      const answers = await Promise.all(starts);
      return { begun: answers.filter(({ success }) => success).length, errors: answers.filter(({ success }) => !success) };`);

    const output = outputOf(await bench.execute('try')) as { begun: number; errors: Fields[] };

    expect(output.begun).toBe(8);
    expect(output.errors[0]?.error).toMatch(/more than 8/);
    expect(bench.manager.getActiveExecutions()).toEqual([]);
    await bench.endRun();
    expect(bench.processes.filter(({ pid }) => isAlive(pid))).toEqual([]);
    expect(bench.manager.stats()).toMatchObject({ totals: { completed: 1, stopped: 8 } });
  });
});

describe('side executions', () => {
  test('S3-66 an executor is started by name, and code from a folder that is removed afterwards', async () => {
    const code = handler('return { sum: params.a + params.b, dir: process.cwd() };');
    const module = `import { cwd } from 'node:process';
      const { onActionBlockInvocation } = await import(process.env.BATON_CAPABILITY_CLIENT);
      onActionBlockInvocation(() => cwd());`;
    const bench = await nestedBench(`
      const { sideExecution } = codebolt;
      return {
        block: await sideExecution.startWithActionBlock('inner', { value: 1 }),
        none: await sideExecution.startWithActionBlock('no-such'),
        code: await sideExecution.startWithCode(${JSON.stringify(code)}, { a: 1, b: 2 }),
        module: await sideExecution.startWithCode(${JSON.stringify(module)}),
        broken: await sideExecution.startWithCode('let let'),
        empty: await sideExecution.startWithCode(''),
      };`);

    const output = outputOf(await bench.execute('try'));

    expect(output).toMatchObject({
      block: { success: true, sideExecutionId: expect.stringMatching(SIDE_ID), result: { got: 1 } },
      none: { success: false, code: 'EXECUTOR_NOT_FOUND' },
      code: { success: true, result: { sum: 3, dir: expect.stringContaining(bench.context.tmpDir) } },
      module: { success: true, result: expect.stringContaining(bench.context.tmpDir) },
      broken: { success: false, code: 'SYNTAX_ERROR' },
      empty: { success: false },
    });
    expect(readdirSync(bench.context.tmpDir)).toEqual([]);
  });

  test('S3-66 S3-73 an execution started without waiting has a status and can be stopped', async () => {
    const bench = await nestedBench(`
      const { sideExecution } = codebolt;
      const slow = await sideExecution.startWithActionBlock('slow', {}, undefined, { wait: false });
      const fast = await sideExecution.startWithActionBlock('inner', { value: 2 }, undefined, { wait: false });
      let ended;
      do ended = await sideExecution.getStatus(fast.sideExecutionId); while (ended.status !== 'completed' || !ended.result);
      return { stopped: await sideExecution.stop(slow.sideExecutionId), again: await sideExecution.stop(slow.sideExecutionId), ended };`);

    expect(outputOf(await bench.execute('try'))).toMatchObject({
      stopped: { success: true, status: 'stopped' },
      again: { success: false },
      ended: { success: true, status: 'completed', result: { got: 2 } },
    });
  });
});

describe('a run that is stopped', () => {
  test('S3-61 stops the executions that its executions started', async () => {
    const bench = await nestedBench("await codebolt.capability.startSkill('slow');");
    const running = bench.execute('try');
    await bench.untilPrinted('slow is up');

    bench.abort('shutdown');

    expect(await running).toMatchObject({ state: 'cancelled', error: { code: 'INTERRUPTED' } });
    expect(bench.processes).toHaveLength(2);
    expect(bench.processes.filter(({ pid }) => isAlive(pid))).toEqual([]);
    expect(bench.manager.stats()).toMatchObject({ active: [], totals: { stopped: 2 } });
  });
});
