import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createProver } from '../../../src/api/proof.js';
import { type Connection, LiveClient } from '../../../src/page/live/live-client.js';
import type { LiveView } from '../../../src/page/live/live-view.js';
import { emptyState } from '../sample-state.js';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const STATE = `event: state\nid: 1-1\ndata: ${JSON.stringify(emptyState())}\n\n`;
const streams: Answer = (_, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write(STATE);
};

/** A client of the page with a server that sends the scripted responses in order and repeats the last one. */
async function followed(answers: Answer[], options: { silenceMs?: number; token?: string } = {}) {
  const requests: IncomingMessage[] = [];
  const provers = await Promise.all(['secret', 'good'].map(createProver));
  const server = createServer(async (request, response) => {
    const nonce = /^\/api\/v1\/proof\?nonce=(\w+)$/.exec(request.url ?? '')?.[1];
    if (nonce !== undefined) {
      const proofs = await Promise.all(provers.map((prove) => prove(request.headers.host ?? '', nonce)));
      return void response.end(JSON.stringify({ proofs }));
    }
    requests.push(request);
    (answers.length > 1 ? answers.shift() : answers[0])?.(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const seen: { view: LiveView; connection: Connection }[] = [];
  const waiting = new Set<() => void>();
  const client = new LiveClient({
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    token: options.token ?? 'secret',
    // The next try is soon.
    random: () => 0,
    ...(options.silenceMs === undefined ? {} : { silenceMs: options.silenceMs }),
    onChange(view, connection) {
      seen.push({ view, connection });
      for (const look of [...waiting]) look();
    },
  });
  onTestFinished(() => client.close());
  const until = (holds: (now: { view: LiveView; connection: Connection }) => boolean) =>
    new Promise<void>((resolve) => {
      const look = () => {
        const last = seen.at(-1);
        if (last && holds(last)) resolve();
      };
      waiting.add(look);
      look();
    });
  return { client, requests, seen, until, server };
}

const isLive = ({ view, connection }: { view: LiveView; connection: Connection }) =>
  connection.kind === 'live' && view.state !== null;

test('follows the stream with its token, for the watched issue', async () => {
  const { client, requests, until } = await followed([streams], { token: 'secret' });

  client.watch('owner/repo#1');
  await until(isLive);

  expect(requests[0]?.url).toBe('/api/v1/events?issue=owner%2Frepo%231');
  expect(requests[0]?.headers.authorization).toBe('Bearer secret');
  expect(requests[0]?.headers['last-event-id']).toBeUndefined();
});

test('a stream that ends is resumed from its last event, and the view stays', async () => {
  const ends: Answer = (request, response) => {
    streams(request, response);
    response.end();
  };
  const { client, requests, seen, until } = await followed([ends, streams]);

  client.watch(null);
  await until(({ connection }) => connection.kind === 'lost');
  await until(({ connection }) => connection.kind === 'live');

  expect(requests[1]?.headers['last-event-id']).toBe('1-1');
  expect(seen.filter(({ connection }) => connection.kind === 'lost').every(({ view }) => view.state !== null)).toBe(
    true,
  );
});

test('a stream with an invalid event is started again, without an id', async () => {
  const babbles: Answer = (request, response) => {
    streams(request, response);
    response.write('event: patch\nid: 1-2\ndata: {no json\n\n');
  };
  const { client, requests, until } = await followed([babbles, streams]);

  client.watch(null);
  await until(({ connection }) => connection.kind === 'lost');
  await until(isLive);

  expect(requests[1]?.headers['last-event-id']).toBeUndefined();
});

test('a silent stream is given up, although its connection is open', async () => {
  const { client, requests, until, seen } = await followed([streams, streams], { silenceMs: 50 });

  client.watch(null);
  await until(({ connection }) => connection.kind === 'lost');
  await until(() => requests.length > 1);

  const lost = seen.find(({ connection }) => connection.kind === 'lost')?.connection;
  expect(lost).toMatchObject({ why: 'The daemon sent nothing for too long.' });
});

test('a daemon with too many readers is tried again, and its message is shown', async () => {
  const full: Answer = (_, response) => {
    response.writeHead(503).end('{"error":{"code":"too_many_streams","message":"Too many readers."}}');
  };
  const { client, seen, until } = await followed([full, streams]);

  client.watch(null);
  await until(isLive);

  expect(seen.map(({ connection }) => ('why' in connection ? connection.why : ''))).toContain('Too many readers.');
});

test('a refused client does not try again until it has another token', async () => {
  const refuses: Answer = (request, response) => {
    if (request.headers.authorization === 'Bearer good') return streams(request, response);
    response.writeHead(401).end('{"error":{"code":"unauthorized","message":"no"}}');
  };
  const { client, requests, until } = await followed([refuses]);

  client.watch(null);
  await until(({ connection }) => connection.kind === 'refused');
  client.retryNow();
  expect(requests).toHaveLength(1);
  client.useToken('good');

  await until(isLive);
});

test('SEC-35 the token is not sent to a server that does not know it', async () => {
  const { client, requests, seen, until } = await followed([streams], { token: 'unknown' });

  client.watch(null);
  await until(({ connection }) => connection.kind === 'refused');

  expect(seen.at(-1)?.connection).toMatchObject({ status: 401, why: expect.stringContaining('`baton open`') });
  expect(requests).toEqual([]);
});

test('another issue has another stream: the old stream ends, the state stays, the old timeline is dropped', async () => {
  const { client, requests, seen, until } = await followed([streams]);
  client.watch(null);
  await until(isLive);
  const closed = new Promise((resolve) => requests[0]?.once('close', resolve));

  client.watch('A-1');
  await closed;
  await until(() => requests.length === 2);

  await until(({ view }) => view.issue === 'A-1');
  expect(requests[1]?.headers['last-event-id']).toBe('1-1');
  expect(seen.some(({ connection }) => connection.kind === 'lost')).toBe(false);
});
