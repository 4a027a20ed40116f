import { type ChildProcess, spawn } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, get, IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createProver } from '../../src/api/proof.js';
import { createRoutes, proofRoute } from '../../src/api/routes.js';
import { type HttpServer, startSocket } from '../../src/api/server.js';
import type { Io } from '../../src/cli/io.js';
import { open } from '../../src/cli/open.js';
import { OpenPage } from '../../src/daemon/open-page.js';
import { request as requestOfPage } from '../../src/page/live/api.js';
import { ask, askAsStranger, start, TOKEN } from '../api/http-fixture.js';
import { demoWorkflow, liveDaemon } from '../cli/client/live-daemon.js';
import { place } from '../cli/command.js';
import { asOrdinaryUser } from '../support/as-ordinary-user.js';
import { Core } from '../support/core.js';
import { statusSource } from '../support/status-samples.js';
import { testDaemon } from '../support/test-daemon.js';

const CANARY = 'canary-5c1e';
const HAS_IPV6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'));
const isRoot = process.geteuid?.() === 0;

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'baton-sec-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

interface Printed extends Io {
  readonly text: { stdout: string; stderr: string };
}

/** The surroundings of a command in a terminal on a desktop. */
function desktop(dir: string): Printed {
  const text = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr') => ({
    write(part: string) {
      text[name] += part;
    },
  });
  const env = { PATH: `${dir}/bin:${process.env.PATH}`, DISPLAY: ':0', HOME: dir };
  const io = { stdout: stream('stdout'), stderr: stream('stderr'), isTTY: true, cwd: dir, env, homeDir: dir, text };
  return io as unknown as Printed;
}

/** Of the daemon in this state directory. */
function tokenOf(stateDir: string): string {
  return readFileSync(join(stateDir, 'http-token'), 'utf8').trim();
}

/**
 * Another user of the machine, who reads the command line and the environment of every process, requests every address and reads every file
 * that is named there, and reports all of it for each line on its standard input.
 */
const SPY = `
const { readdirSync, readFileSync } = require('node:fs');
const read = (path) => { try { return readFileSync(path, 'latin1'); } catch { return ''; } };
require('node:readline').createInterface({ input: process.stdin }).on('line', async () => {
  const pids = readdirSync('/proc').filter((name) => /^\\d+$/.test(name) && Number(name) !== process.pid);
  let seen = pids.map((pid) => read('/proc/' + pid + '/cmdline') + '\\n' + read('/proc/' + pid + '/environ')).join('\\n');
  for (const [url] of seen.matchAll(/http:\\/\\/127\\.0\\.0\\.1:\\d+[^\\s\\0"']*/g)) {
    const answer = await fetch(url, { redirect: 'manual' }).catch(() => null);
    if (answer) seen += answer.headers.get('location') + (await answer.text());
  }
  if (process.argv[1] === 'reads') for (const [path] of seen.matchAll(/\\/[^\\s\\0"']*\\.html/g)) seen += read(path);
  console.log(JSON.stringify(seen));
});`;

interface Spy {
  /** Everything that can be learnt at the moment. */
  look(): Promise<string>;
}

function spyOnMachine(): Spy {
  // Tests of an ordinary user have no second user: their spy may not read files, because it could read those of its own user.
  const other = isRoot ? { uid: 65_533, gid: 65_533 } : {};
  const stdio = ['pipe', 'pipe', 'inherit'] as const;
  const child: ChildProcess = spawn(process.execPath, ['-e', SPY, isRoot ? 'reads' : ''], {
    ...other,
    cwd: '/',
    env: {},
    stdio: [...stdio],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  return {
    async look() {
      child.stdin?.write('\n');
      const [line] = await once(lines, 'line');
      return JSON.parse(line);
    },
  };
}

describe('the way of the token to the browser', () => {
  test('SEC-35 another user finds the token in no command line, environment, address or file during `baton open`', async () => {
    const [dir, spy] = [folder(), spyOnMachine()];
    mkdirSync(join(dir, 'bin'));
    // The browser waits, so that the spy has time.
    writeFileSync(
      join(dir, 'bin', 'xdg-open'),
      `#!/bin/bash\nprintf %s "$1" > ${dir}/opened\nprintf %s $$ > ${dir}/pid\nexec tail -f /dev/null "$1"\n`,
    );
    chmodSync(join(dir, 'bin', 'xdg-open'), 0o755);

    await asOrdinaryUser(dir, async () => {
      const daemon = await testDaemon({ settings: 'server: { port: 0 }' });
      const token = tokenOf(daemon.stateDir);
      const io = desktop(dir);

      const opening = open({ stateDir: daemon.stateDir, print: false }, io);
      await expect.poll(() => existsSync(join(dir, 'pid')), { timeout: 10_000 }).toBe(true);
      const during = await spy.look();
      const code = await opening;
      const after = await spy.look();

      const file = readFileSync(join(dir, 'opened'), 'utf8');
      process.kill(Number(readFileSync(join(dir, 'pid'), 'utf8')), 'SIGKILL');
      for (const text of [during, after]) expect(text.includes(token)).toBe(false);
      expect(code).toBe(0);
      expect(readFileSync(file, 'utf8')).toContain(token);
      expect(after).toContain(file);
      await daemon.stop();
    });
  });

  test('SEC-35 the token of an ended daemon is worthless for the next one', async () => {
    const here = place();
    demoWorkflow(here);
    const addressOf = async () => {
      const { stdout } = await here.baton('open', '--print');
      const [, url = '', token = ''] = /^(http:\S+)\/#token=(\S+)$/m.exec(stdout) ?? [];
      return { url, token };
    };
    const first = await liveDaemon(here, '--port', '0');
    const before = await addressOf();
    await first.stop();
    const second = await liveDaemon(here, '--port', '0');
    const now = await addressOf();

    const statusWith = async (token: string) =>
      (await fetch(`${now.url}/api/v1/state`, { headers: { authorization: `Bearer ${token}` } })).status;

    expect(before.token).toHaveLength(43);
    expect(await statusWith(now.token)).toBe(200);
    expect(await statusWith(before.token)).toBe(401);
    await second.stop();
  });
});

interface Squatter {
  readonly url: string;
  /** Everything that it was sent. */
  readonly received: string[];
}

/** A program that has taken the port of a daemon. It answers a challenge with what `prove` returns. */
async function squatter(prove: (request: IncomingMessage) => Promise<string>): Promise<Squatter> {
  const received: string[] = [];
  const server = createServer(async (request, response) => {
    received.push(`${request.url} ${JSON.stringify(request.headers)}`);
    response.end(request.url?.startsWith('/api/v1/proof') ? await prove(request) : '{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

describe('a program that has taken the port', () => {
  const PROOFS: [string, (real: HttpServer, request: IncomingMessage) => Promise<string>][] = [
    ['answers nothing of use', async () => '{"proofs":[]}'],
    ['guesses', async () => JSON.stringify({ proofs: ['0'.repeat(64)] })],
    [
      'passes on the proof of the daemon on another port',
      async (real, { url = '' }) => (await askAsStranger(real, url)).text,
    ],
    [
      'passes on the challenge under its own name',
      async (real, { url = '', headers: { host } }) => (await askAsStranger(real, url, { headers: { host } })).text,
    ],
    [
      'proves that it knows another token',
      async (_, { url = '', headers: { host = '' } }) => {
        const prove = await createProver('a token of its own');
        return JSON.stringify({ proofs: [await prove(host, url.split('=')[1] ?? '')] });
      },
    ],
  ];

  test.each(PROOFS)('SEC-35 and %s gets the token neither from the page nor from `baton open`', async (_, prove) => {
    const real = await start({ fixedToken: 'the-token-of-the-operator' });
    const thief = await squatter((request) => prove(real, request));
    const stateDir = folder();
    const page = new OpenPage(stateDir, () => ({ url: thief.url, token: TOKEN }));
    const source = statusSource(new Core());
    const socket = await startSocket({
      source: async () => source,
      onError: source.onError,
      path: join(stateDir, 'socket'),
      version: '1.2.3',
      routes: async () => page.routes,
    });
    onTestFinished(() => socket.close());
    const io = desktop(stateDir);

    const code = await open({ stateDir, print: true }, io);
    const access = { base: `${thief.url}/`, token: TOKEN };
    const answer = await requestOfPage(access, 'api/v1/state').catch((error) => error);

    expect(code).toBe(1);
    expect(io.text.stdout).toBe('');
    expect(io.text.stderr).toContain('another program may have taken the port');
    expect(answer).toMatchObject({ status: 401, code: 'other_daemon' });
    expect(thief.received).toHaveLength(2);
    expect(thief.received.join()).not.toContain(TOKEN);
  });

  test('SEC-35 the daemon proves every token that it accepts, for the host that was asked and no other', async () => {
    const fixedToken = 'the-token-of-the-operator';
    const real = await start({ fixedToken });
    const nonce = 'a'.repeat(32);
    const proofsUnder = async (host: string) =>
      (await askAsStranger(real, `/api/v1/proof?nonce=${nonce}`, { headers: { host } })).json.proofs;
    const provers = await Promise.all([TOKEN, fixedToken].map(createProver));

    for (const host of [`127.0.0.1:${real.port}`])
      expect(await proofsUnder(host)).toEqual(await Promise.all(provers.map((prove) => prove(host, nonce))));
    for (const bad of ['', 'short', 'A'.repeat(32), 'a'.repeat(33)])
      expect((await askAsStranger(real, `/api/v1/proof?nonce=${bad}`)).status).toBe(400);
  });
});

describe.skipIf(!HAS_IPV6)('a program on our port of another loopback address', () => {
  /** Passes on every request and its answer, and keeps the tokens. */
  async function relay(port: number, host: string): Promise<string[]> {
    const tokens: string[] = [];
    const server = createServer(async ({ url = '', headers }, response) => {
      if (headers.authorization) tokens.push(headers.authorization);
      const answer = await askAsStranger({ port }, url, { headers: { host: headers.host } });
      response.writeHead(answer.status).end(answer.text);
    });
    await new Promise<void>((resolve) => server.listen({ port, host }, resolve));
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    return tokens;
  }

  test('SEC-35 gets no token by passing on the proof', async () => {
    const real = await start();
    const stolen = await relay(real.port, '::1');

    for (const name of ['[::1]', 'localhost'])
      await requestOfPage({ base: `http://${name}:${real.port}/`, token: TOKEN }, 'api/v1/state').catch(() => {});
    const answers = await Promise.all(
      [`[::1]:${real.port}`, `localhost:${real.port}`].map((host) =>
        askAsStranger(real, `/api/v1/proof?nonce=${'a'.repeat(32)}`, { headers: { host } }),
      ),
    );

    expect(stolen).toEqual([]);
    expect(answers.map(({ status }) => status)).toEqual([421, 421]);
    expect((await requestOfPage({ base: `http://127.0.0.1:${real.port}/`, token: TOKEN }, 'api/v1/state')).status).toBe(
      200,
    );
  });

  test('SEC-35 the page is opened under the address that leads to the daemon only', async () => {
    const real = await start();
    const pageUnder = (host: string, path = '/') => askAsStranger(real, path, { headers: { host } });

    const { status, headers } = await pageUnder(`localhost:${real.port}`);

    expect([status, headers.location]).toEqual([307, `http://127.0.0.1:${real.port}/`]);
    expect((await pageUnder(`127.0.0.1:${real.port}`)).headers.location).toBeUndefined();
    expect((await pageUnder(`localhost:${real.port}`, '/healthz')).status).toBe(200);
    expect((await pageUnder('evil.test')).status).toBe(403);
  });

  test.each([
    ['0.0.0.0', [], { '127.0.0.1': 200, localhost: 421, '[::1]': 421 }],
    ['::', [], { '127.0.0.1': 200, localhost: 200, '[::1]': 200 }],
    ['::1', [], { '127.0.0.1': 421, localhost: 421, '[::1]': 200 }],
    ['127.0.0.1', ['localhost'], { '127.0.0.1': 200, localhost: 200, '[::1]': 421 }],
  ])('SEC-35 a server on %s with allowed_hosts %j proves %j', async (host, allowedHosts, expected) => {
    const real = await start({ host, allowedHosts, fixedToken: 'the-token-of-the-operator' });
    const nonce = 'a'.repeat(32);
    const ask = (name: string) =>
      new Promise<number>((resolve) => {
        const target = new URL(real.url).hostname.replace(/[[\]]/g, '');
        const headers = { host: `${name}:${real.port}` };
        get({ host: target, port: real.port, path: `/api/v1/proof?nonce=${nonce}`, headers }, (answer) =>
          resolve(answer.resume().statusCode ?? 0),
        );
      });

    for (const [name, status] of Object.entries(expected)) expect([name, await ask(name)]).toEqual([name, status]);
  });
});

describe('without the token', () => {
  const page = new Map([
    ['/', { type: 'text/html', bytes: Buffer.from('shell') }],
    ['/assets/a.js', { type: 'text/javascript', bytes: Buffer.from('shell') }],
  ]);
  const PUBLIC = ['/', '/assets/a.js', '/healthz', '/readyz', '/api/v1/proof'];
  const secret = statusSource(new Core(), {
    page,
    stateText: () => CANARY,
    notReady: () => CANARY,
    issue: async () => ({ title: CANARY }) as never,
    timeline: async () => ({ entries: [CANARY] }) as never,
    transcript: async () => __filename,
    stats: async () => ({ days: [CANARY] }) as never,
    metrics: async () => ({ text: CANARY, type: 'text/plain' }),
    capabilities: { stats: () => CANARY, refresh: async () => CANARY, create: async () => CANARY },
  });
  const table = createRoutes(secret, () => 'public', {
    isOwner: false,
    more: [proofRoute([TOKEN], () => true)],
  }).routes;
  const routes = table.filter(({ method }) => method !== 'ALL');
  const STRANGERS = [{}, { authorization: `Bearer ${TOKEN.slice(1)}y` }, { authorization: `Basic ${TOKEN}` }];

  test('SEC-35 every route of the table but the empty page, health and the proof is 401 over HTTP', async () => {
    const server = await start({ source: secret });
    const open = new Set<string>();

    for (const { method, path } of routes) {
      for (const headers of STRANGERS) {
        const asked = path.replace(':identifier', 'AB-1');
        const answer = await askAsStranger(server, asked, { method, headers });
        if (answer.status !== 401) open.add(path);
        expect(answer.text, `${method} ${path}`).not.toContain(CANARY);
        if (method === 'GET' && !PUBLIC.includes(path))
          expect((await askAsStranger(server, asked, { method: 'HEAD', headers })).status).toBe(401);
      }
    }

    expect(routes.length).toBeGreaterThan(25);
    expect([...open].sort()).toEqual([...PUBLIC].sort());
    expect((await ask(server, '/api/v1/state')).text).toContain(CANARY);
  });

  test('SEC-35 a real daemon shows neither its state nor its metrics', async () => {
    const daemon = await testDaemon({ settings: 'server: { port: 0 }' });
    daemon.tracker.put({ id: '1', identifier: 'AB-1', title: CANARY, state: 'Done' });
    const { url } = await daemon.request('/api/v1/state');
    const { port } = new URL(url);

    for (const path of ['/api/v1/state', '/api/v1/AB-1', '/api/v1/events', '/metrics']) {
      const { status, text } = await askAsStranger({ port: Number(port) }, path);
      expect([path, status]).toEqual([path, 401]);
      expect(text).not.toContain(CANARY);
    }
    expect((await daemon.request('/metrics')).status).toBe(200);
  });
});

/** Connections of a client that has no token. Each that is dropped is opened again until the test ends. */
class Flood {
  readonly #sockets = new Set<Socket>();
  readonly #port: number;
  readonly #bytes: string;
  #isOver = false;
  dropped = 0;

  /** `bytes` are sent on each connection, and then nothing. */
  constructor({ port }: { readonly port: number }, count: number, bytes: string) {
    this.#port = port;
    this.#bytes = bytes;
    for (let n = 0; n < count; n += 1) this.#connect();
    onTestFinished(() => this.end());
  }

  get open(): number {
    return [...this.#sockets].filter(({ readyState }) => readyState === 'open').length;
  }

  /** Resolves when so many connections have been dropped. */
  async until(dropped: number): Promise<void> {
    await expect.poll(() => this.dropped, { timeout: 20_000 }).toBeGreaterThanOrEqual(dropped);
  }

  end(): void {
    this.#isOver = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  #connect(): void {
    const socket = connect({ host: '127.0.0.1', port: this.#port }, () => socket.write(this.#bytes));
    this.#sockets.add(socket);
    socket.on('error', () => {}).resume();
    socket.once('close', () => {
      this.dropped += 1;
      this.#sockets.delete(socket);
      if (!this.#isOver) this.#connect();
    });
  }
}

/** A reader of the stream with the token. */
async function reader({ port }: { readonly port: number }): Promise<{ isOpen(): boolean }> {
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  const headers = { authorization: `Bearer ${TOKEN}` };
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1/events`, { headers, signal: controller.signal });
  expect(answer.status).toBe(200);
  const body = answer.body?.getReader();
  await body?.read();
  let isOpen = true;
  const drain = async () => {
    while (!(await body?.read())?.done);
  };
  void drain()
    .catch(() => {})
    .finally(() => {
      isOpen = false;
    });
  return { isOpen: () => isOpen };
}

describe('a flood of connections without the token', () => {
  const KINDS: [string, (port: number) => string][] = [
    ['that send nothing', () => ''],
    ['that send half of a request', (port) => `GET /api/v1/state HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n`],
    [
      'that send half of a body',
      (port) =>
        `POST /api/v1/pause HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{`,
    ],
    [
      'that send a body in chunks of one byte',
      (port) =>
        `POST /api/v1/pause HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\na\r\n'.repeat(10_900)}`,
    ],
    [
      'that send many headers',
      (port) => `GET /api/v1/state HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${'a:\r\n'.repeat(2_000)}\r\n`,
    ],
    ['that want the stream', (port) => `GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`],
    ['that want the page', (port) => `GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`],
  ];

  test.each(KINDS)('SEC-35 %s keeps no holder of the token out, before it or after it', async (_, bytesFor) => {
    const server = await start({ source: { page: new Map([['/', { type: 'text/html', bytes: Buffer.alloc(1e3) }]]) } });
    const early = await reader(server);

    const flood = new Flood(server, 300, bytesFor(server.port));
    await flood.until(300);
    const late = await reader(server);
    const statuses = await Promise.all(Array.from({ length: 20 }, () => ask(server, '/api/v1/state')));
    const dropped = flood.dropped;
    await flood.until(dropped + 300);

    expect(statuses.map(({ status }) => status)).toEqual(statuses.map(() => 200));
    expect([early.isOpen(), late.isOpen()]).toEqual([true, true]);
  });

  test('SEC-35 that do not read the page keep no holder of the token out', async () => {
    const server = await start({ source: { page: new Map([['/', { type: 'text/html', bytes: Buffer.alloc(1e6) }]]) } });
    const request = `GET / HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n\r\n`;
    const sockets = Array.from({ length: 150 }, () => connect({ host: '127.0.0.1', port: server.port }));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
    });
    for (const socket of sockets) {
      socket.on('error', () => {});
      socket.write(request);
    }
    await Promise.all(sockets.map((socket) => (socket.connecting ? once(socket, 'connect') : null)));

    const statuses = await Promise.all(Array.from({ length: 20 }, () => ask(server, '/api/v1/state')));

    expect(statuses.map(({ status }) => status)).toEqual(statuses.map(() => 200));
  });

  test('SEC-35 `baton open` works during a flood of half-open connections', async () => {
    const daemon = await testDaemon({ settings: 'server: { port: 0 }' });
    const { url } = await daemon.request('/readyz');
    const flood = new Flood({ port: Number(new URL(url).port) }, 300, '');
    await flood.until(300);
    const io = desktop(daemon.dir);

    const code = await open({ stateDir: daemon.stateDir, print: true }, io);

    expect(io.text.stderr).toBe('');
    expect(code).toBe(0);
    expect(io.text.stdout).toContain(tokenOf(daemon.stateDir));
    flood.end();
  });

  test('SEC-35 of hundreds of pipelined requests only two are parsed', async () => {
    const server = await start();
    let parsed = 0;
    const count = () => {
      parsed += 1;
    };
    subscribe('http.server.request.start', count);
    onTestFinished(() => void unsubscribe('http.server.request.start', count));
    const socket = connect(server.port, '127.0.0.1');
    // The server resets the connection.
    socket.on('error', () => {});

    socket.resume().end(`GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n\r\n`.repeat(800));
    await once(socket, 'close');
    const { status } = await ask(server, '/healthz');

    expect({ parsed, status }).toEqual({ parsed: 3, status: 200 });
  });

  test('SEC-35 a body in chunks is not parsed without the token, and parsed with it', async () => {
    const server = await start();
    const push = vi.spyOn(IncomingMessage.prototype, 'push');
    onTestFinished(() => push.mockRestore());
    const request = `POST /api/v1/refresh HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n`;
    const exchange = async (headers: string, before = '') => {
      const head = `${request}${before}Transfer-Encoding: chunked\r\nConnection: close\r\n`;
      push.mockClear();
      const socket = connect(server.port, '127.0.0.1');
      socket.end(`${head}${headers}\r\n${'1\r\n \r\n'.repeat(800)}0\r\n\r\n`);
      const answer = await text(socket);
      const pieces = push.mock.calls.filter(([piece]) => piece !== null).length;
      return { status: answer.slice(9, 12), body: answer.split('\r\n\r\n')[1], pieces };
    };

    const refused = await exchange('');
    const wrong = await exchange('Authorization: Bearer wrong\r\n');
    const hidden = await exchange('', 'a:\r\n'.repeat(200));
    const admitted = await exchange(`Authorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\n`);
    const { text: expected } = await askAsStranger(server, '/api/v1/refresh', { method: 'POST' });

    expect(refused).toEqual({ status: '401', body: expected, pieces: 0 });
    expect(wrong).toEqual(refused);
    expect(hidden).toEqual(refused);
    expect(admitted.status).toBe('202');
    expect(admitted.pieces).toBeGreaterThan(0);
  });

  test('SEC-35 hundreds of headers are refused without the token', async () => {
    const server = await start();
    const request = `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nConnection: close\r\n`;
    const statusWith = async (headers: string) => {
      const socket = connect(server.port, '127.0.0.1');
      socket.end(`${request}${headers}\r\n`);
      return (await text(socket)).slice(9, 12);
    };

    const many = 'a:\r\n'.repeat(99);

    expect(await statusWith('a:\r\n'.repeat(98))).toBe('200');
    expect(await statusWith(many)).toBe('401');
    expect(await statusWith(`Authorization: Bearer ${TOKEN}\r\n${many}`)).toBe('200');
  });

  test('SEC-35 strangers have a small number of connections, and the one that was silent for the longest time is dropped for the newest', async () => {
    // No other limit ends a connection.
    const server = await start({ limits: { strangers: 2, headersMs: 600_000, requestMs: 600_000 } });
    const idle = new Flood(server, 2, '');
    await expect.poll(() => idle.open).toBe(2);

    const { status } = await askAsStranger(server, '/healthz');

    expect(status).toBe(200);
    await idle.until(1);
  });
});
