import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { tempFolder } from '../runner/executors/codex/harness.js';
import { compiledAgent } from './demo-agent.js';

/** The demo agent, spoken to line by line. */
const agent = compiledAgent();

type Message = { readonly [key: string]: unknown } & { readonly id?: number; readonly method?: string };

function open() {
  const cwd = tempFolder();
  const env = { PATH: process.env.PATH, BATON_DEMO_PACE_MS: '0' };
  const child = spawn(process.execPath, [agent.path], { cwd, env, stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const messages: Message[] = [];
  const watchers = new Set<() => void>();
  // Not readline: from Node 24 on it ends a line at U+2028 too, which JSON leaves as it is.
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) messages.push(JSON.parse(line));
    for (const watcher of watchers) watcher();
  });
  const until = (matches: (message: Message) => boolean) =>
    new Promise<Message>((resolve) => {
      const look = () => {
        const found = messages.find(matches);
        if (found) resolve(found);
      };
      watchers.add(look);
      look();
    });
  const write = (line: string) => void child.stdin.write(`${line}\n`);
  let nextId = 100;
  const ask = (method: string, params: object = {}) => {
    const id = nextId++;
    write(JSON.stringify({ id, method, params }));
    return until((message) => message.id === id && message.method === undefined);
  };
  const turn = async (text: string) => {
    await ask('initialize');
    const { thread } = ((await ask('thread/start', { cwd })) as { result: { thread: { id: string } } }).result;
    const input = [{ type: 'text', text, text_elements: [] }];
    const reply = (await ask('turn/start', { threadId: thread.id, input })) as { result: { turn: { id: string } } };
    return { threadId: thread.id, turnId: reply.result.turn.id };
  };
  return { cwd, child, messages, until, write, ask, turn };
}

/** A command that holds a connection to us for as long as any process of it lives. */
async function heldLine() {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const connected = once(server, 'connection').then(([socket]) => (socket as Socket).resume());
  return { connected, open: `exec 3<>/dev/tcp/127.0.0.1/${port}` };
}

test('messages have no jsonrpc member, notifications have their time, and garbage is ignored', async () => {
  const { write, turn, until, messages } = open();
  for (const garbage of ['', 'garbage', '[1]', '{"id":7}', '{"method":"initialized"}', '{"id":0,"result":{}}'])
    write(garbage);

  await turn('- write `a.txt`: a\u2028b');
  await until(({ method }) => method === 'turn/completed');

  expect(messages.filter((message) => 'jsonrpc' in message)).toEqual([]);
  expect(messages.filter((message) => message.method && typeof message.emittedAtMs !== 'number')).toEqual([]);
});

test('unknown methods, and all requests before initialize, are refused with −32600', async () => {
  const { ask } = open();

  expect(await ask('thread/start')).toMatchObject({ error: { code: -32600, message: 'Not initialized' } });
  await ask('initialize');
  expect(await ask('no/such')).toMatchObject({ error: { code: -32600 } });
  expect(await ask('turn/start', { threadId: 'none' })).toMatchObject({ error: { code: -32600 } });
  expect(await ask('turn/interrupt', { threadId: 'none', turnId: 'x' })).toMatchObject({ error: { code: -32600 } });
});

test.each([
  ['the end of stdin', (child: ReturnType<typeof open>['child']) => void child.stdin.end()],
  ['SIGTERM', (child: ReturnType<typeof open>['child']) => void child.kill('SIGTERM')],
])('%s ends the agent with exit code 0, together with its running command', async (_, end) => {
  const { child, turn } = open();
  const held = await heldLine();
  await turn(`- run \`${held.open}; sleep 1000\``);
  const line = await held.connected;

  end(child);

  const [exit] = await Promise.all([once(child, 'exit'), once(line, 'close')]);
  expect(exit).toEqual([0, null]);
});

test('a process that left the group and holds the output does not block the turn', async () => {
  const { turn, until } = open();
  const held = await heldLine();

  await turn(`- run \`${held.open}; setsid cat <&3 & read -t 0.2 < /dev/zero; true\``);
  const line = await held.connected;

  expect(await until(({ method }) => method === 'turn/completed')).toMatchObject({
    params: { turn: { status: 'completed' } },
  });
  line.destroy();
});

test('an interrupt ends the turn and its command, but not the agent', async () => {
  const { ask, turn, until } = open();
  const held = await heldLine();
  const ids = await turn(`- run \`${held.open}; sleep 1000\`\n- write \`never.txt\`: x`);
  const closed = once(await held.connected, 'close');

  const reply = await ask('turn/interrupt', ids);

  expect(reply).toMatchObject({ result: {} });
  await closed;
  expect(await until(({ method }) => method === 'turn/completed')).toMatchObject({
    params: { threadId: ids.threadId, turn: { id: ids.turnId, status: 'interrupted', error: null } },
  });
  expect(await ask('turn/interrupt', ids)).toMatchObject({ error: { message: 'no active turn' } });
});

test('steps of a message during a turn follow at its end, with turn/steer and turn/start', async () => {
  const { ask, turn, until, cwd } = open();
  const held = await heldLine();
  const { threadId, turnId } = await turn(`- run \`${held.open}; read -u 3\``);
  const line = await held.connected;
  const words = (text: string) => ({ threadId, input: [{ type: 'text', text, text_elements: [] }] });

  expect(await ask('turn/steer', { ...words('- write `a.txt`: 1'), expectedTurnId: 'other' })).toHaveProperty('error');
  expect(await ask('turn/steer', { ...words('- write `a.txt`: 1'), expectedTurnId: turnId })).toMatchObject({
    result: { turnId },
  });
  expect(await ask('turn/start', words('- write `b.txt`: 2'))).toMatchObject({ result: { turn: { id: turnId } } });
  line.end('go\n');

  expect(await until(({ method }) => method === 'turn/completed')).toMatchObject({
    params: { turn: { status: 'completed' } },
  });
  expect(['a.txt', 'b.txt'].map((name) => existsSync(join(cwd, name)))).toEqual([true, true]);
});
