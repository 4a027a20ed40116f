import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createClock } from '../../src/clock.js';
import { postNotice } from '../../src/notify/post-notice.js';
import { receiver, silent } from './receiver.js';
import { RingingClock } from './ringing-clock.js';

const BODY = '{"text":"hällo"}';

function send(url: string, signal = new AbortController().signal, clock = new RingingClock()) {
  return postNotice({ url, body: BODY, userAgent: 'baton/1.2.3', clock, signal });
}

describe('a notice over HTTP', () => {
  test('is a POST of JSON, and any 2xx is a success', async () => {
    const { url, received } = await receiver(204);

    const sent = await send(url);

    expect(sent).toEqual({ ok: true, detail: 'HTTP 204' });
    expect(received).toMatchObject([{ method: 'POST', json: { text: 'hällo' } }]);
    expect(received[0]?.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(BODY)),
      'user-agent': 'baton/1.2.3',
    });
  });

  test.each([
    [500, false],
    [503, false],
    [408, false],
    [429, false],
    [400, true],
    [404, true],
    [410, true],
  ])('HTTP %i is a failure, final: %s', async (status, isFinal) => {
    const { url } = await receiver(status);

    expect(await send(url)).toMatchObject({ ok: false, code: `http_${status}`, isFinal });
  });

  test('a redirect is not followed', async () => {
    const elsewhere = await receiver(200);
    const moved = await receiver((response) => response.writeHead(307, { Location: elsewhere.url }).end());

    expect(await send(moved.url)).toMatchObject({ ok: false, code: 'http_307', isFinal: true });
    expect(elsewhere.received).toEqual([]);
  });

  test.each([
    ['7', 7_000],
    [new Date(Date.UTC(2026, 0, 1, 0, 0, 30)).toUTCString(), 30_000],
    [new Date(Date.UTC(2020, 0, 1)).toUTCString(), null],
    ['soon', null],
  ])('Retry-After %s is respected', async (header, retryAfterMs) => {
    const { url } = await receiver((response) => response.writeHead(503, { 'Retry-After': header }).end());

    expect(await send(url)).toMatchObject({ code: 'http_503', retryAfterMs });
  });

  test('an endless response is cut, and its status counts', async () => {
    let written = 0;
    const chunk = Buffer.alloc(64 * 1024);
    const { url } = await receiver((response) => {
      const pour = () => {
        while (!response.destroyed && written < 1_000_000_000) {
          written += chunk.length;
          if (!response.write(chunk)) return void response.once('drain', pour);
        }
      };
      pour();
    });

    expect(await send(url)).toEqual({ ok: true, detail: 'HTTP 200' });
    expect(written).toBeLessThan(100_000_000);
  });

  test('a response whose body never ends counts as delivered', async () => {
    const clock = new RingingClock();
    const { url } = await receiver((response) => void response.writeHead(200, { 'Content-Length': '5' }).write('x'));

    const sent = send(url, undefined, clock);
    await clock.ring(2_000);

    expect(await sent).toEqual({ ok: true, detail: 'HTTP 200' });
  });

  test('a connection that closes without an answer is a failure', async () => {
    const { url } = await receiver((response) => void response.socket?.destroy());

    expect(await send(url)).toMatchObject({ ok: false, isFinal: false });
  });

  test('a response that is not HTTP is a failure', async () => {
    const server = createServer((socket) => void socket.end('SSH-2.0-nonsense\r\n'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();

    const sent = await send(`http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/canary-secret`);
    server.close();

    expect(sent).toMatchObject({ ok: false });
    expect(JSON.stringify(sent)).not.toContain('canary');
  });

  test('a receiver that cannot be reached is reported by its code, without the address', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    await new Promise((resolve) => server.close(resolve));

    const sent = await send(`http://user:canary-secret@127.0.0.1:${port}/canary-secret`);

    expect(sent).toMatchObject({ ok: false, code: 'ECONNREFUSED', isFinal: false });
    expect(JSON.stringify(sent)).not.toMatch(/canary|127/);
  });

  test.each([
    'file:///etc/passwd',
    'ftp://x.example/',
    'hooks.example/canary-secret',
    '',
    'http://',
    'http://x:99999/',
  ])('no request is sent to %j', async (url) => {
    const sent = await send(url);

    expect(sent).toMatchObject({ ok: false, code: 'bad_url', isFinal: true });
    expect(JSON.stringify(sent)).not.toContain('canary');
  });

  test('a silent receiver is given up when the signal is aborted', async () => {
    const given = new AbortController();
    const { url, until } = await receiver(silent);

    const sent = send(url, given.signal);
    await until(1);
    given.abort();

    expect(await sent).toMatchObject({ ok: false, code: 'cancelled' });
    expect(await send(url, given.signal)).toMatchObject({ ok: false, code: 'cancelled' });
  });

  test('a finished request does not keep the process alive', async () => {
    const { url } = await receiver(200);
    const clock = createClock();
    const before = process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;

    await postNotice({ url, body: BODY, userAgent: 'x', clock, signal: new AbortController().signal });
    clock.close();

    const own = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
    await expect.poll(own).toBeLessThanOrEqual(before);
  });
});
