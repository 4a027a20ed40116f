import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { symlinkSync } from 'node:fs';
import { request } from 'node:http';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { CapabilityHub, type Ticket } from '../../../../runner/executors/capability/hub.js';
import { Peer } from '../../../../runner/executors/capability/peer.js';
import type { Fields } from '../../../../src/domain/json.js';
import { FakeClock } from '../../../support/fake-clock.js';
import {
  addCapability,
  addExecutor,
  CAP_ID,
  type CapabilityBench,
  capabilityBench,
  errorOf,
  handler,
  outputOf,
  SIDE_ID,
  write,
} from './harness.js';

const require = createRequire(import.meta.url);

/** An executor that speaks the wire by itself, without our client; `body` sees `socket`, `env`, `send` and `invocation`. */
const bare = (body: string) => `
  const { WebSocket } = require(${JSON.stringify(require.resolve('ws'))});
  const { env } = process;
  const names = ['IS_SIDE_EXECUTION', 'SIDE_EXECUTION_ID', 'THREAD_ID', 'PARENT_AGENT_ID', 'PARENT_AGENT_INSTANCE_ID', 'threadToken'];
  const query = new URLSearchParams(names.map((name) => [name, env[name]]));
  const address = \`ws://localhost:\${env.SOCKET_PORT}/codebolt?\${query}\`;
  const socket = new WebSocket(address);
  const send = (message) => socket.send(JSON.stringify(message));
  const messages = [];
  socket.on('message', (data) => {
    const message = JSON.parse(data);
    messages.push(message);
    if (message.type !== 'actionBlockInvocation') return;
    const invocation = message;
    ${body}
  });`;

describe('the protocol, without the client', () => {
  test('S3-33 S3-34 S3-35 S3-41 a child connects to localhost with its variables, is invoked, and answers', async () => {
    const bench = await capabilityBench(
      bare(
        "send({ type: 'actionBlockComplete', sideExecutionId: env.SIDE_EXECUTION_ID, result: invocation }); socket.close();",
      ),
    );

    expect(outputOf(await bench.execute('try', { a: 1 }))).toMatchObject({
      type: 'actionBlockInvocation',
      sideExecutionId: expect.stringMatching(/^side_/),
      threadId: 'run-1',
      parentAgentId: 'the-step',
      parentAgentInstanceId: 'run-1-0',
      actionBlockName: 'test',
      params: { a: 1 },
      threadContext: { params: { a: 1 } },
      metadata: { parentAgentId: 'the-step' },
      timestamp: expect.any(String),
    });
  });

  test.each([
    [
      'sideExecutionComplete',
      "{ type: 'sideExecutionComplete', sideExecutionId: env.SIDE_EXECUTION_ID, result: { a: 1 } }",
    ],
    [
      'a line of garbage before it',
      "{ cmd: 'x' }); process.channel.unref(); process.send({ type: 'sideExecutionComplete', result: { a: 1 } }",
    ],
  ])('S3-29 an answer on the IPC channel is accepted: %s', async (_, message) => {
    const bench = await capabilityBench(bare(`socket.terminate(); process.send(${message});`));

    expect(outputOf(await bench.execute('try'))).toEqual({ a: 1 });
  });

  test('S3-43 an error on the IPC channel is CAPABILITY_FAILED', async () => {
    const bench = await capabilityBench(
      bare("process.send({ type: 'sideExecutionError', error: { message: 'no luck' } }, () => process.exit());"),
    );

    expect(errorOf(await bench.execute('try'))).toMatchObject({ code: 'CAPABILITY_FAILED', message: /no luck/ });
  });

  test('S3-45 answers for other executions and late answers are ignored and logged', async () => {
    const body = `
      process.on('SIGTERM', () => {});
      send({ type: 'actionBlockComplete', sideExecutionId: 'side_1_00000000', result: 'forged' });
      send({ type: 'actionBlockComplete', sideExecutionId: env.SIDE_EXECUTION_ID, result: 'first' });
      send({ type: 'actionBlockComplete', sideExecutionId: env.SIDE_EXECUTION_ID, result: 'second' });
      socket.close();`;
    const bench = await capabilityBench(bare(body));

    expect(outputOf(await bench.execute('try'))).toBe('first');
    await bench.endRun();
    expect(bench.warnings.map(({ message }) => message)).toEqual(Array(2).fill(expect.stringMatching(/was ignored$/)));
  });

  test('S3-69 every request gets an answer, also an unknown one, and the old SDK is supported', async () => {
    const body = `
      send({ type: 'browserEvent', action: 'openUrl', requestId: 1 });
      send({ type: 'fsEvent', action: 'toString', requestId: 2 });
      send({ type: 'constructor', requestId: 'x'.repeat(1000) });
      send({ requestId: 4 });
      send({ action: 'getActiveExecutions', requestId: 5 });
      send({ type: 'executeCommand', message: 'echo hi' });
      send({ type: 'fsEvent', action: 'createFile', requestId: 7, message: { fileName: 'a.txt', source: 's', filePath: 'sub' } });
      socket.on('message', () => {
        if (messages.length !== 8) return;
        send({ type: 'actionBlockComplete', sideExecutionId: env.SIDE_EXECUTION_ID, result: messages.slice(1) });
        socket.close();
      });`;
    const bench = await capabilityBench(bare(body));

    const answers = outputOf(await bench.execute('try')) as unknown as readonly Fields[];
    const by = (id: unknown) => answers.filter(({ requestId }) => requestId === id);

    for (const id of [1, 2, 4]) {
      expect(by(id)).toMatchObject([{ success: false, error: expect.stringMatching(/^unsupported/) }]);
    }
    expect(by(null)).toContainEqual(expect.objectContaining({ success: false }));
    expect(by(null)).toContainEqual(expect.objectContaining({ type: 'commandFinish', exitCode: 0, stdout: 'hi\n' }));
    expect(by(5)).toMatchObject([{ success: true, executions: [{ name: 'try', status: 'running' }] }]);
    expect(by(7)).toMatchObject([{ success: true, path: 'sub/a.txt' }]);
  });

  test('S3-63 S3-65 S3-66 the requests of the published SDK are accepted in its spelling', async () => {
    const body = `
      const asked = [
        { type: 'capability', action: 'listCapabilities', filter: { type: 'power' } },
        { type: 'capability', action: 'startCapability', capabilityName: 'gone', capabilityType: 'power' },
        { type: 'capability', action: 'getExecutionStatus', executionId: 'cap_1_00000000' },
        { type: 'sideExecution', action: 'startSideExecution', actionBlockPath: 'nobody', params: {} },
        { type: 'sideExecution', action: 'startSideExecution', inlineCode: 'process.exit(3)' },
        { type: 'fsEvent', action: 'writeToFile', message: { relPath: 'b', newContent: 'hello' } },
        { type: 'fsEvent', action: 'updateFile', message: { filename: 'b', filePath: '.', newContent: 'hi' } },
        { type: 'fsEvent', action: 'grep_search', message: { path: '.', query: 'hi', caseSensitive: true } },
        { type: 'fsEvent', action: 'read_many_files', message: { paths: ['b'] } },
        { type: 'executeCommand', message: 'exit 2', returnEmptyStringOnSuccess: false },
        { type: 'sendInterruptToTerminal' },
        { type: 'sendMessage', message: 'on my way', payload: {} },
        { type: 'waitforReply', message: 'well?' },
      ];
      const ask = () => {
        if (messages.length > 1 + asked.length) return;
        if (messages.length <= asked.length) return send({ ...asked[messages.length - 1], requestId: messages.length - 1 });
        send({ type: 'actionBlockComplete', sideExecutionId: env.SIDE_EXECUTION_ID, result: messages.slice(1) });
        socket.close();
      };
      socket.on('message', ask);
      ask();`;
    const bench = await capabilityBench(bare(body));

    const answers = outputOf(await bench.execute('try')) as unknown as readonly Fields[];

    expect(answers.map(({ requestId }) => requestId)).toEqual(answers.map((_, index) => index));
    expect(answers).toMatchObject([
      { success: true, capabilities: [{ name: 'try' }] },
      { success: false, code: 'CAPABILITY_NOT_FOUND' },
      { success: false, error: expect.stringMatching(/no execution/) },
      { success: false, code: 'EXECUTOR_NOT_FOUND' },
      { success: false, code: 'PROCESS_CRASHED' },
      { success: true },
      { success: true },
      { success: true, results: [{ path: 'b', matches: [{ line: 1, lineNumber: 1, content: 'hi' }] }] },
      { success: true, results: [{ path: 'b', content: 'hi' }], summary: { total: 1, successful: 1, failed: 0 } },
      { type: 'commandFinish', exitCode: 2 },
      { type: 'terminalInterrupted', interrupted: 0 },
      { success: true },
      { success: false, error: expect.stringMatching(/cannot receive/) },
    ]);
  });

  /** An executor that sends these requests one after the other, and answers with the answers. */
  const asking = (requests: readonly Fields[]) =>
    bare(`
      const asked = ${JSON.stringify(requests)};
      const ask = () => {
        const at = messages.length - 1;
        if (at < asked.length) return send({ ...asked[at], requestId: at });
        send({ type: 'actionBlockComplete', sideExecutionId: env.SIDE_EXECUTION_ID, result: messages.slice(1) });
        socket.close();
      };
      socket.on('message', ask);
      ask();`);
  const answersTo = async (bench: CapabilityBench) =>
    outputOf(await bench.execute('try')) as unknown as readonly Fields[];
  const fs = (action: string, message: Fields) => ({ type: 'fsEvent', action, message });

  test('S3-63 files are searched, listed and read in the shapes of the published SDK, with all of its arguments', async () => {
    const many = (message: Fields) => fs('read_many_files', message);
    const bench = await capabilityBench(
      asking([
        fs('searchFiles', { path: '.', regex: 'TO.O', filePattern: '*.ts' }),
        fs('grep_search', { path: '.', query: 'todo', includePattern: '*.{ts,md}', caseSensitive: false }),
        fs('grep_search', { path: '.', query: 'TODO', excludePattern: 'src/deep, *.md', caseSensitive: true }),
        many({ paths: ['src/**/*.ts', 'gone', '../out'] }),
        many({ paths: ['src'], include: ['*.ts'], exclude: ['deep'], include_metadata: true }),
        many({ paths: ['.'], recursive: false }),
        many({ paths: ['.'], use_default_excludes: false, max_files: 1 }),
        many({ paths: ['src/a.ts', 'src/b.md'], max_total_size: 10 }),
        fs('createFolder', { folderName: 'new', folderPath: 'made' }),
        fs('createFolder', { folderName: 'new', folderPath: 'made' }),
        fs('listDirectory', { path: '.', detailed: true, limit: 2 }),
        fs('listDirectory', { path: '.', show_hidden: true, ignore: ['src'] }),
        fs('fileList', { folderPath: 'src', isRecursive: true }),
        fs('grep_search', { path: '.git/long', query: 'x' }),
      ]),
    );
    write(join(bench.workspace, 'src/a.ts'), 'one\nTODO x\n');
    write(join(bench.workspace, 'src/b.md'), 'todo y\n');
    write(join(bench.workspace, 'src/deep/c.ts'), 'TODO z\n');
    write(join(bench.workspace, 'top.txt'), 'TODO top\n');
    write(join(bench.workspace, '.git/long'), `${'x'.repeat(501)}\nx\n`);
    write(join(bench.workspace, '.git/c.ts'), 'TODO git\n');

    const answers = await answersTo(bench);
    const listed = (answer: Fields | undefined, list: string, member: string) =>
      ((answer?.[list] ?? []) as Fields[]).map((item) => item[member]);
    const paths = (answer: Fields | undefined) => listed(answer, 'results', 'path');

    const line = (lineNumber: number, content: string) => ({ line: lineNumber, lineNumber, content });
    expect(answers[0]).toMatchObject({
      type: 'searchFilesResponse',
      success: true,
      results: [
        { path: 'src/a.ts', matches: [line(2, 'TODO x')] },
        { path: 'src/deep/c.ts', matches: [line(1, 'TODO z')] },
      ],
      totalCount: 2,
      hasMore: false,
    });
    expect(paths(answers[1])).toEqual(['src/a.ts', 'src/b.md', 'src/deep/c.ts']);
    expect(paths(answers[2])).toEqual(['src/a.ts', 'top.txt']);
    expect(answers[3]).toMatchObject({
      results: [
        { path: 'src/a.ts', content: 'one\nTODO x\n' },
        { path: 'src/deep/c.ts', content: 'TODO z\n' },
        { path: 'gone', error: expect.stringContaining('gone') },
        { path: '../out', error: expect.stringContaining('leads out') },
      ],
      summary: { total: 4, successful: 2, failed: 2 },
    });
    expect(answers[4]?.results).toEqual([
      { path: 'src/a.ts', content: expect.any(String), stats: { size: 11, modifiedTime: expect.any(String) } },
    ]);
    expect(paths(answers[5])).toEqual(['top.txt']);
    expect(paths(answers[6])).toEqual(['.git/c.ts']);
    expect(answers[6]).toMatchObject({ truncated: true, message: expect.stringMatching(/were not read/) });
    expect(answers[7]?.results).toMatchObject([{ error: expect.stringMatching(/not read/) }, { content: 'todo y\n' }]);
    expect(answers[8]).toMatchObject({ success: true, path: 'made/new', created: true });
    expect(answers[9]).toMatchObject({ success: true, created: false });
    expect(answers[10]).toMatchObject({
      entries: [
        { name: 'made', path: 'made', type: 'directory', isHidden: false, permissions: expect.any(String) },
        { name: 'src', type: 'directory' },
      ],
      totalCount: 3,
      hasMore: true,
      stats: { fileCount: 1, directoryCount: 2, totalSize: 9 },
    });
    expect(listed(answers[11], 'entries', 'name')).toEqual(['.git', 'made', 'top.txt']);
    expect(answers[12]).toMatchObject({ files: ['src/a.ts', 'src/b.md', 'src/deep/c.ts'], recursive: true });
    expect(answers[13]?.results).toEqual([
      { path: '.git/long', matches: [{ ...line(1, 'x'.repeat(500)), truncated: true }, line(2, 'x')] },
    ]);
    expect(bench.warnings).toEqual([]);
  });

  test('S3-65 S3-73 capabilities, executors and executions are described in the shapes of the published SDK', async () => {
    const capability = (action: string, fields: Fields) => ({ type: 'capability', action, ...fields });
    const bench = await capabilityBench('');
    const code = asking([
      capability('listCapabilities', { filter: { tags: ['lint', 'other'] } }),
      capability('listCapabilities', { filter: { author: 'me', type: 'power' } }),
      capability('listCapabilities', { filter: { colour: 'red' } }),
      capability('getCapabilityDetail', { capabilityName: 'tagged', capabilityType: 'power' }),
      capability('getCapabilityDetail', { capabilityName: 'tagged', capabilityType: 'skill' }),
      capability('listExecutors', {}),
      capability('getExecutionStatus', { executionId: 'EXECUTION' }),
    ]).replace('"EXECUTION"', 'invocation.params.executionId');
    const dir = addExecutor(bench.folder, 'test', code);
    const tagged = addCapability(bench.folder, 'power', 'tagged', { tags: ['lint'], author: 'me', version: '2.0.0' });

    const answers = await answersTo(bench);

    const described = {
      ...{ id: 'power/tagged', name: 'tagged', type: 'power', version: '2.0.0', description: '', path: tagged },
      metadata: { author: 'me', tags: ['lint'], inputs: [], outputs: [] },
    };
    expect(answers[0]).toMatchObject({ type: 'listCapabilitiesResponse', capabilities: [described] });
    expect(answers[1]).toMatchObject({ capabilities: [described] });
    expect(answers[2]).toMatchObject({ success: false, error: expect.stringContaining('colour') });
    expect(answers[3]).toMatchObject({ type: 'getCapabilityDetailResponse', success: true, capability: described });
    expect(answers[4]).toMatchObject({ success: false, code: 'CAPABILITY_NOT_FOUND' });
    expect(answers[5]?.executors).toContainEqual({
      ...{ id: 'test', name: 'test', version: '1.0.0', description: '', supportedTypes: ['power'] },
      ...{ entryPoint: 'dist/index.js', path: dir },
    });
    expect(answers[6]).toMatchObject({
      type: 'getExecutionStatusResponse',
      success: true,
      execution: {
        ...{ id: expect.stringMatching(CAP_ID), capabilityName: 'try', capabilityType: 'power', executorName: 'test' },
        ...{ sideExecutionId: expect.stringMatching(SIDE_ID), threadId: 'run-1', parentAgentId: 'the-step' },
        ...{ parentAgentInstanceId: 'run-1-0', startTime: expect.any(Number), status: 'running' },
      },
    });
  });

  test('S3-66 an executor is started by its folder, in the workspace too, and by no folder outside', async () => {
    const start = (actionBlockPath: string) => ({
      type: 'sideExecution',
      action: 'startSideExecution',
      actionBlockPath,
    });
    const bench = await capabilityBench('');
    const outside = write(join(dirname(bench.workspace), 'outside/dist/index.js'), handler('return "outside";'));
    const other = addExecutor(bench.folder, 'other', handler('return "other";'), { supportedTypes: ['none'] });
    write(join(bench.workspace, 'block/executor.yaml'), 'name: block\nsupportedTypes: [x]\nentryPoint: main.js\n');
    write(join(bench.workspace, 'block/main.js'), handler('return process.cwd();'));
    write(join(bench.workspace, 'plain/dist/index.js'), handler('return "plain";'));
    write(join(bench.workspace, 'bad/executor.yaml'), 'name: [');
    symlinkSync(dirname(dirname(outside)), join(bench.workspace, 'link'));
    write(join(bench.workspace, 'sneaky/dist/index.js'), '');
    symlinkSync('/etc/hostname', join(bench.workspace, 'sneaky/executor.yaml'));
    addExecutor(
      bench.folder,
      'test',
      asking(
        [other, 'block', './plain', 'bad', 'gone/x', '../outside', 'link/.', 'sneaky/.'].map((path) =>
          start(path.includes('/') ? path : `./${path}`),
        ),
      ),
    );

    const answers = await answersTo(bench);

    expect(answers).toMatchObject([
      { success: true, result: 'other' },
      { success: true, result: join(bench.workspace, 'block') },
      { success: true, result: 'plain' },
      { success: false, code: 'INVALID_ACTION_BLOCK' },
      { success: false, code: 'ACTION_BLOCK_NOT_FOUND' },
      { success: false, error: expect.stringMatching(/leads out/) },
      { success: false, error: expect.stringMatching(/leads out/) },
      { success: false, error: expect.stringMatching(/leads out/) },
    ]);
  });

  test('S3-69 what is not offered is named in the log, also where the SDK expects no answer, and no argument is ignored in silence', async () => {
    const bench = await capabilityBench(
      asking([
        { type: 'processStarted' },
        { type: 'processStarted' },
        { type: 'executeCommand', message: 'echo hi', returnEmptyStringOnSuccess: true },
        { type: 'executeCommand', message: 'echo hi', returnEmptyStringOnSuccess: false, executeInMain: true },
        fs('read_many_files', { paths: ['gone'], separator_format: '---', notifyUser: false }),
        { type: 'sendMessage', message: 'look', payload: { a: 1 } },
        { type: 'sendMessage', message: 'x'.repeat(9_000) },
      ]),
    );

    const answers = await answersTo(bench);

    expect(answers[0]).toMatchObject({ success: false, error: expect.stringMatching(/^unsupported/) });
    expect(answers[2]).toMatchObject({ exitCode: 0, stdout: '' });
    expect(answers[3]).toMatchObject({ stdout: 'hi\n', message: expect.stringMatching(/executeInMain$/) });
    expect(answers[4]).toMatchObject({ success: true, message: expect.stringMatching(/separator_format$/) });
    expect(bench.warnings.map(({ fields }) => (fields as Fields).problem)).toEqual([
      expect.stringContaining('processStarted'),
      expect.stringContaining('executeInMain'),
      expect.stringContaining('separator_format'),
    ]);
    expect(bench.audits).toContainEqual({
      kind: 'capability_message',
      data: expect.objectContaining({ text: 'look', payload: '{"a":1}' }),
    });
    expect(bench.audits).toContainEqual({
      kind: 'capability_message',
      data: expect.objectContaining({ text: 'x'.repeat(8_000), truncated: true }),
    });
    expect(bench.audits.filter(({ data }) => 'truncated' in (data as Fields))).toHaveLength(1);
  });

  test('S3-69 requests to modules that the workflow disables are refused', async () => {
    const body = `
      send({ type: 'fsEvent', action: 'readFile', requestId: 1, message: { filePath: 'a' } });
      socket.on('message', (data) => {
        send({ type: 'actionBlockComplete', result: JSON.parse(data) });
        socket.close();
      });`;
    const bench = await capabilityBench(bare(body), { workflow: { config: { capabilities: { modules: ['chat'] } } } });

    expect(outputOf(await bench.execute('try'))).toMatchObject({
      requestId: 1,
      success: false,
      error: expect.stringMatching(/^unsupported: .* needs fs, which is not in capabilities.modules/),
    });
  });

  test('too many invalid messages close the connection, and deep nesting and __proto__ have no effect', async () => {
    const deep = "'['.repeat(100000) + ']'.repeat(100000)";
    const body = `
      socket.send('{"__proto__": {"type": "actionBlockComplete"}, "requestId": 1}');
      socket.send(Buffer.from('binary'));
      socket.send(${deep});
      for (let i = 0; i < 1000; i += 1) socket.send('no json');
      socket.on('close', (code) => process.send({ type: 'sideExecutionComplete', result: { code } }));`;
    const bench = await capabilityBench(bare(body));

    expect(outputOf(await bench.execute('try'))).toEqual({ code: 1008 });
    expect(bench.warnings.filter(({ message }) => /not JSON/.test(message))).toHaveLength(1);
  });

  test('a flood of requests is answered in full, and a message over 16 MB ends the connection only', async () => {
    const body = `
      for (let i = 0; i < 3000; i += 1) send({ type: 'projectEvent', action: 'getProjectPath', requestId: i });
      socket.on('message', () => {
        if (messages.length !== 3001) return;
        socket.on('close', (code) => process.send({ type: 'sideExecutionComplete', result: { code } }));
        socket.on('error', () => {});
        socket.send('x'.repeat(17 * 1024 * 1024));
      });`;
    const bench = await capabilityBench(bare(body));

    expect(outputOf(await bench.execute('try'))).toEqual({ code: 1009 });
  });
});

describe('the invocation', () => {
  /** An executor that is busy while its connection is made, and that attaches its listener some promises after the connection is open. */
  const late = `
    const { once } = require('node:events');
    const { WebSocket } = require(${JSON.stringify(require.resolve('ws'))});
    const { env } = process;
    const names = ['IS_SIDE_EXECUTION', 'SIDE_EXECUTION_ID', 'THREAD_ID', 'PARENT_AGENT_ID', 'threadToken'];
    const query = new URLSearchParams(names.map((name) => [name, env[name]]));
    const socket = new WebSocket(\`ws://127.0.0.1:\${env.SOCKET_PORT}/codebolt?\${query}\`);
    socket._req.once('socket', (tcp) => tcp.once('connect', () => setImmediate(() => {
      for (const until = Date.now() + 400; Date.now() < until; );
    })));
    const ready = (async () => { await once(socket, 'open'); })();
    ready.then(async () => {}).then(() => {
      socket.on('message', (data) => {
        const { type, sideExecutionId } = JSON.parse(data);
        socket.send(JSON.stringify({ type: 'actionBlockComplete', sideExecutionId, result: type }));
      });
    });`;

  test.each(['auto', 'none'] as const)(
    'reaches an executor that attaches its listener late (isolation %s)',
    async (isolation) => {
      const bench = await capabilityBench(late, { isolation });
      const order = { type: 'power', name: 'try', params: {}, timeoutMs: 10_000 };

      expect(await bench.manager.startCapability(order, bench.context)).toMatchObject({
        state: 'completed',
        result: 'actionBlockInvocation',
      });
    },
  );

  test('is not sent to an executor that answers no ping, and its execution is CONNECTION_FAILED', async () => {
    const clock = new FakeClock();
    const code = bare('').replace('new WebSocket(address)', 'new WebSocket(address, { autoPong: false })');
    const bench = await capabilityBench(`${code} socket.on('ping', () => console.log('pinged'));`, { clock });
    const running = bench.execute('try');
    await bench.untilPrinted('pinged');

    clock.advance(30_000);

    expect(errorOf(await running)).toMatchObject({ code: 'CONNECTION_FAILED', retryable: true, message: /no ping/ });
  });

  test('is followed by one warning when the executor sends nothing', async () => {
    const clock = new FakeClock();
    const bench = await capabilityBench(bare("console.log('invoked');"), { clock });
    const running = bench.execute('try');
    await bench.untilPrinted('invoked');

    clock.advance(9_999);
    expect(bench.warnings).toEqual([]);
    clock.advance(1_000_000);

    expect(bench.warnings).toMatchObject([{ message: /has sent nothing/, fields: { executor: 'test' } }]);
    bench.abort('operator');
    await running;
  });
});

describe('admission', () => {
  const claims = { sideExecutionId: 'side_1_abcdef01', threadId: 'run-1', parentAgentId: 'agent' };

  async function openHub(clock = new FakeClock()) {
    const hub = new CapabilityHub();
    onTestFinished(() => hub.close());
    let connections = 0;
    const ticket = await hub.admit({
      ...claims,
      validForMs: 1_000,
      clock,
      onConnection: (socket) => {
        connections += 1;
        new Peer(socket, { onMessage: async () => {}, onDisconnect: () => {} });
      },
    });
    return { hub, ticket, clock, connections: () => connections };
  }

  const queryOf = (token: string, changes: { readonly [name: string]: string | null } = {}) => {
    const { sideExecutionId, threadId, parentAgentId } = claims;
    const all = {
      IS_SIDE_EXECUTION: 'true',
      SIDE_EXECUTION_ID: sideExecutionId,
      THREAD_ID: threadId,
      PARENT_AGENT_ID: parentAgentId,
      threadToken: token,
      ...changes,
    };
    const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null);
    return `/codebolt?${new URLSearchParams(given)}`;
  };

  /** 101, or the status of the refusal. */
  function tryToConnect(
    port: number,
    path: string,
    headers: { readonly [name: string]: string } = {},
  ): Promise<number> {
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers });
      onTestFinished(() => socket.terminate());
      socket.on('open', () => resolve(101));
      socket.on('unexpected-response', (_, response) => {
        resolve(response.statusCode ?? 0);
        socket.terminate();
      });
      socket.on('error', reject);
    });
  }

  const forged = (ticket: Ticket, change: (header: Fields, payload: Fields) => [Fields, Fields]) => {
    const [header = '', payload = '', signature = ''] = ticket.token.split('.');
    const decode = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Fields;
    const encode = (part: Fields) => Buffer.from(JSON.stringify(part)).toString('base64url');
    const parts = change(decode(header), decode(payload)).map(encode).join('.');
    return { parts, signature };
  };

  test('S3-32 S3-34 a valid token admits one connection, once', async () => {
    const { ticket, connections } = await openHub();

    expect(await tryToConnect(ticket.port, queryOf(ticket.token))).toBe(101);
    expect(await tryToConnect(ticket.port, queryOf(ticket.token))).toBe(401);
    expect(connections()).toBe(1);
  });

  test('S3-33 the address may contain the whole environment, as the published SDK sends it', async () => {
    const { ticket } = await openHub();

    expect(await tryToConnect(ticket.port, queryOf(ticket.token, { LS_COLORS: 'x'.repeat(200_000) }))).toBe(101);
  });

  test('a refused connection is closed, even if the other end never closes its half', async () => {
    const { ticket } = await openHub();
    const socket = connect({ port: ticket.port, host: '127.0.0.1', allowHalfOpen: true });
    onTestFinished(() => void socket.destroy());
    const closed = new Promise((resolve) => socket.on('close', resolve));
    socket.on('error', () => {});

    socket.write('GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    await once(socket.resume(), 'end');
    // Writing shows whether the other end still exists.
    const poke = () => void (socket.destroyed || socket.write('x', () => setImmediate(poke)));
    poke();

    await closed;
  });

  test('a connection that sends large messages faster than they are answered is paused', async () => {
    const hub = new CapabilityHub();
    onTestFinished(() => hub.close());
    const connected = new Promise<WebSocket>((resolve, reject) => {
      const admission = { ...claims, validForMs: 1_000, clock: new FakeClock(), onConnection: resolve };
      hub.admit(admission).then(({ port, token }) => {
        const client = new WebSocket(`ws://127.0.0.1:${port}${queryOf(token)}`);
        onTestFinished(() => client.terminate());
        const text = JSON.stringify({ type: 'x', text: 'x'.repeat(600_000) });
        client.on('open', () => {
          for (let sent = 0; sent < 40; sent += 1) client.send(text);
        });
      }, reject);
    });
    const socket = await connected;
    let messages = 0;
    new Peer(socket, {
      onDisconnect: () => {},
      onMessage: () => {
        messages += 1;
        return new Promise<void>(() => {});
      },
    });

    while (!socket.isPaused) await new Promise((resolve) => setImmediate(resolve));

    expect(messages).toBe(32);
  });

  test('S3-32 the token is a JWT with HS256 that names execution, thread and parent', async () => {
    const { ticket } = await openHub();
    const [header = '', payload = ''] = ticket.token.split('.');
    const decode = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());

    expect(decode(header)).toEqual({ alg: 'HS256', typ: 'JWT' });
    expect(decode(payload)).toEqual({
      sub: claims.sideExecutionId,
      threadId: 'run-1',
      parentAgentId: 'agent',
      exp: expect.any(Number),
    });
  });

  test.each<[string, { readonly [name: string]: string | null }]>([
    ['no token', { threadToken: null }],
    ['garbage for a token', { threadToken: 'a.b.c' }],
    ['another thread', { THREAD_ID: 'run-2' }],
    ['another parent', { PARENT_AGENT_ID: 'other' }],
    ['another execution', { SIDE_EXECUTION_ID: 'side_2_abcdef01' }],
    ['no word of a side execution', { IS_SIDE_EXECUTION: 'false' }],
  ])('S3-32 a connection with %s is refused with 401, and the valid token still works', async (_, changes) => {
    const { ticket, connections } = await openHub();

    expect(await tryToConnect(ticket.port, queryOf(ticket.token, changes))).toBe(401);
    expect(connections()).toBe(0);
    expect(await tryToConnect(ticket.port, queryOf(ticket.token))).toBe(101);
  });

  test('S3-32 forged tokens are refused: other claims, no algorithm, another key, the key of another hub', async () => {
    const { ticket } = await openHub();
    const other = await openHub();
    const changed = forged(ticket, (header, payload) => [header, { ...payload, exp: 9e9 }]);
    const unsigned = forged(ticket, (header, payload) => [{ ...header, alg: 'none' }, payload]);
    const resigned = forged(ticket, (header, payload) => [header, payload]);
    const own = createHmac('sha256', '').update(resigned.parts).digest('base64url');

    for (const token of [
      `${changed.parts}.${changed.signature}`,
      `${unsigned.parts}.`,
      `${unsigned.parts}.${unsigned.signature}`,
      `${resigned.parts}.${own}`,
      other.ticket.token,
      `${ticket.token}.x`,
    ]) {
      expect(await tryToConnect(ticket.port, queryOf(token))).toBe(401);
    }
  });

  test('S3-32 a token expires with its time and with its execution', async () => {
    const late = await openHub();
    late.clock.advance(1_000 + 61_000);
    const over = await openHub();
    over.ticket.close();

    expect(await tryToConnect(late.ticket.port, queryOf(late.ticket.token))).toBe(401);
    expect(await tryToConnect(over.ticket.port, queryOf(over.ticket.token))).toBe(401);
  });

  test('a foreign Host, a browser origin, another path and plain HTTP are refused', async () => {
    const { ticket } = await openHub();
    const { port, token } = ticket;

    expect(await tryToConnect(port, queryOf(token), { Host: 'evil.example' })).toBe(403);
    expect(await tryToConnect(port, queryOf(token), { Host: '127.0.0.1.evil.example' })).toBe(403);
    expect(await tryToConnect(port, queryOf(token), { Origin: 'http://127.0.0.1' })).toBe(403);
    expect(await tryToConnect(port, queryOf(token).replace('/codebolt', '/other'))).toBe(404);
    const plain = await new Promise<number | undefined>((resolve) => {
      request({ host: '127.0.0.1', port, path: queryOf(token) }, (response) =>
        resolve(response.resume().statusCode),
      ).end();
    });
    expect(plain).toBe(426);
    expect(await tryToConnect(port, queryOf(token), { Host: 'localhost' })).toBe(101);
  });

  test('closing the hub closes every connection, also silent ones, and refuses new ones', async () => {
    const { hub, ticket } = await openHub();
    const silent = connect(ticket.port, '127.0.0.1');
    await new Promise((resolve) => silent.once('connect', resolve));
    const ended = new Promise((resolve) => silent.once('close', resolve));
    silent.on('error', () => {});

    await hub.close();
    await ended;

    await expect(tryToConnect(ticket.port, queryOf(ticket.token))).rejects.toThrow();
    await expect(
      hub.admit({ ...claims, validForMs: 1, clock: new FakeClock(), onConnection: () => {} }),
    ).rejects.toMatchObject({
      code: 'INTERRUPTED',
    });
  });
});
