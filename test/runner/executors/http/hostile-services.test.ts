import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { TestStep } from '../../../support/step-context.js';
import { completion, failed, KINDS, output, runLlm, runTool, stepOn, TOKEN } from './harness.js';
import { scriptedServer } from './scripted-server.js';

/** A server without HTTP: it sends its bytes to every client that sends data. */
async function rawServer(speak: (socket: Socket) => void): Promise<{ url: string; asked: Promise<Socket> }> {
  const sockets = new Set<Socket>();
  let told: (socket: Socket) => void = () => {};
  const asked = new Promise<Socket>((resolve) => {
    told = resolve;
  });
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', () => {
      speak(socket);
      told(socket);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';

test.each([
  ['says nothing and hangs up', (socket: Socket) => socket.end()],
  ['resets the connection', (socket: Socket) => socket.resetAndDestroy()],
  ['is no HTTP server', (socket: Socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n')],
  ['cuts its headers off', (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\nContent-')],
  ['sends headers without end', (socket: Socket) => socket.write(`${HEAD}X: ${'x'.repeat(100_000)}`)],
  ['cuts its body off', (socket: Socket) => socket.end(`${HEAD}Content-Length: 100\r\n\r\n{"choices":`)],
  ['cuts a chunk off', (socket: Socket) => socket.end(`${HEAD}Transfer-Encoding: chunked\r\n\r\nff\r\n{"a`)],
  ['sends chunks that are none', (socket: Socket) => socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n`)],
  ['wants another protocol', (s: Socket) => s.end('HTTP/1.1 101 Go on\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n')],
])('S4-19 S4-23 a service that %s is SERVICE_UNAVAILABLE', async (_, speak) => {
  const server = await rawServer(speak);
  const step = await stepOn('gateway', server.url);

  expect(failed(await runLlm(step))).toMatchObject({ code: 'SERVICE_UNAVAILABLE', retryable: true });
});

test('S4-19 a name that cannot be looked up is SERVICE_UNAVAILABLE', async () => {
  // Too long for any name: it is refused here, and no name server is asked.
  const step = await stepOn('gateway', `http://${'x'.repeat(64)}.invalid`);

  expect(failed(await runLlm(step)).code).toBe('SERVICE_UNAVAILABLE');
});

test('S4-19 a service that speaks no TLS is SERVICE_UNAVAILABLE over https', async () => {
  const server = await rawServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  const step = await stepOn('gateway', server.url.replace('http:', 'https:'));

  expect(failed(await runLlm(step)).code).toBe('SERVICE_UNAVAILABLE');
});

describe.each([
  ['says nothing', () => {}],
  ['sends its headers and then nothing', (socket: Socket) => socket.write(`${HEAD}Content-Length: 5\r\n\r\n`)],
  [
    'trickles its body for ever',
    (socket: Socket) => trickle(socket, `${HEAD}Transfer-Encoding: chunked\r\n\r\n`, '1\r\n \r\n'),
  ],
  ['trickles its headers for ever', (socket: Socket) => trickle(socket, 'HTTP/1.1 200 OK\r\nX: ', 'x')],
  ['says again and again that it goes on', (socket: Socket) => trickle(socket, '', 'HTTP/1.1 100 Continue\r\n\r\n')],
  [
    'trickles the text of an error for ever',
    (socket: Socket) => trickle(socket, 'HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n', '1\r\n \r\n'),
  ],
])('a service that %s', (_, speak) => {
  test.each(KINDS)('S4-13 S4-21 ends with the deadline of a $kind step, and its connection is closed', async (kind) => {
    const server = await rawServer(speak);
    const step = await stepOn(kind.service, server.url);
    const running = kind.run(step);
    const socket = await server.asked;
    const closed = new Promise((resolve) => socket.once('close', resolve));

    step.abort('step_timeout');

    expect((await running).state).toBe('timeout');
    await closed;
  });
});

function trickle(socket: Socket, head: string, drop: string): void {
  socket.write(head);
  const timer = setInterval(() => socket.write(drop), 1);
  socket.on('close', () => clearInterval(timer));
}

test.each([301, 302, 303, 307, 308, 304, 399])(
  'a redirect (%i) is SERVICE_REJECTED, and the token stays',
  async (status) => {
    const elsewhere = await scriptedServer(() => ({ json: completion() }));
    const server = await scriptedServer(() => ({
      status,
      headers: { location: `${elsewhere.url}/v1/chat/completions` },
    }));
    const step = await stepOn('gateway', server.url);

    const error = failed(await runLlm(step));

    expect(error.code).toBe('SERVICE_REJECTED');
    expect(error.message).toContain('redirects are refused');
    expect(elsewhere.requests).toEqual([]);
  },
);

test.each([
  ['plain', TOKEN],
  ['with its header', `Authorization: Bearer ${TOKEN}`],
  ['in base64', Buffer.from(TOKEN).toString('base64')],
  ['where the text would be cut', `${'x'.repeat(490)}${TOKEN}`],
  ['on the edge of what is read', `${TOKEN.repeat(2_000)}${'y'.repeat(64 * 1024)}`.slice(7)],
])('a token that a service repeats in its error, %s, is not in the message', async (_, said) => {
  const replies = [{ json: { error: { message: said } } }, { json: { error: said } }, { text: `<p>${said}</p>` }];
  for (const reply of replies) {
    const server = await scriptedServer(() => ({ status: 400, ...reply }));
    const { message } = failed(await runLlm(await stepOn('gateway', server.url)));

    expect(message).toContain('answered 400');
    expect(message).not.toContain(TOKEN.slice(0, 9));
    expect(message).not.toContain(Buffer.from(TOKEN).toString('base64').slice(0, 12));
    expect(message.length).toBeLessThan(1_000);
  }
});

test('a token with special characters is masked as it is spelled in JSON and in URLs too', async () => {
  const token = 'a"b\\c/d+e%f';
  const said = [token, encodeURIComponent(token), JSON.stringify(token)].join(' ');
  const server = await scriptedServer(() => ({ status: 400, text: said }));
  const step = await stepOn('gateway', server.url, {}, { env: { RUNNER_TOKEN: token } });

  expect(failed(await runLlm(step)).message).toMatch(/answered 400: \*\*\* \*\*\* "\*\*\*"$/);
});

test('an error text that breaks off in the middle of the token shows no half of it', async () => {
  const server = await rawServer((socket) =>
    socket.end(`HTTP/1.1 401 No\r\nContent-Length: 500\r\n\r\nbad token: ${TOKEN.slice(0, 15)}`),
  );
  const step = await stepOn('gateway', server.url);

  const error = failed(await runLlm(step));

  expect(error.code).toBe('SERVICE_REJECTED');
  expect(error.message).not.toContain(TOKEN.slice(0, 9));
});

test('an error text is one bounded line that moves no terminal', async () => {
  const server = await scriptedServer(() => ({ status: 422, text: `\u001b[2J\r\n\u202eno ${'x'.repeat(5_000)}` }));

  const { message } = failed(await runLlm(await stepOn('gateway', server.url)));

  expect(message).toMatch(/^[\x20-\x7e…]{1,700}$/);
  expect(message).toContain('\\u001b[2J');
});

const outputOf = (json: string) => `{"output":${json}}`;

test.each([
  ['no body', ''],
  ['HTML', '<html>'],
  ['half of a JSON text', '{"choices":'],
  ['two JSON texts', '{} {}'],
  ['bytes that are no UTF-8', Buffer.from([0x22, 0xff, 0xfe, 0x22])],
  ['a number that JSON cannot write', '{"output":[1e999]}'],
  ['lists in lists, few bytes', outputOf('['.repeat(30_000) + ']'.repeat(30_000))],
  ['lists in lists, many bytes', outputOf('['.repeat(2_000_000) + ']'.repeat(2_000_000))],
  ['maps in maps', outputOf(`${'{"a":'.repeat(300)}1${'}'.repeat(300)}`)],
])('S4-17 S4-22 a 200 with %s is SERVICE_REJECTED', async (_, text) => {
  const server = await scriptedServer(() => ({ text }));
  const step = await stepOn('tools', server.url);

  expect(failed(await runTool(step))).toMatchObject({ code: 'SERVICE_REJECTED', retryable: false });
});

test('S4-17 a byte order mark and __proto__ in the body do no harm', async () => {
  const text = '\ufeff{"output": {"__proto__": {"polluted": true}, "constructor": 1}}';
  const server = await scriptedServer(() => ({ text }));

  const given = output(await runTool(await stepOn('tools', server.url)));

  expect(JSON.stringify(given)).toBe('{"__proto__":{"polluted":true},"constructor":1}');
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});

test.each([200, 500])('an endless body with status %i is dropped at its cap', async (status) => {
  let sent = 0;
  const chunk = Buffer.alloc(64 * 1024, 'x');
  const server = await rawServer((socket) => {
    socket.write(`HTTP/1.1 ${status} Well\r\nTransfer-Encoding: chunked\r\n\r\n`);
    const pour = () => {
      do sent += chunk.length;
      while (!socket.destroyed && socket.write(Buffer.concat([Buffer.from('10000\r\n'), chunk, Buffer.from('\r\n')])));
    };
    socket.on('drain', pour);
    pour();
  });
  const step = await stepOn('gateway', server.url);

  const error = failed(await runLlm(step));
  const socket = await server.asked;
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));

  expect(error.code).toBe(status === 200 ? 'SERVICE_REJECTED' : 'SERVICE_UNAVAILABLE');
  expect(sent).toBeLessThan(40 * 1024 * 1024);
});

test('a body of nearly ten megabytes is read', async () => {
  const large = 'x'.repeat(10 * 1024 * 1024 - 100);
  const server = await scriptedServer(() => ({ json: { output: large } }));

  expect(output(await runTool(await stepOn('tools', server.url)))).toBe(large);
});

test('a response that comes before the request is read completely is used', async () => {
  const server = await rawServer((socket) =>
    socket.write('HTTP/1.1 413 Too large\r\nContent-Length: 8\r\n\r\ntoo much'),
  );
  const step = await stepOn('gateway', server.url);

  const error = failed(await runLlm(step, { prompt: 'x'.repeat(20_000_000) }));

  expect(error.message).toContain('answered 413: too much');
});

test('a response is read even when its connection ends before that', async () => {
  const body = JSON.stringify(completion('x'.repeat(3_000_000)));
  const server = await rawServer((socket) => socket.end(`${HEAD}Content-Length: ${body.length}\r\n\r\n${body}`));

  output(await runLlm(await stepOn('gateway', server.url)));
});

test.each([['while it is sent', (step: TestStep) => step.abort('shutdown')]])(
  'S4-23 no executor throws: a step that is stopped %s',
  async (_, stop) => {
    const step = await stepOn('gateway', 'http://127.0.0.1:9');
    const running = runLlm(step);
    stop(step);

    expect(failed(await running).code).toBe('INTERRUPTED');
  },
);
