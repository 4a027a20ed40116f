import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { ApiError, connectDaemon } from '../../../src/cli/client.js';
import { defaultStateDir } from '../../../src/state-dir.js';
import { workflowKey } from '../../../src/workflow/workflow-key.js';
import { type World, world } from '../cli-fixture.js';
import { answering, talking } from './scripted-socket.js';

const greeting = z.strictObject({ hello: z.string() });

async function usualDir(here: World, workflow = 'WORKFLOW.md'): Promise<string> {
  return defaultStateDir(await workflowKey(join(here.dir, workflow)), here.env, here.homeDir);
}

async function failureOf(promise: Promise<unknown>): Promise<ApiError> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ApiError);
  return error as ApiError;
}

describe('the daemon of a workflow', () => {
  test('is found by the path of the workflow, whatever the workflow contains', async () => {
    const here = world();
    here.write('WORKFLOW.md', '---\n: [not yaml\n---\n');
    const stateDir = await usualDir(here);
    await answering(stateDir, (_, response) => response.end('{"hello":"you"}'));

    const client = await connectDaemon({}, here);

    expect(client.stateDir).toBe(stateDir);
    expect(await client.get('/x', greeting)).toEqual({ hello: 'you' });
    client.close();
  });

  test('is found by another workflow, and by its state directory, relative to this folder', async () => {
    const here = world();
    await answering(await usualDir(here, 'sub/OTHER.md'), (_, response) => response.end('{"hello":"other"}'));
    await answering(join(here.dir, 'state'), (_, response) => response.end('{"hello":"state"}'));

    const other = await connectDaemon({ workflow: 'sub/OTHER.md' }, here);
    const named = await connectDaemon({ workflow: 'sub/OTHER.md', stateDir: 'state' }, here);

    expect(await other.get('/x', greeting)).toEqual({ hello: 'other' });
    expect(await named.get('/x', greeting)).toEqual({ hello: 'state' });
    for (const client of [other, named]) client.close();
  });

  test('of another version is checked, and of the same one not', async () => {
    const here = { ...world(), version: '1.2.3' };
    let version = '1.2.3';
    await answering(join(here.dir, 's'), (_, response) =>
      response.setHeader('baton-version', version).end('{"hello":1}'),
    );
    const client = await connectDaemon({ stateDir: 's' }, here);

    const same = await client.get('/x', greeting);
    version = '1.2.4';
    const other = await failureOf(client.get('/x', greeting));

    client.close();
    expect(same).toEqual({ hello: 1 });
    expect(other).toMatchObject({ code: 'bad_answer' });
  });

  test.runIf(process.platform === 'linux')('is found in a folder whose path is too long for a socket', async () => {
    const here = world();
    const stateDir = join(here.dir, 'x'.repeat(150));
    mkdirSync(stateDir);
    const script = `require('http').createServer((_, res) => res.end('{"hello":"far"}')).listen('socket', () => console.log('up'))`;
    const child = spawn(process.execPath, ['-e', script], { cwd: stateDir, stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    await new Promise((resolve) => child.stdout.once('data', resolve));

    const client = await connectDaemon({ stateDir }, here);
    const answer = await client.get('/x', greeting);

    client.close();
    expect(answer).toEqual({ hello: 'far' });
  });

  test.each([
    ['nothing was ever started', () => {}],
    ['there is a state directory and no socket', (dir: string) => void mkdirSync(dir, { recursive: true })],
    [
      'something else lies there',
      (dir: string) => {
        mkdirSync(dir, { recursive: true });
        writeFileSync(join(dir, 'socket'), '');
      },
    ],
    [
      'a killed one left its socket behind',
      (dir: string) => {
        mkdirSync(dir, { recursive: true });
        const script = `require('net').createServer().listen('socket', () => process.kill(process.pid, 'SIGKILL'))`;
        expect(() => execFileSync(process.execPath, ['-e', script], { cwd: dir })).toThrow();
        expect(existsSync(join(dir, 'socket'))).toBe(true);
      },
    ],
  ])('is not running when %s', async (_, prepare) => {
    const here = world();
    const path = here.write('WORKFLOW.md', '');
    const stateDir = await usualDir(here);
    prepare(stateDir);

    await expect(connectDaemon({}, here)).rejects.toMatchObject({
      code: 'daemon_not_running',
      message: `no daemon is running for ${path} with the state directory ${stateDir}. To start one: baton; if it runs with another --state-dir, name it`,
    });
  });

  test('that is not running is reported with the command that starts it', async () => {
    const here = world();
    here.write("it's mine.md", '');

    await expect(connectDaemon({ workflow: "it's mine.md" }, here)).rejects.toThrow(
      /To start one: baton 'it'\\''s mine\.md';/,
    );
    await expect(connectDaemon({ stateDir: 'there' }, here)).rejects.toThrow(
      `no daemon is running with the state directory ${join(here.dir, 'there')}. To start one: baton --state-dir there`,
    );
    await expect(connectDaemon({}, here)).rejects.toThrow(
      /there is no .*WORKFLOW\.md, and no daemon is running for it\. Name the workflow/,
    );
  });

  test('that ends after it was found is reported as not running', async () => {
    const here = world();
    const server = await answering(join(here.dir, 's'), (_, response) => response.end('{}'));
    const client = await connectDaemon({ stateDir: 's' }, here);
    await new Promise((resolve) => server.close(resolve));

    await expect(client.get('/x', greeting)).rejects.toMatchObject({ code: 'daemon_not_running' });
    await expect(client.events('/e')[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: 'daemon_not_running',
    });
    client.close();
  });
});

describe('a request to the daemon', () => {
  test('is sent with its method and path, and a change as JSON', async () => {
    const here = world();
    const asked: string[] = [];
    await answering(join(here.dir, 's'), async (request, response) => {
      const { method, url, headers } = request;
      asked.push(`${method} ${url} ${headers['content-type'] ?? '-'} ${await textOf(request)}`);
      response.end('{"hello":"you"}');
    });
    const client = await connectDaemon({ stateDir: 's' }, here);

    await client.get('/api/v1/A%2F..%2FB?run=1', greeting);
    await client.post('/api/v1/refresh', { text: 'ä' }, greeting);
    await client.post('/api/v1/refresh', undefined, greeting);

    client.close();
    expect(asked).toEqual([
      'GET /api/v1/A%2F..%2FB?run=1 - ',
      'POST /api/v1/refresh application/json {"text":"ä"}',
      'POST /api/v1/refresh application/json {}',
    ]);
  });

  test('that is refused throws the reason of the daemon', async () => {
    const here = world();
    await answering(join(here.dir, 's'), (_, response) => {
      response.writeHead(404).end('{"error":{"code":"not_found","message":"no such issue"}}');
    });
    const client = await connectDaemon({ stateDir: 's' }, here);

    const wanted = { status: 404, code: 'not_found', message: 'no such issue' };
    expect(await failureOf(client.get('/x', greeting))).toMatchObject(wanted);
    expect(await failureOf(client.text('/x'))).toMatchObject(wanted);
    expect(await failureOf(client.events('/x')[Symbol.asyncIterator]().next())).toMatchObject(wanted);
    client.close();
  });

  test.each<[string, string | Buffer, RegExp]>([
    ['no JSON', 'hello', /not JSON/],
    ['other JSON', '{"hello":5}', /does not understand the answer of the daemon: hello: /],
    ['more than was agreed', '{"hello":"you","and":1}', /does not understand/],
    ['bytes that are no UTF-8', Buffer.from('7b2268656c6c6f223a22ff227d', 'hex'), /UTF-8/],
    ['too much', Buffer.alloc(2_000, 32), /more than 1000 bytes/],
  ])('that is answered with %s fails with that reason', async (_, body, message) => {
    const here = world();
    await answering(join(here.dir, 's'), (_request, response) => response.end(body));
    const client = await connectDaemon({ stateDir: 's' }, here, { bodyBytes: 1_000 });

    expect(await failureOf(client.get('/x', greeting))).toMatchObject({
      status: 0,
      code: 'bad_answer',
      message: expect.stringMatching(message),
    });
    client.close();
  });

  test('that is answered with another error reports the status', async () => {
    const here = world();
    await answering(join(here.dir, 's'), (_, response) => response.writeHead(502).end('<html>'));
    const client = await connectDaemon({ stateDir: 's' }, here);

    expect(await failureOf(client.get('/x', greeting))).toMatchObject({
      code: 'bad_answer',
      message: expect.stringContaining('502'),
    });
    client.close();
  });

  test('to a server that does not speak HTTP fails with that reason', async () => {
    const here = world();
    await talking(join(here.dir, 's'), (socket) => socket.end('220 hello\r\n'));
    const client = await connectDaemon({ stateDir: 's' }, here);

    expect(await failureOf(client.get('/x', greeting))).toMatchObject({ code: 'bad_answer' });
    client.close();
  });

  test.each<[string, string]>([
    ['says nothing', ''],
    ['begins and stops', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{'],
    ['drips headers', 'HTTP/1.1 200 OK\r\nx: '],
  ])('to a daemon that %s fails after the timeout', async (_, words) => {
    const here = world();
    await talking(join(here.dir, 's'), (socket) => void socket.write(words));
    const client = await connectDaemon({ stateDir: 's' }, here, { bodyMs: 50 });

    expect(await failureOf(client.post('/x', {}, greeting, 50))).toMatchObject({
      code: 'no_answer',
      message: expect.stringContaining('0.05 s'),
    });
    client.close();
  });

  test.each<[string, string, RegExp]>([
    ['before its answer', '', /without an answer/],
    ['in the middle of it', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{', /in the middle of its answer/],
  ])('to a daemon that dies %s fails at once', async (_, words, message) => {
    const here = world();
    await talking(join(here.dir, 's'), (socket) => socket.once('data', () => socket.end(words)));
    const client = await connectDaemon({ stateDir: 's' }, here);

    expect(await failureOf(client.get('/x', greeting))).toMatchObject({
      code: 'no_answer',
      message: expect.stringMatching(message),
    });
    client.close();
  });

  test('that is pending ends when the client is closed', async () => {
    const here = world();
    await talking(join(here.dir, 's'), () => {});
    const client = await connectDaemon({ stateDir: 's' }, here);
    const answer = failureOf(client.get('/x', greeting));
    const stream = failureOf(client.events('/x')[Symbol.asyncIterator]().next());

    client.close();

    expect((await answer).message).toBe('the connection was closed');
    expect((await stream).message).toBe('the connection was closed');
    expect((await failureOf(client.get('/x', greeting))).message).toBe('the connection was closed');
  });
});

describe('a stream of the daemon', () => {
  const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n';

  async function streaming(words: (string | Buffer)[], end: 'end' | 'stay' | 'destroy' = 'end', limits = {}) {
    const here = world();
    const asked: string[] = [];
    await talking(join(here.dir, 's'), (socket) =>
      socket.once('data', async (request) => {
        asked.push(String(request));
        for (const word of [HEAD, ...words]) {
          socket.write(word);
          await turn();
        }
        if (end === 'end') socket.end();
        if (end === 'destroy') socket.destroy();
      }),
    );
    return { client: await connectDaemon({ stateDir: 's' }, here, limits), asked };
  }

  async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
    const found: T[] = [];
    for await (const one of stream) found.push(one);
    return found;
  }

  test('is passed on event by event, and ends with the daemon', async () => {
    const { client, asked } = await streaming([
      'event: state\nid: 1\ndata: {"a"',
      ':1}\n\n: ping\n\n',
      'event: patch\nid: 2\ndata: [2]\n\n',
    ]);

    const events = await all(client.events('/api/v1/events', '0'));

    client.close();
    expect(events).toEqual([
      { event: 'state', id: '1', data: { a: 1 } },
      { event: 'patch', id: '2', data: [2] },
    ]);
    expect(asked[0]).toMatch(/last-event-id: 0\r\n/i);
  });

  test.each(['end', 'destroy'] as const)(
    'that breaks off in the middle of an event (%s) ends without it',
    async (end) => {
      const { client } = await streaming(['data: 1\n\n', 'data: 2'], end);

      expect(await all(client.events('/e'))).toEqual([{ event: 'message', id: null, data: 1 }]);
      client.close();
    },
  );

  test('that is cut inside a character is decoded correctly', async () => {
    const [head, tail] = [Buffer.from('data: "ä"\n\n').subarray(0, 8), Buffer.from('data: "ä"\n\n').subarray(8)];
    const { client } = await streaming([head, tail]);

    expect(await all(client.events('/e'))).toMatchObject([{ data: 'ä' }]);
    client.close();
  });

  test('that is silent ends after the timeout', async () => {
    const { client } = await streaming(['data: 1\n\n'], 'stay', { silenceMs: 50 });

    // On a slow machine its time may be over before the first event is there.
    expect((await all(client.events('/e'))).length).toBeLessThanOrEqual(1);
    client.close();
  });

  test.each<[string, string | Buffer]>([
    ['no JSON', 'data: hello\n\n'],
    ['no UTF-8', Buffer.from([0x64, 0xff, 0x0a])],
  ])('with %s in it fails with that reason', async (_, words) => {
    const { client } = await streaming([words], 'stay');

    expect(await failureOf(all(client.events('/e')))).toMatchObject({ code: 'bad_answer' });
    client.close();
  });

  test('ends when its client is closed, and when its last listener is gone', async () => {
    const { client } = await streaming(['data: 1\n\n', 'data: 2\n\n'], 'stay');

    for await (const { data } of client.events('/e')) {
      expect(data).toBe(1);
      break;
    }
    const seen: unknown[] = [];
    for await (const { data } of client.events('/e')) {
      seen.push(data);
      client.close();
    }

    expect(seen.at(0)).toBe(1);
  });
});

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk;
  return text;
}
