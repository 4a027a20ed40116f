import { describe, expect, onTestFinished, test } from 'vitest';
import { type HttpOptions, startHttp } from '../../src/api/server.js';
import { Core } from '../support/core.js';
import { statusSource } from '../support/status-samples.js';
import { ask, start, TOKEN } from './http-fixture.js';

/** Anything that JSON can hold: what the routes make of it is what is tested. */
const shows = (body: object) => ({ stateText: () => JSON.stringify(body) });

/** As they were before the first server. */
const NATIVE = { Request, Response };

describe('the routes', () => {
  test('/api/v1/state answers the snapshot of that moment', async () => {
    let running = 0;
    const server = await start({ source: { stateText: () => JSON.stringify({ counts: { running: ++running } }) } });

    const first = await ask(server, '/api/v1/state');
    const second = await ask(server, '/api/v1/state?x=1');

    expect(first.status).toBe(200);
    expect(first.headers['content-type']).toBe('application/json; charset=utf-8');
    expect([first.json, second.json]).toEqual([{ counts: { running: 1 } }, { counts: { running: 2 } }]);
  });

  test('/api/v1/<identifier> answers one issue', async () => {
    const issue = async (name: string) => (name === 'AB-1' ? ({ issue_identifier: name } as never) : null);
    const server = await start({ source: { issue } });

    const { status, json } = await ask(server, '/api/v1/AB-1');

    expect(status).toBe(200);
    expect(json).toEqual({ issue_identifier: 'AB-1' });
  });

  test('an issue whose identifier is a path of the API is served under issues/', async () => {
    const core = new Core().put('state');
    core.poll();
    const issue = async (name: string) => ({ issue_identifier: name }) as never;
    const server = await start({ core, source: { issue } });

    const found = await ask(server, '/api/v1/issues/state');
    const stopped = await ask(server, '/api/v1/issues/state/stop', { method: 'POST' });

    expect(found.json).toEqual({ issue_identifier: 'state' });
    expect(stopped.status).toBe(202);
  });

  test('an identifier with a slash, a hash and an umlaut is requested in its URI form', async () => {
    const server = await start({ source: { issue: async (identifier) => ({ identifier }) as never } });

    const { json } = await ask(server, `/api/v1/${encodeURIComponent('owner/repo#ü 1')}`);

    expect(json).toEqual({ identifier: 'owner/repo#ü 1' });
  });

  test('an issue that is not known is 404 issue_not_found', async () => {
    const { status, json } = await ask(await start(), '/api/v1/AB-2');

    expect(status).toBe(404);
    expect(json.error.code).toBe('issue_not_found');
    expect(json.error.message).toContain('AB-2');
  });

  test.each([
    '/api/v1/..%2f',
    '/api/v1/..%2F..%2Fetc%2Fpasswd',
    '/api/v1/../../etc/passwd',
    '/api/v1/%2e%2e/state',
    '/api/v1/__proto__',
    '/api/v1/constructor',
    '/api/v1/%00',
    '/api/v1/%E0%A4%A',
    '/api/v1/',
    '/api/v1',
    '/api/v1/AB-1/start',
    '/api/v1/state/',
    '/api/v2/state',
    '//api/v1/state',
    '/index.html',
    '/healthz/x',
  ])('%s is 404', async (path) => {
    const { status, json } = await ask(await start(), path);

    expect(status).toBe(404);
    expect(json.error.code).toMatch(/^(?:issue_)?not_found$/);
  });

  test('/healthz is ok while the daemon is alive, ready or not', async () => {
    const { status, json } = await ask(await start({ source: { notReady: () => 'no' } }), '/healthz');

    expect([status, json]).toEqual([200, { status: 'ok' }]);
  });

  test('/readyz is 503 with the reason, then ok', async () => {
    let reason: string | null = 'The tracker has not been read yet.';
    const server = await start({ source: { notReady: () => reason } });

    const before = await ask(server, '/readyz');
    reason = null;
    const after = await ask(server, '/readyz');

    expect(before.status).toBe(503);
    expect(before.json).toEqual({ error: { code: 'not_ready', message: 'The tracker has not been read yet.' } });
    expect([after.status, after.json]).toEqual([200, { status: 'ok' }]);
  });

  test('SEC-23 the page and its files are served with a policy that lets it talk to us alone, and nothing else is', async () => {
    const file = (type: string, text: string) => ({ type, bytes: Buffer.from(text) });
    const page = new Map([
      ['/', file('text/html; charset=utf-8', '<p>é')],
      ['/assets/a-1.js', file('text/javascript; charset=utf-8', '1')],
    ]);
    const server = await start({ source: { page } });

    const index = await ask(server, '/');
    const script = await ask(server, '/assets/a-1.js');
    const other = await ask(server, '/assets/..%2findex.html');

    expect([index.status, index.text, index.headers['content-type']]).toEqual([
      200,
      '<p>é',
      'text/html; charset=utf-8',
    ]);
    expect(index.headers['content-security-policy']).toBe(
      "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    );
    expect(index.headers['cache-control']).toBe('no-cache');
    expect([script.text, script.headers['cache-control']]).toEqual(['1', 'public, max-age=31536000, immutable']);
    expect(other.status).toBe(404);
  });

  test('a page that is not built is 503', async () => {
    const { status, json } = await ask(await start(), '/');

    expect([status, json.error.code]).toEqual([503, 'not_built']);
  });

  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'])(
    '%s is 405 and names what is allowed',
    async (method) => {
      const server = await start();

      for (const path of ['/', '/healthz', '/readyz', '/api/v1/state', '/api/v1/AB-1']) {
        const { status, headers, json } = await ask(server, path, { method });

        expect(status).toBe(405);
        expect(headers.allow).toBe('GET, HEAD');
        expect(json.error.code).toBe('method_not_allowed');
      }
      expect((await ask(server, '/nowhere', { method })).status).toBe(404);
    },
  );

  test('HEAD is GET without the body', async () => {
    const { status, headers, text } = await ask(await start(), '/api/v1/state', { method: 'HEAD' });

    expect([status, headers['content-type'], text]).toEqual([200, 'application/json; charset=utf-8', '']);
  });

  test('an internal error is 500 without details, and is reported to the daemon', async () => {
    const told: unknown[] = [];
    const failure = new Error('secret path');
    const server = await start({
      source: {
        stateText: () => {
          throw failure;
        },
        onError: (error) => told.push(error),
      },
    });

    const { status, json, text } = await ask(server, '/api/v1/state');

    expect(status).toBe(500);
    expect(json.error.code).toBe('internal_error');
    expect(text).not.toContain('secret');
    expect(told).toEqual([failure]);
  });

  test('every JSON that leaves goes through `clean`, errors too', async () => {
    const server = await start({
      source: {
        stats: async () => ({ days: [{ day: 'hunter2' }] }) as never,
        notReady: () => 'refused: hunter2',
        clean: (json) => json.replaceAll('hunter2', '***'),
      },
    });

    const texts = await Promise.all(
      ['/api/v1/stats', '/readyz', '/api/v1/hunter2'].map(async (path) => (await ask(server, path)).text),
    );

    for (const text of texts) {
      expect(text).toContain('***');
      expect(text).not.toContain('hunter2');
    }
  });

  test('a hostile title is inert JSON', async () => {
    const title = '<img src=x onerror=alert(1)></script>';
    const { headers, json } = await ask(await start({ source: shows({ title }) }), '/api/v1/state');

    expect(headers['content-type']).toMatch(/^application\/json/);
    expect(json).toEqual({ title });
  });
});

describe('every answer', () => {
  test.each([
    ['/healthz', {}, 200],
    ['/api/v1/state', {}, 200],
    ['/nowhere', {}, 404],
    ['/', { headers: { host: 'evil.test' } }, 403],
    ['/', { method: 'POST' }, 405],
  ])('%s %j carries the security headers and no CORS', async (path, options, status) => {
    const answer = await ask(await start(), path, options);

    expect(answer.status).toBe(status);
    expect(answer.headers).toMatchObject({
      'cache-control': 'no-store',
      'content-security-policy': expect.stringContaining("default-src 'none'"),
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  test('leaves the Request and Response of the process as they are', async () => {
    await ask(await start(), '/');

    expect(globalThis.Request).toBe(NATIVE.Request);
    expect(globalThis.Response).toBe(NATIVE.Response);
  });
});

describe('access', () => {
  const statusFor = async (host: string, options: Partial<Pick<HttpOptions, 'allowedHosts'>> = {}) => {
    const server = await start(options);
    const headers = { host: host.replace('PORT', String(server.port)) };
    return (await ask(server, '/api/v1/state', { headers })).status;
  };

  test.each(['localhost:PORT', '127.0.0.1:PORT', '[::1]:PORT', 'LocalHost:PORT'])('Host %s may', async (host) => {
    expect(await statusFor(host)).toBe(200);
  });

  test.each([
    'evil.test',
    'evil.test:PORT',
    'localhost',
    'localhost:1',
    'localhost.evil.test:PORT',
    'localhost:PORT.evil.test',
    'evil@localhost:PORT',
    'localhost.:PORT',
    '127.0.0.2:PORT',
    '0.0.0.0:PORT',
    '[::]:PORT',
    'localhost:PORT, localhost:PORT',
  ])('Host %j may not, on any path', async (host) => {
    expect(await statusFor(host)).toBe(403);
  });

  test('a foreign Host is refused before any other check', async () => {
    const stateText = () => {
      throw new Error('was asked');
    };
    const server = await start({ source: { stateText } });

    for (const path of ['/', '/healthz', '/readyz', '/api/v1/state', '/nowhere']) {
      for (const method of ['GET', 'POST']) {
        const { status, json } = await ask(server, path, { method, headers: { host: 'evil.test' } });
        expect([status, json.error.code]).toEqual([403, 'forbidden']);
      }
    }
  });

  test('an allowed name may come with any port, one with a port only with that', async () => {
    const allowedHosts = ['Baton.Example', 'localhost:9000', ' ', ''];

    expect(await statusFor('baton.example', { allowedHosts })).toBe(200);
    expect(await statusFor('baton.example:8443', { allowedHosts })).toBe(200);
    expect(await statusFor('localhost:9000', { allowedHosts })).toBe(200);
    expect(await statusFor('localhost:9001', { allowedHosts })).toBe(403);
    expect(await statusFor('!?', { allowedHosts })).toBe(403);
  });

  test('our own Origin may, any other may not, whatever it sends', async () => {
    const server = await start();
    const statusFrom = async (origin: string, method = 'GET') =>
      (await ask(server, '/api/v1/state', { method, headers: { origin, 'content-type': 'text/plain' } })).status;

    expect(await statusFrom(`http://127.0.0.1:${server.port}`)).toBe(200);
    const others = [
      'http://evil.test',
      'null',
      '',
      `http://localhost:${server.port}`,
      `http://127.0.0.1:${server.port}.evil.test`,
    ];
    for (const origin of others) {
      expect(await statusFrom(origin), origin).toBe(403);
      expect(await statusFrom(origin, 'POST'), origin).toBe(403);
    }
  });
});

describe('listening', () => {
  test('routes that cannot be loaded end the request, and the next one tries again', async () => {
    const errors: unknown[] = [];
    const good = statusSource(new Core(), shows({}));
    let tries = 0;
    const server = await startHttp({
      ...{ host: '127.0.0.1', port: 0, allowedHosts: [], token: TOKEN, fixedToken: null },
      source: async () => {
        if (++tries === 1) throw new Error('files are gone');
        return good;
      },
      onError: (error) => errors.push(error),
    });
    onTestFinished(() => server.close());

    const first = await ask(server, '/api/v1/state').catch((error) => error);
    const second = await ask(server, '/api/v1/state');

    expect(first).toBeInstanceOf(Error);
    expect(errors).toEqual([new Error('files are gone')]);
    expect(second.status).toBe(200);
  });

  test('a server that is closed while it answers finishes that answer', async () => {
    let closed: Promise<void> | null = null;
    const issue = async () => {
      closed = server.close();
      return { issue_identifier: 'AB-1' } as never;
    };
    const server = await start({ source: { issue } });

    expect((await ask(server, '/api/v1/AB-1')).json).toEqual({ issue_identifier: 'AB-1' });
    await closed;
  });

  test.each(['0.0.0.0', '::', '192.168.1.1', 'example.com', '128.0.0.1', '', '::ffff:10.0.0.1'])(
    'on %j is refused without a token',
    async (host) => {
      await expect(start({ host })).rejects.toMatchObject({
        code: 'invalid_workflow_config',
        message: expect.stringMatching(/server\.host is .*server\.token.*127\.0\.0\.1/),
      });
    },
  );

  const OWN = ['localhost', '127.0.0.1', ...(process.platform === 'linux' ? ['127.0.0.2'] : [])];

  test.each(OWN)('on %s works and returns the address', async (host) => {
    const server = await start({ host });

    expect(server.port).toBeGreaterThan(0);
    expect(server.url).toMatch(new RegExp(`^http://(?:127\\.0\\.0\\.\\d|\\[::1\\]):${server.port}$`));
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  });

  test('on a port in use fails with the port and an action', async () => {
    const { port } = await start();

    await expect(start({ port })).rejects.toMatchObject({
      code: 'port_in_use',
      message: expect.stringMatching(new RegExp(`^Port ${port} of 127\\.0\\.0\\.1 is in use.*--port 0`)),
    });
  });
});
