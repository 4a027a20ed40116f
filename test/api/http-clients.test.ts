import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import type { HttpServer } from '../../src/api/server.js';
import { ask, start, TOKEN } from './http-fixture.js';

const AUTHORIZATION = `Authorization: Bearer ${TOKEN}`;

const sockets: Socket[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** A connection of which a test writes every byte itself. */
class Client {
  readonly socket: Socket;
  readonly ended: Promise<string>;
  text = '';

  constructor({ port }: HttpServer) {
    this.socket = connect({ host: '127.0.0.1', port });
    sockets.push(this.socket);
    this.socket.setEncoding('latin1');
    this.socket.on('data', (chunk: string) => {
      this.text += chunk;
    });
    // A reset is one way to be dropped.
    this.socket.on('error', () => {});
    this.ended = new Promise((resolve) => this.socket.once('close', () => resolve(this.text)));
  }

  async say(...lines: string[]): Promise<this> {
    if (this.socket.connecting) await once(this.socket, 'connect');
    this.socket.write(`${lines.join('\r\n')}\r\n`);
    return this;
  }

  async hears(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.text)) await once(this.socket, 'data');
  }
}

const statuses = (text: string) => Array.from(text.matchAll(/^HTTP\/1\.1 (\d+)/gm), ([, status]) => Number(status));

describe('a request that no browser sends', () => {
  const LINES: [string, string[], number][] = [
    ['has no Host, as in HTTP/1.0', ['GET /api/v1/state HTTP/1.0', ''], 403],
    ['has no Host', ['GET /api/v1/state HTTP/1.1', ''], 400],
    ['has an empty Host', ['GET /api/v1/state HTTP/1.1', 'Host:', ''], 403],
    ['has two Hosts, ours first', ['GET / HTTP/1.1', 'Host: localhost:PORT', 'Host: evil.test', ''], 403],
    ['has two Hosts, ours last', ['GET / HTTP/1.1', 'Host: evil.test', 'Host: localhost:PORT', ''], 403],
    ['has a whole foreign URL', ['GET http://evil.test/api/v1/state HTTP/1.1', 'Host: localhost:PORT', ''], 403],
    ['has a path without its slash', ['GET api/v1/state HTTP/1.1', 'Host: localhost:PORT', ''], 400],
    ['asks about all', ['OPTIONS * HTTP/1.1', 'Host: localhost:PORT', ''], 403],
    ['has a backslash', ['GET /api\\v1\\state HTTP/1.1', 'Host: localhost:PORT', ''], 400],
    [
      'wants a WebSocket under a foreign name',
      ['GET / HTTP/1.1', 'Host: evil.test', 'Connection: Upgrade', 'Upgrade: websocket', ''],
      403,
    ],
    ['is none', ['hello?', ''], 400],
    ['has too long a header', ['GET / HTTP/1.1', 'Host: localhost:PORT', `X: ${'x'.repeat(9_000)}`, ''], 431],
  ];

  test.each(LINES)('and %s is refused', async (_, lines, status) => {
    const server = await start();
    const client = new Client(server);

    await client.say(...lines.map((line) => line.replace('PORT', String(server.port))));
    await client.hears(/\r\n\r\n/);

    expect(statuses(client.text)).toEqual([status]);
    expect(client.text).not.toContain('"counts"');
  });

  test('and comes second on a good connection is looked at as well', async () => {
    const server = await start();
    const client = new Client(server);
    const own = `Host: localhost:${server.port}`;

    await client.say('GET /healthz HTTP/1.1', own, '');
    await client.hears(/"ok"/);
    await client.say('GET /healthz HTTP/1.1', 'Host: evil.test', '');
    await client.hears(/forbidden/);

    expect(statuses(client.text)).toEqual([200, 403]);
  });

  test('and wants a tunnel is dropped, and others are still answered', async () => {
    const server = await start();
    const client = new Client(server);

    await client.say('CONNECT evil.test:443 HTTP/1.1', 'Host: evil.test:443', '');

    expect(await client.ended).toBe('');
    expect((await ask(server, '/healthz')).status).toBe(200);
  });

  test('and has a body is answered without it, and the connection ends', async () => {
    const server = await start({ limits: { keepAliveMs: 60_000, requestMs: 60_000 } });
    const client = new Client(server);
    const head = [`Host: localhost:${server.port}`, 'Content-Length: 1000000000', ''];

    await client.say('POST /api/v1/state HTTP/1.1', ...head);

    expect(statuses(await client.ended)).toEqual([405]);
  });

  test('and waits for 100 Continue is not', async () => {
    const server = await start();
    const client = new Client(server);
    const head = [`Host: localhost:${server.port}`, 'Expect: 100-continue', 'Content-Length: 10', ''];

    await client.say('POST /api/v1/state HTTP/1.1', ...head);

    expect(statuses(await client.ended)).toEqual([405]);
  });
});

describe('a client that takes its time', () => {
  test('and sends nothing at all is dropped', async () => {
    const client = new Client(await start({ limits: { headersMs: 100 } }));

    expect(statuses(await client.ended)).toEqual([408]);
  });

  test('and sends its headers one by one is dropped', async () => {
    const server = await start({ limits: { headersMs: 200, requestMs: 60_000 } });
    const client = new Client(server);
    await client.say('GET / HTTP/1.1', `Host: localhost:${server.port}`);
    const drip = setInterval(() => client.socket.write('X: y\r\n'), 20);

    const text = await client.ended;
    clearInterval(drip);

    expect(statuses(text)).not.toContain(200);
  });

  test('and has its answer, but does not go, is dropped', async () => {
    const server = await start({ limits: { keepAliveMs: 100 } });
    const client = new Client(server);

    await client.say('GET /healthz HTTP/1.1', `Host: localhost:${server.port}`, '');

    expect(statuses(await client.ended)).toEqual([200]);
  });

  /** Lets the server drop the connection before the answer, when there is no room for it. */
  const slowStats = async () => {
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    return { days: [] };
  };

  test('and does not read its answer is dropped, which makes room for others', async () => {
    const server = await start({
      limits: { responseMs: 200, connections: 1, strangers: 0 },
      source: { stateText: () => 'x'.repeat(30_000_000), stats: slowStats },
    });
    const slow = new Client(server);
    slow.socket.pause();
    await slow.say('GET /api/v1/state HTTP/1.1', `Host: localhost:${server.port}`, AUTHORIZATION, '');

    const isServed = () =>
      ask(server, '/api/v1/stats').then(
        ({ status }) => status === 200,
        () => false,
      );
    while (!(await isServed()));

    slow.socket.resume();
    expect((await slow.ended).length).toBeLessThan(30_000_000);
  });

  test('and asks before it was answered is dropped: a flood of requests on one connection is not answered at once', async () => {
    let asked = 0;
    const stateText = () => {
      asked += 1;
      return '{}';
    };
    const server = await start({ source: { stateText } });
    const client = new Client(server);
    const request = ['GET /api/v1/state HTTP/1.1', `Host: localhost:${server.port}`, AUTHORIZATION, ''];

    await client.say(...Array.from({ length: 500 }, () => request).flat());
    await client.ended;

    expect(asked).toBeLessThan(3);
    expect((await ask(server, '/healthz')).status).toBe(200);
  });
});

describe('closing', () => {
  test('does not wait for open connections, and can be done twice', async () => {
    const server = await start();
    const idle = await new Client(server).say('GET /healthz HTTP/1.1', `Host: localhost:${server.port}`, '');
    await idle.hears(/ok/);
    const half = await new Client(server).say('GET /');

    await Promise.all([server.close(), server.close()]);

    await Promise.all([idle.ended, half.ended]);
    await expect(ask(server, '/healthz')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await server.close();
  });

  test('frees the port for the next', async () => {
    const first = await start();
    await ask(first, '/healthz');

    await first.close();
    const next = await start({ port: first.port });

    expect((await ask(next, '/healthz')).status).toBe(200);
  });
});

test.runIf(existsSync('/proc/self/fd'))('a download that is broken off closes its file', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'baton-download-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const path = join(dir, 'r.jsonl');
  writeFileSync(path, 'x'.repeat(20_000_000));
  const isOpen = () =>
    readdirSync('/proc/self/fd').some((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`) === path;
      } catch {
        return false; // closed while we looked
      }
    });
  const server = await start({ source: { transcript: async () => path } });
  const client = new Client(server);
  await client.say('GET /api/v1/A/transcript HTTP/1.1', `Host: localhost:${server.port}`, AUTHORIZATION, '');
  await client.hears(/xxx/);
  client.socket.pause();
  expect(isOpen()).toBe(true);

  client.socket.destroy();

  await expect.poll(isOpen).toBe(false);
});
