import { getEventListeners } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { Connections, NoAnswer } from '../../../src/tracker/http/send.js';

const NEVER = new AbortController().signal;

/** A server that counts its connections; `answer` may keep it waiting. */
async function opened(answer: (response: ServerResponse) => void, idleMs?: number, silenceMs?: number) {
  const sockets = new Set<Socket>();
  const server = createServer((_request, response) => answer(response));
  // It closes nothing by itself: whatever is closed, we closed.
  server.keepAliveTimeout = 0;
  let made = 0;
  server.on('connection', (socket) => {
    made++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const connections = new Connections(idleMs, silenceMs);
  onTestFinished(() => {
    connections.close();
    server.close();
    server.closeAllConnections();
  });
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const send = (signal: AbortSignal = NEVER, maxBytes = 1_000_000) =>
    connections.send({ method: 'GET', url, headers: {}, body: null, signal, maxBytes });
  return { connections, send, open: () => sockets.size, made: () => made };
}

test('requests in a row share a connection, and an idle one is closed from our side', async () => {
  const { send, open, made } = await opened((response) => response.end('{}'), 50);

  for (let n = 0; n < 5; n++) await send();

  expect(made()).toBe(1);
  await expect.poll(open).toBe(0);
});

test('a server that takes longer than an idle connection lives is waited for', async () => {
  const { send } = await opened((response) => setTimeout(() => response.end('late'), 120), 20);

  const { body } = await send();

  expect(body.toString()).toBe('late');
});

test('a server that falls silent is given up, before its answer and in the middle of it', async () => {
  for (const begin of [() => {}, (response: ServerResponse) => void response.write('{')]) {
    const { send, open } = await opened(begin, undefined, 40);

    await expect(send()).rejects.toThrow('was silent for 0.04 s');
    await expect.poll(open).toBe(0);
  }
});

test('what hangs ends with close, and leaves no connection', async () => {
  const { connections, send, open } = await opened(() => {});
  const asked = send();
  await expect.poll(open).toBe(1);

  connections.close();

  await expect(asked).rejects.toThrow(NoAnswer);
  await expect.poll(open).toBe(0);
});

test('a signal that outlives many requests keeps nothing of them', async () => {
  let isBroken = false;
  const { send } = await opened((response) => (isBroken ? response.destroy() : response.end('{}')));
  const { signal } = new AbortController();

  for (let n = 0; n < 20; n++) await send(signal);
  isBroken = true;
  await expect(send(signal)).rejects.toThrow(NoAnswer);

  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('an answer without end is left at the limit, and its connection closed', async () => {
  const { send, open } = await opened((response) => {
    const pour = () => {
      while (!response.destroyed && response.write('x'.repeat(64 * 1024)));
    };
    response.on('drain', pour);
    pour();
  });

  await expect(send(NEVER, 1_000_000)).rejects.toThrow(/more than 1000000 bytes/);
  await expect.poll(open).toBe(0);
});

test('a request that is given up in the middle of its answer closes its connection', async () => {
  const { send, open } = await opened((response) => response.write('{"half":'));
  const controller = new AbortController();
  const asked = send(controller.signal);
  await expect.poll(open).toBe(1);

  controller.abort();

  await expect(asked).rejects.toThrow(/given up/);
  await expect.poll(open).toBe(0);
});
