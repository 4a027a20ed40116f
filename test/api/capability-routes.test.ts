import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { StatusSource } from '../../src/api/routes.js';
import type { HttpLimits } from '../../src/api/server.js';
import { BatonError } from '../../src/domain/errors.js';
import { ask, askAsStranger, start, TOKEN } from './http-fixture.js';

const KIB = 1024;
const CHANGES = ['/api/capability/refresh', '/api/capability/executors/create', '/api/capability/download-executor'];
const AUTHORIZED = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };

/** Everything that was asked of the daemon, in order. */
async function startWith(source: Partial<StatusSource> = {}, limits: Partial<HttpLimits> = {}) {
  const asked: unknown[] = [];
  const server = await start({
    limits,
    source: {
      capabilities: {
        stats: () => ({ active: [] }),
        refresh: async () => {
          asked.push('refresh');
          return { executors: [], capabilities: [], problems: [] };
        },
        create: async (request) => {
          asked.push(request);
          return { name: 'x', path: '.baton/capabilities/executors/x' };
        },
      },
      ...source,
    },
  });
  const post = (path: string, sent: { headers?: object; body?: string | Buffer } = {}) =>
    ask(server, path, { method: 'POST', headers: AUTHORIZED, ...sent });
  return { server, asked, post };
}

describe('/api/capability', () => {
  test('S3-72 stats returns the data of the daemon', async () => {
    const { server } = await startWith();

    const { status, json } = await ask(server, '/api/capability/stats');

    expect([status, json]).toEqual([200, { active: [] }]);
  });

  test('S3-08 refresh needs no body and answers what was found', async () => {
    const { asked, post } = await startWith();

    const { status, json } = await post('/api/capability/refresh', { headers: { authorization: `bearer ${TOKEN}` } });

    expect([status, json]).toEqual([200, { executors: [], capabilities: [], problems: [] }]);
    expect(asked).toEqual(['refresh']);
  });

  test('S3-71 executors/create hands over what was sent and answers 201 with what was made', async () => {
    const { asked, post } = await startWith();

    const body = JSON.stringify({ name: 'x', supportedTypes: ['power'] });
    const { status, json } = await post('/api/capability/executors/create', { body });

    expect([status, json]).toEqual([201, { name: 'x', path: '.baton/capabilities/executors/x' }]);
    expect(asked).toEqual([{ name: 'x', supportedTypes: ['power'] }]);
  });

  test('S3-71 a request that is refused is 400 with the reason, any other failure is 500 without it', async () => {
    const onError = vi.fn();
    const failing = (error: Error) => ({
      stats: () => null,
      refresh: async () => null,
      create: () => Promise.reject(error),
    });
    const bad = await startWith({ capabilities: failing(new BatonError('INVALID_REQUEST', 'name must be a text')) });
    const broken = await startWith({ capabilities: failing(new Error('secret path')), onError });

    const refused = await bad.post('/api/capability/executors/create', { body: '{}' });
    const failed = await broken.post('/api/capability/executors/create', { body: '{}' });

    expect(refused.status).toBe(400);
    expect(refused.json).toEqual({ error: { code: 'INVALID_REQUEST', message: 'name must be a text' } });
    expect(failed.status).toBe(500);
    expect(failed.text).not.toContain('secret');
    expect(onError).toHaveBeenCalledOnce();
  });

  test('S3-74 download-executor is 501 not_available with an alternative', async () => {
    const { post } = await startWith();

    const { status, json } = await post('/api/capability/download-executor', { body: '{"executorId":"x"}' });

    expect([status, json.error.code]).toEqual([501, 'not_available']);
    expect(json.error.message).toContain('.baton/capabilities/executors/');
  });

  test('has the right methods, and nothing else below it', async () => {
    const { server, post } = await startWith();

    for (const path of CHANGES) {
      const { status, headers } = await ask(server, path);
      expect([status, headers.allow]).toEqual([405, 'POST']);
    }
    const stats = await post('/api/capability/stats');
    expect([stats.status, stats.headers.allow]).toEqual([405, 'GET, HEAD']);
    for (const path of ['/api/capability', '/api/capability/', '/api/capability/refresh/', '/api/capability/executors'])
      expect((await post(path)).status).toBe(404);
  });

  test('is 404 as a whole for a daemon without it', async () => {
    const { server, post } = await startWith({ capabilities: null });

    expect((await ask(server, '/api/capability/stats')).status).toBe(404);
    for (const path of CHANGES) expect((await post(path)).status).toBe(404);
    expect((await ask(server, '/')).text).not.toContain('capability');
  });
});

describe('a request that changes something', () => {
  const WRONG: [string, object][] = [
    ['no token', {}],
    ['another token', { authorization: `Bearer ${'y'.repeat(43)}` }],
    ['a token that is too short', { authorization: `Bearer ${TOKEN.slice(1)}` }],
    ['a token that is too long', { authorization: `Bearer ${TOKEN}x` }],
    ['an empty token', { authorization: 'Bearer ' }],
    ['another scheme', { authorization: `Basic ${TOKEN}` }],
    ['the bare token', { authorization: TOKEN }],
  ];

  test.each(WRONG)('SEC-23 with %s is 401 and names the place of the token', async (_, headers) => {
    const { asked, server } = await startWith();

    for (const path of CHANGES) {
      const sent = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: '{}' };
      const answer = await askAsStranger(server, path, sent);

      expect([answer.status, answer.json.error.code]).toEqual([401, 'unauthorized']);
      expect(answer.headers['www-authenticate']).toBe('Bearer');
      expect(answer.json.error.message).toMatch(/http-token of the state directory/);
      expect(answer.text).not.toContain(TOKEN);
    }
    expect(asked).toEqual([]);
  });

  test('SEC-23 from a page of another origin, or under another Host, is 403 even with the token', async () => {
    const { asked, post, server } = await startWith();
    const foreign = [
      { origin: 'http://evil.test' },
      { origin: 'null' },
      { origin: 'http://evil.test', 'content-type': 'text/plain' },
      { host: 'evil.test' },
      { host: `evil.test:${server.port}`, origin: `http://evil.test:${server.port}` },
    ];

    for (const headers of foreign)
      for (const path of CHANGES) {
        const answer = await post(path, { headers: { ...AUTHORIZED, ...headers }, body: '{}' });

        expect([answer.status, answer.json.error.code]).toEqual([403, 'forbidden']);
        expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
      }
    expect(asked).toEqual([]);
  });

  test('SEC-23 a preflight of a browser is not answered as one', async () => {
    const { server } = await startWith();
    const headers = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' };

    const { status, headers: got } = await ask(server, '/api/capability/refresh', { method: 'OPTIONS', headers });

    expect(status).toBe(405);
    expect(Object.keys(got).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonx',
    '',
  ])('SEC-23 of type %j is 415', async (type) => {
    const { asked, post } = await startWith();

    for (const path of CHANGES) {
      const answer = await post(path, { headers: { ...AUTHORIZED, 'content-type': type }, body: '{}' });
      expect([answer.status, answer.json.error.code]).toEqual([415, 'unsupported_media_type']);
    }
    expect(asked).toEqual([]);
  });

  test.each(['', '{', 'nonsense', '{"a":1}}', Buffer.from('{"a":"\xff"}', 'latin1')])(
    'with the body %j is 400',
    async (body) => {
      const { asked, post } = await startWith();

      const answer = await post('/api/capability/executors/create', { body });

      expect([answer.status, answer.json.error.code]).toEqual([400, 'bad_request']);
      expect(asked).toEqual([]);
    },
  );

  test('with a key __proto__ or nested very deep does no harm', async () => {
    const { asked, post } = await startWith();

    const proto = await post('/api/capability/executors/create', { body: '{"__proto__":{"isAdmin":true}}' });
    const deep = await post('/api/capability/executors/create', { body: '['.repeat(30_000) + ']'.repeat(30_000) });

    expect([proto.status, deep.status]).toEqual([201, 201]);
    expect(asked).toHaveLength(2);
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
  });

  test.each([64 * KIB + 1, 900 * KIB])(
    'with a body of %i bytes is 413, with or without a content length',
    async (bytes) => {
      const { asked, post } = await startWith();
      const body = JSON.stringify('x'.repeat(bytes - 2));
      const chunked = { ...AUTHORIZED, 'transfer-encoding': 'chunked' };

      const told = await post('/api/capability/executors/create', { body });
      const untold = await post('/api/capability/executors/create', { headers: chunked, body });

      for (const { status, json } of [told, untold]) expect([status, json.error.code]).toEqual([413, 'too_large']);
      expect(asked).toEqual([]);
    },
  );

  test('with a body of 64 KiB is taken', async () => {
    const { post } = await startWith();

    const { status, headers } = await post('/api/capability/executors/create', {
      body: JSON.stringify('x'.repeat(64 * KIB - 2)),
    });

    expect([status, headers.connection]).toEqual([201, 'close']);
  });
});

describe('a body', () => {
  /** Says the head of a request for `create`, then whatever `rest` is; all that comes back. */
  async function conversation(
    port: number,
    head: readonly string[],
    rest: string,
    until: RegExp = /$^/,
  ): Promise<string> {
    const socket = connect({ host: '127.0.0.1', port });
    onTestFinished(() => void socket.destroy());
    socket.setEncoding('latin1').on('error', () => {});
    let text = '';
    const lines = ['POST /api/capability/executors/create HTTP/1.1', `Host: localhost:${port}`, ...head];
    await once(socket, 'connect');
    socket.write(`${lines.join('\r\n')}\r\n\r\n`);
    for await (const chunk of socket) {
      text += chunk;
      if (until.test(text)) socket.write(rest);
    }
    return text;
  }
  const JSON_HEAD = [`Authorization: Bearer ${TOKEN}`, 'Content-Type: application/json'];

  test('of a client that waits for 100 Continue is requested and read', async () => {
    const { server } = await startWith();

    const head = [...JSON_HEAD, 'Expect: 100-continue', 'Content-Length: 2'];
    const text = await conversation(server.port, head, '{}', /^HTTP\/1\.1 100 Continue\r\n\r\n$/);

    expect(text).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 /);
  });

  test.each([
    ['without the token', ['Content-Type: application/json', 'Content-Length: 2'], 401],
    ['of another type', [`Authorization: Bearer ${TOKEN}`, 'Content-Type: text/plain', 'Content-Length: 2'], 415],
    ['that is far too large', [...JSON_HEAD, 'Content-Length: 1000000000'], 413],
  ])('%s is never requested', async (_, head, status) => {
    const { server } = await startWith();

    const text = await conversation(server.port, [...head, 'Expect: 100-continue'], '');

    expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });

  test('that does not come is waited for only so long', async () => {
    const { server, asked } = await startWith({}, { requestMs: 200, headersMs: 200 });

    const text = await conversation(server.port, [...JSON_HEAD, 'Content-Length: 100', '', '{'], '');

    expect(text).not.toContain(' 201 ');
    expect(asked).toEqual([]);
  });

  test('that breaks off half-way changes nothing', async () => {
    const { server, asked } = await startWith();
    const socket = connect({ host: '127.0.0.1', port: server.port });
    await once(socket, 'connect');
    const head = ['POST /api/capability/executors/create HTTP/1.1', `Host: localhost:${server.port}`, ...JSON_HEAD];
    socket.write(`${[...head, 'Content-Length: 100'].join('\r\n')}\r\n\r\n{"name":`);

    socket.resetAndDestroy();
    await once(socket, 'close');

    expect((await ask(server, '/healthz')).status).toBe(200);
    expect(asked).toEqual([]);
  });
});
