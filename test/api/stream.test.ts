import { createServer, get, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { LiveTimeline } from '../../src/api/activity.js';
import { applyPatch } from '../../src/api/patch.js';
import { answerRequestShape, type StateView } from '../../src/api/schemas.js';
import { SseParser } from '../../src/api/sse-parser.js';
import { SharedText, StateStream, StreamClient, type StreamOptions } from '../../src/api/stream.js';
import { Core } from '../support/core.js';
import { viewOf } from '../support/status-samples.js';

interface Heard {
  readonly event: string;
  readonly id: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: what arrives has no type.
  readonly data: any;
}

/** One reader over a real connection. */
class Reader {
  readonly heard: Heard[] = [];
  readonly closed: Promise<void>;
  #response: IncomingMessage | null = null;
  #wake: () => void = () => {};

  constructor(url: string, lastEventId: string | null = null) {
    this.closed = new Promise((resolve) => {
      const headers = lastEventId === null ? {} : { 'last-event-id': lastEventId };
      get(url, { headers, agent: false }, (response) => {
        this.#response = response;
        const parser = new SseParser();
        response.setEncoding('utf8').on('data', (chunk: string) => {
          for (const { event, id, data } of parser.push(chunk)) this.heard.push({ event, id, data: JSON.parse(data) });
          this.#wake();
        });
        response.on('close', () => resolve());
      }).on('error', () => resolve());
    });
  }

  /** The first event, past or future, that is as wanted. */
  async hears(wants: (heard: Heard) => boolean): Promise<Heard> {
    for (;;) {
      const found = this.heard.find(wants);
      if (found) return found;
      await this.next();
    }
  }

  /** Whatever comes next. */
  next(): Promise<void> {
    return new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }

  leave(): Promise<void> {
    this.#response?.destroy();
    return this.closed;
  }

  /** The state as this reader knows it now. */
  get view(): StateView {
    return this.heard.reduce<StateView>(
      (view, { event, data }) => (event === 'state' ? data : event === 'patch' ? applyPatch(view, data) : view),
      null as never,
    );
  }
}

async function feedOf(core: Core, options: Partial<StreamOptions> = {}) {
  const looks = { count: 0 };
  const feed = new StateStream({
    snapshot: () => {
      looks.count += 1;
      return viewOf(core);
    },
    timeline: () => null,
    clean: (json) => json,
    ...options,
    limits: { tickMs: 5, ...options.limits },
  });
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://x');
    const lastEventId = request.headers['last-event-id'];
    feed.join(new StreamClient(response), {
      issue: url.searchParams.get('issue'),
      lastEventId: typeof lastEventId === 'string' ? lastEventId : null,
      isOwner: url.searchParams.has('owner'),
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => {
    feed.close();
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    feed,
    looks,
    url,
    read: (path = '', id: string | null = null) => new Reader(`${url}${path}`, id),
  };
}

const isPatch = ({ event }: Heard) => event === 'patch';

describe('the stream', () => {
  test('sends the whole state first, then the same patches to every reader', async () => {
    const core = new Core().put('A');
    const { read } = await feedOf(core);
    const [one, two] = [read(), read()];
    const first = await one.hears(({ event }) => event === 'state');
    await two.hears(({ event }) => event === 'state');

    core.poll();
    await Promise.all([one.hears(isPatch), two.hears(isPatch)]);

    expect(first.data.counts.running).toBe(0);
    expect([one.view.counts.running, two.view.counts.running]).toEqual([1, 1]);
    expect(one.view).toEqual({ ...viewOf(core), generated_at: one.view.generated_at });
    expect(one.heard.filter(isPatch)).toEqual(two.heard.filter(isPatch));
  });

  test('a snapshot for a new reader is also sent to the others: no reader misses a patch', async () => {
    const core = new Core().put('A', 'B');
    const { read } = await feedOf(core, { limits: { tickMs: 60_000, freshMs: -1 } });
    const first = read();
    await first.hears(({ event }) => event === 'state');
    core.poll();

    const second = read();
    await second.hears(({ event }) => event === 'state');
    await first.hears(isPatch);

    expect(first.view).toEqual(second.view);
    expect(first.view.counts.running).toBe(2);
  });

  test('begins with whatever the state weighs, also with a timeline', async () => {
    const core = new Core();
    const heavy = () => ({ ...viewOf(core), why_idle: 'x'.repeat(6_000_000) });
    const entry = { at: null, kind: 'agent', text: 't', detail: null } as const;
    const timeline = { run_id: 'r', live: true, truncated: false, entries: [entry], plan: [], diff: null };
    const { read } = await feedOf(core, { snapshot: heavy, timeline: () => ({ timeline, entryCount: 1 }) });

    const reader = read('?issue=A');
    await reader.hears(({ event }) => event === 'timeline');

    expect(reader.view.why_idle).toHaveLength(6_000_000);
  });

  test('resumes: a reader that returns gets exactly the events it missed', async () => {
    const core = new Core().put('A', 'B');
    const { read } = await feedOf(core);
    const stays = read();
    const leaves = read();
    const { id } = await leaves.hears(({ event }) => event === 'state');
    await leaves.leave();
    core.poll();
    await stays.hears(isPatch);

    const back = read('', id);
    await back.hears(isPatch);

    expect(back.heard.map(({ event }) => event)).toEqual(['patch']);
    expect(applyPatch(leaves.view, back.heard[0]?.data).counts.running).toBe(2);
  });

  test('starts again for an unknown id, of another daemon or of long ago', async () => {
    const core = new Core().put('A');
    const { read } = await feedOf(core);

    for (const id of ['deadbeef-0', 'deadbeef-7', 'x', '', '1', '__proto__', `${'9'.repeat(400)}`]) {
      const reader = read('', id);
      await reader.hears(({ event }) => event === 'state');
      expect(reader.heard[0]?.event).toBe('state');
    }
  });

  test('computes nothing without readers, and old ids become invalid', async () => {
    const core = new Core().put('A');
    const { read, looks, feed } = await feedOf(core, { limits: { tickMs: 5, lingerMs: 0 } });
    const first = read();
    const { id } = await first.hears(({ event }) => event === 'state');

    await first.leave();
    feed.close();
    const before = looks.count;
    core.poll();
    const idle = looks.count;
    const again = read('', id);
    await again.hears(({ event }) => event === 'state');

    expect(idle).toBe(before);
    expect(again.view.counts.running).toBe(1);
  });

  test('sends the timeline of one issue: new entries only, and all entries when another run starts', async () => {
    const core = new Core();
    const entry = (text: string) => ({ at: null, kind: 'agent', text, detail: null }) as const;
    const live = (runId: string, ...texts: string[]): LiveTimeline => ({
      timeline: { run_id: runId, live: true, truncated: false, entries: texts.map(entry), plan: [], diff: null },
      entryCount: texts.length,
    });
    let now = live('r1', 'a');
    const { read } = await feedOf(core, { timeline: (name) => (name === 'A' ? now : null) });
    const [reader, other] = [read('?issue=A'), read()];
    await reader.hears(({ event }) => event === 'timeline');

    now = live('r1', 'a', 'b', 'c');
    await reader.hears(({ data }) => data.entries?.length === 2);
    now = live('r2', 'd');
    await reader.hears(({ data }) => data.run_id === 'r2');

    const told = reader.heard.filter(({ event }) => event === 'timeline');
    expect(told.map(({ data }) => [data.reset, data.entries.map(({ text }: { text: string }) => text)])).toEqual([
      [true, ['a']],
      [false, ['b', 'c']],
      [true, ['d']],
    ]);
    expect(other.heard.map(({ event }) => event)).not.toContain('timeline');
  });

  test('SEC-20 every event goes through `clean`', async () => {
    const core = new Core().put({ id: 'A', title: 'hunter2' });
    const { read } = await feedOf(core, { clean: (json) => json.replaceAll('hunter2', '***') });
    const reader = read();
    await reader.hears(({ event }) => event === 'state');

    core.poll();
    await reader.hears(isPatch);

    expect(JSON.stringify(reader.heard)).not.toContain('hunter2');
    expect(reader.view.running[0]?.title).toBe('***');
  });

  test('SEC-24 a reader that does not read is dropped, and the others go on', async () => {
    const core = new Core().put('A');
    let round = 0;
    const big = () => ({ ...viewOf(core), why_idle: `${round++} ${'x'.repeat(1_000_000)}` });
    const { read, url } = await feedOf(core, { snapshot: big, limits: { tickMs: 60 } });
    const deaf = connect(Number(new URL(url).port), '127.0.0.1');
    deaf.pause();
    deaf.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const gone = new Promise((resolve) => deaf.once('close', resolve));
    const other = read();
    await other.hears(({ event }) => event === 'state');

    while (other.heard.length < 30) await other.next();
    deaf.resume();
    await gone;
    const told = other.heard.length;
    while (other.heard.length === told) await other.next();

    expect(deaf.bytesRead).toBeLessThan(30_000_000);
  });

  test('SEC-24 has room for so many readers, and ends with the daemon', async () => {
    const { read, feed } = await feedOf(new Core(), { limits: { tickMs: 5, clients: 2 } });
    const readers = [read(), read()];
    for (const reader of readers) await reader.hears(({ event }) => event === 'state');

    const isFull = [feed.isFull(false), feed.isFull(true)];
    feed.close();
    await Promise.all(readers.map(({ closed }) => closed));

    // Whoever owns the daemon is not kept out by those who look over the port.
    expect(isFull).toEqual([true, false]);
    expect(feed.isFull(false)).toBe(false);
  });
});

test('requests within a moment share one text, until it becomes stale', () => {
  let made = 0;
  const shared = new SharedText(() => `text ${++made}`);

  const together = [shared.get(), shared.get()];
  shared.stale();
  const after = shared.get();

  expect(together).toEqual(['text 1', 'text 1']);
  expect(after).toBe('text 2');
});

test('SEC-14 a field may be called anything, and is answered under that name', () => {
  const body = JSON.parse('{"values":{"__proto__":"a","constructor":"b"}}');

  const parsed = answerRequestShape.parse(body);

  expect('values' in parsed && Object.entries(parsed.values)).toEqual([
    ['__proto__', 'a'],
    ['constructor', 'b'],
  ]);
  for (const values of [[], null, 'x', { a: 1 }]) expect(answerRequestShape.safeParse({ values }).success).toBe(false);
});
