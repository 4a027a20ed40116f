import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { endOfMessage } from '../../../../runner/executors/capability/execution-end.js';
import type { Fields } from '../../../../src/domain/json.js';
import {
  addCapability,
  addExecutor,
  CAP_ID,
  capabilityBench,
  errorOf,
  handler,
  outputOf,
  SIDE_ID,
  write,
} from './harness.js';

const ECHO = handler(
  'return { threadContext, metadata, cwd: process.cwd(), env: process.env, send: typeof process.send };',
);

describe('a start', () => {
  test('S3-24 S3-25 S3-26 a start finds executor and capability and passes the parameters with Baton’s own', async () => {
    const bench = await capabilityBench(ECHO);
    const dir = addCapability(bench.folder, 'power', 'grow', { tags: ['a'] });

    const { threadContext } = outputOf(
      await bench.execute('grow', { mine: [1], executionId: 'forged', capabilityPath: '/' }),
    );

    expect((threadContext as Fields).params).toEqual({
      mine: [1],
      capabilityPath: dir,
      capabilityName: 'grow',
      capabilityType: 'power',
      capabilityConfig: { name: 'grow', type: 'power', tags: ['a'] },
      executionId: expect.stringMatching(CAP_ID),
    });
  });

  test('S3-27 S3-28 S3-29 S3-30 S3-31 an executor is a Node.js process in its own folder, with its variables and an IPC channel', async () => {
    const bench = await capabilityBench(ECHO);

    const { cwd, env, send, metadata } = outputOf(await bench.execute('try'));

    const dir = join(bench.folder, 'executors', 'test');
    expect({ cwd, send }).toEqual({ cwd: dir, send: 'function' });
    expect(env).toMatchObject({
      SOCKET_PORT: expect.stringMatching(/^\d+$/),
      IS_SIDE_EXECUTION: 'true',
      SIDE_EXECUTION_ID: expect.stringMatching(SIDE_ID),
      THREAD_ID: bench.context.runId,
      PARENT_AGENT_ID: 'the-step',
      PARENT_AGENT_INSTANCE_ID: 'run-1-0',
      ACTION_BLOCK_PATH: dir,
      threadToken: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      BATON_CAPABILITY_CLIENT: expect.stringMatching(/\.mjs$/),
    });
    expect((metadata as Fields).sideExecutionId).toBe((env as Fields).SIDE_EXECUTION_ID);
    expect(bench.processes[0]?.stdin).toBeNull();
  });

  test('S3-35 S3-37 S3-38 S3-39 S3-40 S3-62 the handler gets the thread of the run and the data of the invocation', async () => {
    const message = {
      messageId: 'm1',
      content: 'Do it',
      sender: 'user',
      timestamp: '2026-01-01T00:00:00.000Z',
    } as const;
    const bench = await capabilityBench(ECHO, { overrides: { messages: () => [message] } });

    const { threadContext, metadata } = outputOf(await bench.execute('try'));

    expect(threadContext).toMatchObject({
      threadId: 'run-1',
      messages: [{ ...message, threadId: 'run-1' }],
      projectPath: bench.workspace,
      agentId: 'the-step',
      agentInstanceId: 'run-1-0',
      metadata: { runId: 'run-1', stepId: 'the-step', issue: { identifier: 'AB-1' } },
    });
    expect(metadata).toEqual({
      sideExecutionId: expect.stringMatching(SIDE_ID),
      threadId: 'run-1',
      parentAgentId: 'the-step',
      parentAgentInstanceId: 'run-1-0',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    });
  });

  test('S3-36 a thread of 1 MB is sent over the socket, not in environment or address', async () => {
    const content = 'ä'.repeat(1_000_000);
    const message = { messageId: 'm1', content, sender: 'user', timestamp: '2026-01-01T00:00:00.000Z' } as const;
    const body =
      'return { length: threadContext.messages[0].content.length, env: JSON.stringify(process.env).length };';
    const bench = await capabilityBench(handler(body), { overrides: { messages: () => [message] } });

    const { length, env } = outputOf(await bench.execute('try'));

    expect(length).toBe(1_000_000);
    expect(env).toBeLessThan(20_000);
  });

  test('an executor may be an ES module', async () => {
    const code = `const { onActionBlockInvocation } = await import(process.env.BATON_CAPABILITY_CLIENT);
      onActionBlockInvocation(() => ({ url: import.meta.url }));`;
    const bench = await capabilityBench('');
    addExecutor(bench.folder, 'test', code, { entryPoint: 'index.mjs' });

    expect(outputOf(await bench.execute('try')).url).toMatch(/index\.mjs$/);
  });
});

describe('an end', () => {
  test('S3-41 S3-42 the return value is the result, and no value becomes null', async () => {
    const bench = await capabilityBench(handler('return params.value;'));
    addCapability(bench.folder, 'power', 'b');

    expect(await bench.execute('try', { value: { files: ['a'] } })).toEqual({
      state: 'success',
      output: { files: ['a'] },
      meta: {},
    });
    expect(await bench.execute('b')).toEqual({ state: 'success', output: null, meta: {} });
  });

  test('S3-43 a thrown error becomes the message of CAPABILITY_FAILED', async () => {
    const bench = await capabilityBench(handler("throw new Error('File not found');"));

    const outcome = await bench.execute('try');

    expect(errorOf(outcome)).toEqual({
      code: 'CAPABILITY_FAILED',
      message: 'power try: File not found',
      retryable: false,
    });
  });

  test('a result that is not JSON is an error of the capability', async () => {
    const bench = await capabilityBench(handler('return { big: 1n };'));

    expect(errorOf(await bench.execute('try'))).toMatchObject({ code: 'CAPABILITY_FAILED', message: /BigInt/ });
  });

  test('S3-44 a result with additional context is split into output and context', async () => {
    const bench = await capabilityBench(handler('return { result: { a: 1 }, additionalContext: { b: 2 } };'));

    expect(await bench.execute('try')).toEqual({ state: 'success', output: { a: 1 }, meta: { context: { b: 2 } } });
  });

  test.each([
    [{ additionalContext: 5 }, { result: null, additionalContext: 5 }],
    [{ result: 1, other: 2 }, { result: { result: 1, other: 2 } }],
    [{ result: 1 }, { result: { result: 1 } }],
    [{ result: 1, additionalContext: 2, other: 3 }, { result: { result: 1, additionalContext: 2, other: 3 } }],
    ['text', { result: 'text' }],
    [undefined, { result: null }],
  ])('S3-44 the result %j is read as %j', (result, end) => {
    expect(endOfMessage({ type: 'actionBlockComplete', result })).toEqual({ state: 'completed', ...end });
  });
});

describe('the client', () => {
  test('S3-29 S3-41 answers over the IPC channel when its connection is closed', async () => {
    const cut =
      'process._getActiveHandles().filter(({ remotePort }) => remotePort).forEach((socket) => socket.destroy());';
    const bench = await capabilityBench(
      handler(`${cut} return { call: await codebolt.project.getProjectPath().catch((error) => error.message) };`),
    );

    expect(outputOf(await bench.execute('try'))).toEqual({ call: expect.stringMatching(/./) });
  });

  test('S3-69 a refused call throws with the reason', async () => {
    const bench = await capabilityBench(
      handler("return await codebolt.fs.readFile('gone').catch(({ message, code }) => ({ message, code }));"),
    );

    expect(outputOf(await bench.execute('try'))).toMatchObject({ message: /no such file/, code: 'ENOENT' });
  });
});

describe('a refused start', () => {
  test('S3-05 S3-06 a type without an executor and an unknown capability are refused', async () => {
    const bench = await capabilityBench(ECHO);
    addCapability(bench.folder, 'talent', 'sing');

    expect(errorOf(await bench.execute('sing', {}, 'talent')).code).toBe('EXECUTOR_NOT_FOUND');
    expect(errorOf(await bench.execute('unknown', {}, 'unknown')).code).toBe('EXECUTOR_NOT_FOUND');
    expect(errorOf(await bench.execute('unknown')).code).toBe('CAPABILITY_NOT_FOUND');
    expect(bench.processes).toEqual([]);
  });

  test('S3-08 each run and each refresh discovers again, so removed definitions are gone and added ones are found', async () => {
    const bench = await capabilityBench(handler('return 1;'));
    const first = await bench.manager.index(bench.project);
    rmSync(join(bench.folder, 'executors', 'test'), { recursive: true });

    expect(errorOf(await bench.execute('try')).code).toBe('EXECUTOR_NOT_FOUND');
    addCapability(bench.folder, 'power', 'added');
    expect((await bench.manager.index(bench.project)).capabilities).toHaveLength(1);
    const second = await bench.manager.refresh(bench.project);

    expect(first.executors.map(({ name }) => name)).toEqual(['skill', 'test']);
    expect(second.executors.map(({ name }) => name)).toEqual(['skill']);
    expect(second.capabilities.map(({ name }) => name)).toEqual(['added', 'try']);
    expect(await bench.manager.index(bench.project)).toBe(second);
  });

  test('S3-79 a pinned executor runs the capability, and a missing one is EXECUTOR_NOT_FOUND', async () => {
    const bench = await capabilityBench(handler('return "by type";'));
    addExecutor(bench.folder, 'a-pinned', handler('return "pinned";'), { supportedTypes: ['none'] });
    addCapability(bench.folder, 'power', 'pins', { executor: 'a-pinned' });
    addCapability(bench.folder, 'power', 'wrong', { executor: 'gone' });

    expect(outputOf(await bench.execute('pins'))).toBe('pinned');
    expect(errorOf(await bench.execute('wrong'))).toMatchObject({ code: 'EXECUTOR_NOT_FOUND', message: /named gone/ });
  });

  test('S3-59 S3-78 a missing or wrong input is INVALID_REQUEST before any process starts', async () => {
    const bench = await capabilityBench(handler('return params;'));
    const inputs = [
      { name: 'file', type: 'string', required: true },
      { name: 'depth', type: 'integer', default: 3 },
      { name: 'free', type: 'glob' },
    ];
    addCapability(bench.folder, 'power', 'asks', { inputs });
    const code = async (params: Parameters<typeof bench.execute>[1]) =>
      errorOf(await bench.execute('asks', params)).code;

    expect(await code({})).toBe('INVALID_REQUEST');
    expect(await code({ file: null })).toBe('INVALID_REQUEST');
    expect(await code({ file: 7 })).toBe('INVALID_REQUEST');
    expect(await code({ file: 'a', depth: 1.5 })).toBe('INVALID_REQUEST');
    const order = { type: 'power', name: 'asks', params: { file: 'a' }, timeoutMs: null };
    for (const bad of [
      { type: '' },
      { name: '' },
      { params: [] as never },
      { timeoutMs: 0 },
      { timeoutMs: Number.NaN },
    ]) {
      const end = await bench.manager.startCapability({ ...order, ...bad }, bench.context);
      expect(end).toMatchObject({ state: 'failed', code: 'INVALID_REQUEST' });
    }
    expect(bench.processes).toEqual([]);
    expect(bench.events()).toEqual([]);
    const params = JSON.parse('{ "file": "a", "other": true, "__proto__": { "x": 1 } }');
    expect(outputOf(await bench.execute('asks', params))).toMatchObject({ file: 'a', depth: 3, other: true });
  });

  test('S3-54 a missing entry point is ACTION_BLOCK_NOT_FOUND', async () => {
    const bench = await capabilityBench(ECHO);
    rmSync(join(bench.folder, 'executors', 'test', 'dist'), { recursive: true });

    expect(errorOf(await bench.execute('try')).code).toBe('ACTION_BLOCK_NOT_FOUND');
    expect(bench.processes).toEqual([]);
  });

  test('S3-55 a malformed executor.yaml that a capability needs is INVALID_ACTION_BLOCK', async () => {
    const bench = await capabilityBench(ECHO);
    const definition = (name: string, text: string) =>
      write(join(bench.folder, 'executors', name, 'executor.yaml'), text);
    definition('reviewer', 'name: reviewer\nsupportedTypes: review\n');
    definition('typed', 'supportedTypes: [talent]\n');
    addCapability(bench.folder, 'power', 'pins', { executor: 'reviewer' });
    addCapability(bench.folder, 'talent', 'sings');
    addCapability(bench.folder, 'gift', 'other');

    expect(errorOf(await bench.execute('pins'))).toMatchObject({
      code: 'INVALID_ACTION_BLOCK',
      message: expect.stringMatching(/reviewer\/executor\.yaml needs `supportedTypes`/),
    });
    expect(errorOf(await bench.execute('sings', {}, 'talent')).code).toBe('INVALID_ACTION_BLOCK');
    expect(errorOf(await bench.execute('other', {}, 'gift')).code).toBe('EXECUTOR_NOT_FOUND');
    expect(bench.processes).toEqual([]);
  });

  test.each(['supportedTypes: []', 'supportedTypes: [7]'])(
    'S3-55 an executor.yaml with %s may be meant for any type',
    async (text) => {
      const bench = await capabilityBench(ECHO);
      write(join(bench.folder, 'executors/empty/executor.yaml'), `name: empty\n${text}\n`);
      addCapability(bench.folder, 'gift', 'other');

      expect(errorOf(await bench.execute('other', {}, 'gift')).code).toBe('INVALID_ACTION_BLOCK');
    },
  );

  test('S3-55 a definition that became invalid after discovery is INVALID_ACTION_BLOCK', async () => {
    const bench = await capabilityBench(ECHO);
    addCapability(bench.folder, 'power', 'b');
    outputOf(await bench.execute('try'));
    const file = join(bench.folder, 'executors', 'test', 'executor.yaml');

    write(file, 'name: [');
    expect(errorOf(await bench.execute('b')).code).toBe('INVALID_ACTION_BLOCK');
    write(file, 'name: test\n');
    expect(errorOf(await bench.execute('b')).code).toBe('INVALID_ACTION_BLOCK');
    rmSync(file);
    expect(errorOf(await bench.execute('b')).code).toBe('INVALID_ACTION_BLOCK');
  });
});
