import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { CapabilityHub, type Ticket } from '../../../../runner/executors/capability/hub.js';
import { Peer } from '../../../../runner/executors/capability/peer.js';
import type { Fields } from '../../../../src/domain/json.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { capabilityBench, errorOf, outputOf } from './harness.js';

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
      { success: true, results: [{ path: 'b', text: 'hi' }] },
      { success: true, files: [{ content: 'hi' }] },
      { type: 'commandFinish', exitCode: 2 },
      { type: 'terminalInterrupted', interrupted: 0 },
      { success: true },
      { success: false, error: expect.stringMatching(/cannot receive/) },
    ]);
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
      error: expect.stringMatching(/^unsupported: fs is not in capabilities.modules/),
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
    expect(bench.warnings).toHaveLength(1);
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
