import { getEventListeners } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { type ClientOptions, HttpClient, type HttpRequest } from '../../src/http/client.js';

const MAX_BYTES = 1_000_000;

/** A client and a server that counts its connections; `answer` may keep the client waiting. */
async function clientAndServer(answer: (response: ServerResponse) => void, options: ClientOptions = {}) {
  const sockets = new Set<Socket>();
  const server = createServer((_request, response) => answer(response));
  // The server closes nothing by itself, so that the client has closed what is closed.
  server.keepAliveTimeout = 0;
  let connections = 0;
  server.on('connection', (socket) => {
    connections++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = new HttpClient(options);
  onTestFinished(() => {
    client.close();
    server.close();
    server.closeAllConnections();
  });
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const send = async (request: Partial<HttpRequest> = {}, bodyTimeoutMs?: number) => {
    const response = await client.send({ method: 'GET', url, headers: {}, ...request });
    const { bytes, fault } = await response.read(MAX_BYTES, bodyTimeoutMs);
    return { status: response.status, text: bytes.toString(), fault: fault?.kind ?? null };
  };
  return { client, send, open: () => sockets.size, made: () => connections };
}

test('requests in a row share a connection, and the client closes it when it is idle', async () => {
  const { send, open, made } = await clientAndServer((response) => response.end('{}'), { keepAliveMs: 50 });

  for (let n = 0; n < 5; n++) await send();

  expect(made()).toBe(1);
  await expect.poll(open).toBe(0);
});

test('without keep-alive every request has a connection of its own', async () => {
  const { send, open, made } = await clientAndServer((response) => response.end('{}'));

  for (let n = 0; n < 3; n++) await send();

  expect(made()).toBe(3);
  await expect.poll(open).toBe(0);
});

test('a server may take longer to answer than an idle connection is kept', async () => {
  const late = (response: ServerResponse) => void setTimeout(() => response.end('late'), 120);
  const { send } = await clientAndServer(late, { keepAliveMs: 20 });

  expect(await send()).toMatchObject({ text: 'late', fault: null });
});

test('a redirect is not followed', async () => {
  const { send, made } = await clientAndServer((response) => response.writeHead(302, { location: '/x' }).end());

  expect(await send()).toMatchObject({ status: 302, fault: null });
  expect(made()).toBe(1);
});

test('silence before the response is a timeout, and so is silence in its middle', async () => {
  const early = await clientAndServer(() => {});
  const middle = await clientAndServer((response) => void response.write('{'));

  await expect(early.send({ silenceTimeoutMs: 40 })).rejects.toMatchObject({ kind: 'timeout' });
  expect(await middle.send({ silenceTimeoutMs: 40 })).toMatchObject({ text: '{', fault: 'timeout' });

  for (const { open } of [early, middle]) await expect.poll(open).toBe(0);
});

test('the response and its body have time limits of their own', async () => {
  const early = await clientAndServer(() => {});
  const middle = await clientAndServer((response) => void response.write('{'));

  await expect(early.send({ responseTimeoutMs: 40 })).rejects.toMatchObject({ kind: 'timeout' });
  expect(await middle.send({ responseTimeoutMs: 10_000 }, 40)).toMatchObject({ fault: 'timeout' });

  for (const { open } of [early, middle]) await expect.poll(open).toBe(0);
});

test('a server that cannot be reached is named by its code', async () => {
  const client = new HttpClient();

  const sent = client.send({ method: 'GET', url: new URL('http://127.0.0.1:1/canary'), headers: {} });

  await expect(sent).rejects.toMatchObject({ kind: 'unreachable', code: 'ECONNREFUSED' });
});

test('closing the client ends its open requests and connections', async () => {
  const { client, send, open } = await clientAndServer(() => {}, { keepAliveMs: 1_000 });
  const sent = send();
  await expect.poll(open).toBe(1);

  client.close();

  await expect(sent).rejects.toMatchObject({ kind: 'unreachable' });
  await expect.poll(open).toBe(0);
});

test('a signal that outlives many requests keeps no listeners', async () => {
  let isBroken = false;
  const answer = (response: ServerResponse) => void (isBroken ? response.destroy() : response.end('{}'));
  const { send } = await clientAndServer(answer, { keepAliveMs: 1_000 });
  const { signal } = new AbortController();

  for (let n = 0; n < 20; n++) await send({ signal });
  isBroken = true;
  await expect(send({ signal })).rejects.toMatchObject({ kind: 'unreachable' });

  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('an endless body is cut at the limit, and its connection closed', async () => {
  const { send, open } = await clientAndServer((response) => {
    const pour = () => {
      while (!response.destroyed && response.write('x'.repeat(64 * 1024)));
    };
    response.on('drain', pour);
    pour();
  });

  const { text, fault } = await send();

  expect([text.length, fault]).toEqual([MAX_BYTES, 'too_long']);
  await expect.poll(open).toBe(0);
});

test('a body that ends early keeps what has arrived', async () => {
  const { send } = await clientAndServer((response) => {
    response.writeHead(200, { 'content-length': '10' }).write('half', () => response.destroy());
  });

  expect(await send()).toMatchObject({ text: 'half', fault: 'cut_off' });
});

test('an aborted request closes its connection', async () => {
  const { send, open } = await clientAndServer((response) => void response.write('{"half":'));
  const controller = new AbortController();
  const sent = send({ signal: controller.signal });
  await expect.poll(open).toBe(1);

  controller.abort();

  // Depending on whether the response had begun.
  expect(await sent.catch((error: { kind: string }) => ({ fault: error.kind }))).toMatchObject({ fault: 'aborted' });
  await expect.poll(open).toBe(0);
  await expect(send({ signal: controller.signal })).rejects.toMatchObject({ kind: 'aborted' });
});
