import { createHmac } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { verifyGithubWebhook } from '../../src/tracker/github/webhook.js';
import { serveWebhooks } from '../../src/tracker/serve-webhooks.js';

const SECRET = 'a-secret-of-sixteen-or-more';
const sign = (body: string, secret = SECRET) => `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
const signed = (body: string) => ({ 'x-hub-signature-256': sign(body) });

async function listening(requestTimeoutMs = 10_000) {
  let valid = 0;
  const refused: string[] = [];
  const server = await serveWebhooks({
    ...{ kind: 'github', host: '127.0.0.1', port: 0, secret: SECRET, verify: verifyGithubWebhook, nowMs: Date.now },
    requestTimeoutMs,
    onValid: () => void valid++,
    onRefused: (reason) => void refused.push(reason),
  });
  onTestFinished(() => server.close());
  const post = (body: string, headers: { readonly [name: string]: string } = {}) =>
    fetch(server.url, { method: 'POST', body, headers }).then(({ status }) => status);
  return { server, post, refused, valid: () => valid };
}

/** A client that writes bytes as it likes; `answer` is all that it ever got. */
function raw(url: string, ...texts: readonly string[]): { readonly socket: Socket; readonly answer: Promise<string> } {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname, () => {
    for (const text of texts) socket.write(text);
  });
  onTestFinished(() => void socket.destroy());
  const answer = new Promise<string>((resolve) => {
    let got = '';
    socket.on('data', (data) => {
      got += data;
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(got));
  });
  return { socket, answer };
}

const HEAD = 'POST /webhooks/github HTTP/1.1\r\nhost: x\r\n';

describe('webhooks that are accepted', () => {
  test('a signed webhook asks for a poll, its repetition does not', async () => {
    const { post, valid, refused } = await listening();
    const body = '{"action":"opened"}';

    const statuses = [
      await post(body, signed(body)),
      await post(body, { ...signed(body), 'x-github-delivery': 'another' }),
      await post(body, { 'x-hub-signature-256': sign(body).toUpperCase().replace('SHA256=', 'sha256=') }),
      await post(`${body} `, signed(`${body} `)),
    ];

    // Linear takes nothing but 200 for a yes.
    expect(statuses).toEqual([200, 409, 409, 200]);
    expect(valid()).toBe(2);
    expect(refused).toEqual(Array(2).fill('it was received before'));
  });

  test('the signature covers the bytes of the body', async () => {
    const { server, valid } = await listening();
    const body = Buffer.from([0x7b, 0xff, 0xfe, 0x00, 0x7d]);
    const hex = createHmac('sha256', SECRET).update(body).digest('hex');
    const headers = { 'x-hub-signature-256': `sha256=${hex}` };

    const { status } = await fetch(server.url, { method: 'POST', body, headers });

    expect([status, valid()]).toEqual([200, 1]);
  });

  test.each([
    ['none', {}, 400],
    ['of another secret', { 'x-hub-signature-256': sign('{}', 'another-secret-of-someone') }, 401],
    ['of another body', { 'x-hub-signature-256': sign('{ }') }, 401],
    ['too short', { 'x-hub-signature-256': 'sha256=abc' }, 401],
    ['too long', { 'x-hub-signature-256': `${sign('{}')}00` }, 401],
    ['no hex', { 'x-hub-signature-256': `sha256=${'z'.repeat(64)}` }, 401],
    ['without its prefix', { 'x-hub-signature-256': sign('{}').slice(7) }, 400],
    ['the old SHA-1', { 'x-hub-signature': 'sha1=abc' }, 400],
    ["Linear's", { 'linear-signature': sign('{}').slice(7) }, 400],
  ])('a signature that is %s is refused', async (_, headers, expected) => {
    const { post, valid, refused } = await listening();

    const status = await post('{}', headers as { [name: string]: string });

    expect([status, valid()]).toEqual([expected, 0]);
    expect(refused).toHaveLength(1);
  });

  test('two signatures are refused', async () => {
    const { server, valid } = await listening();
    const twice = `x-hub-signature-256: ${sign('{}')}\r\n`.repeat(2);

    const { answer } = raw(server.url, `${HEAD}${twice}content-length: 2\r\n\r\n{}`);

    expect(await answer).toMatch(/^HTTP\/1.1 401/);
    expect(valid()).toBe(0);
  });
});

describe('requests that are served', () => {
  test.each(['/', '/api/v1/state', '/metrics', '/webhooks', '/webhooks/', '/webhooks/linear', '/webhooks/github/'])(
    'nothing at %s, whatever the method',
    async (path) => {
      const { server, refused } = await listening();
      const url = `${new URL(server.url).origin}${path}`;

      const statuses = await Promise.all(
        ['GET', 'POST', 'PUT', 'OPTIONS'].map(async (method) => (await fetch(url, { method })).status),
      );

      expect(statuses).toEqual([404, 404, 404, 404]);
      expect(refused).toEqual([]);
    },
  );

  test.each(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'])(
    '%s is not allowed where webhooks go',
    async (method) => {
      const { server } = await listening();

      const { status, headers } = await fetch(server.url, { method });

      expect([status, headers.get('allow')]).toEqual([405, 'POST']);
    },
  );

  test('an answer contains only what is wrong with the request', async () => {
    const { server } = await listening();

    const response = await fetch(server.url, { method: 'POST', body: '{}', headers: { host: 'evil.example' } });

    expect(Object.keys(Object.fromEntries(response.headers)).sort()).toEqual([
      ...['connection', 'content-type', 'date', 'transfer-encoding'],
    ]);
    expect(await response.text()).not.toContain(SECRET);
  });
});

describe('hostile senders', () => {
  test.each([
    ['by its length', `${HEAD}content-length: 999999999\r\n\r\n{`],
    ['while it comes', `${HEAD}transfer-encoding: chunked\r\n\r\n${`10000\r\n${'x'.repeat(65_536)}\r\n`.repeat(33)}`],
  ])('a body that is too large is refused %s', async (_how, text) => {
    const { server, valid } = await listening();

    const { answer } = raw(server.url, text);

    expect(await answer).toMatch(/^HTTP\/1.1 413/);
    expect(valid()).toBe(0);
  });

  test.each([
    ['says nothing', []],
    ['stops in its headers', [HEAD]],
    ['stops in its body', [`${HEAD}content-length: 10\r\n\r\nabc`]],
  ])('a sender that %s is disconnected', async (_what, texts) => {
    const { server, valid, refused } = await listening(200);

    const { answer } = raw(server.url, ...texts);

    expect(await answer).toMatch(/^HTTP\/1.1 408/);
    expect([valid(), refused]).toEqual([0, []]);
  });

  test('the number of idle connections is bounded, and a later webhook is accepted', async () => {
    const { server, post, valid } = await listening();
    const crowd = Array.from({ length: 60 }, () => raw(server.url));
    const isIn = () => crowd.filter(({ socket }) => !socket.destroyed);

    await expect.poll(() => isIn().length).toBe(25);
    for (const { socket } of isIn()) socket.destroy();

    await expect.poll(() => post('{}', signed('{}')).catch(() => 0)).toBe(200);
    expect(valid()).toBe(1);
  });

  test('an open request does not delay closing', async () => {
    const { server, valid } = await listening();
    const { socket, answer } = raw(server.url, `${HEAD}content-length: 10\r\n\r\nabc`);
    const idle = raw(server.url);
    await Promise.all([socket, idle.socket].map((one) => new Promise((resolve) => one.once('connect', resolve))));

    await server.close();

    expect([await answer, await idle.answer, valid()]).toEqual(['', '', 0]);
  });
});

test('a port that is taken says which setting to change', async () => {
  const { server } = await listening();
  const port = Number(new URL(server.url).port);
  const again = serveWebhooks({
    ...{ kind: 'github', host: '127.0.0.1', port, secret: SECRET, verify: verifyGithubWebhook, nowMs: Date.now },
    onValid: () => {},
    onRefused: () => {},
  });

  await expect(again).rejects.toMatchObject({ code: 'port_in_use', message: expect.stringContaining('webhooks.port') });
});
