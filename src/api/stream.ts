import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { diffStates } from './patch.js';
import type { StateView } from './schemas.js';
import { type LiveTimeline, TimelineTeller } from './timeline.js';

export interface FeedOptions {
  snapshot(): StateView;
  /** Of the run that an issue has now or had last; `null`: none of this daemon. */
  timeline(identifier: string): LiveTimeline | null;
  clean(json: string): string;
  readonly limits?: Partial<FeedLimits>;
}

export interface FeedLimits {
  /** Between two looks at the state: however much happens, readers are told so often. */
  readonly tickMs: number;
  /** A look this long ago is good enough for one more reader: many who come at once must not cost a look each. */
  readonly freshMs: number;
  readonly pingMs: number;
  /** After the last reader has left, for one that comes back. */
  readonly lingerMs: number;
  /** Over the port, and as many over the socket. */
  readonly clients: number;
}

const LIMITS: FeedLimits = { tickMs: 400, freshMs: 50, pingMs: 15_000, lingerMs: 60_000, clients: 50 };
const KEPT_EVENTS = 300;
const KEPT_BYTES = 8_000_000;

export interface JoinOptions {
  /** Whose timeline is wanted besides; `null`: nobody's. */
  readonly issue: string | null;
  readonly lastEventId: string | null;
  readonly isOwner: boolean;
}

interface Reader extends Pick<JoinOptions, 'issue' | 'isOwner'> {
  readonly client: StreamClient;
  readonly teller: TimelineTeller;
}

/**
 * What readers of the stream are told: the whole state once, then what has changed, in patches that everybody shares. A reader that comes
 * back with the id of its last event gets the patches since; where those are gone, the state again. Nobody there: nothing is computed.
 */
export class Feed {
  readonly #options: FeedOptions;
  readonly #limits: FeedLimits;
  #instance = newInstance();
  readonly #readers = new Set<Reader>();
  #view: StateView | null = null;
  /** It as a text, once somebody wanted it. */
  #text: string | null = null;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #seq = 0;
  #events: StreamEvent[] = [];
  #bytes = 0;
  #tick: NodeJS.Timeout | null = null;
  #ping: NodeJS.Timeout | null = null;
  #linger: NodeJS.Timeout | null = null;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
  }

  /** Those who come over the port leave room for the commands of the daemon's own user. */
  isFull(isOwner: boolean): boolean {
    const readers = [...this.#readers].filter((reader) => reader.isOwner === isOwner);
    return readers.length >= this.#limits.clients;
  }

  join(client: StreamClient, { issue, lastEventId, isOwner }: JoinOptions): void {
    const reader: Reader = { client, issue, isOwner, teller: new TimelineTeller() };
    // Who is there already is told as well: nobody may miss what this look has found.
    if (performance.now() - this.#lookedAtMs > this.#limits.freshMs) this.#publish();
    const timeline = this.#timelineEvent(reader, new Map());
    client.begin([...(this.#missed(lastEventId) ?? [this.#whole()]), ...timeline]);
    this.#readers.add(reader);
    client.onClose(() => this.#leave(reader));
    if (this.#linger) clearTimeout(this.#linger);
    this.#linger = null;
    this.#tick ??= this.#tickSoon();
    this.#ping ??= setInterval(() => this.#pingAll(), this.#limits.pingMs).unref();
  }

  close(): void {
    for (const { client } of this.#readers) client.end();
    this.#readers.clear();
    this.#rest();
  }

  /** A look that takes long, on a large board, is taken less often: readers must not cost the others more than a tenth of the time. */
  #tickSoon(tookMs = 0): NodeJS.Timeout {
    return setTimeout(() => this.#round(), Math.max(this.#limits.tickMs, tookMs * 10)).unref();
  }

  #round(): void {
    const beganMs = performance.now();
    this.#publish();
    const timelines: Timelines = new Map();
    for (const reader of this.#readers)
      for (const event of this.#timelineEvent(reader, timelines)) reader.client.send(event);
    this.#tick = this.#tickSoon(performance.now() - beganMs);
  }

  /** Looks at the state. What has become of it is one event more, for everybody. */
  #publish(): void {
    this.#lookedAtMs = performance.now();
    const next = this.#options.snapshot();
    const patch = this.#view && diffStates(this.#view, next);
    if (this.#view && !patch) return;
    this.#view = next;
    this.#text = null;
    if (!patch) return;
    this.#seq += 1;
    const event = { event: 'patch', id: this.#id(), json: this.#options.clean(JSON.stringify(patch)) };
    this.#remember(event);
    for (const { client } of this.#readers) client.send(event);
  }

  #remember(event: StreamEvent): void {
    this.#events.push(event);
    this.#bytes += event.json.length;
    while (this.#events.length > 1 && (this.#events.length > KEPT_EVENTS || this.#bytes > KEPT_BYTES))
      this.#bytes -= this.#events.shift()?.json.length ?? 0;
  }

  /** The events after that one; `null`: not all of them are there any more. */
  #missed(lastEventId: string | null): readonly StreamEvent[] | null {
    const [, instance, seq] = /^([0-9a-f]{8})-(\d{1,15})$/.exec(lastEventId ?? '') ?? [];
    const missed = this.#seq - Number(seq);
    if (instance !== this.#instance || !(missed >= 0) || missed > this.#events.length) return null;
    return missed === 0 ? [] : this.#events.slice(-missed);
  }

  #whole(): StreamEvent {
    this.#text ??= this.#options.clean(JSON.stringify(this.#view));
    return { event: 'state', id: this.#id(), json: this.#text };
  }

  #id(): string {
    return `${this.#instance}-${this.#seq}`;
  }

  /** `known`: what was looked up for another reader in this round. */
  #timelineEvent({ issue, teller }: Reader, known: Timelines): StreamEvent[] {
    if (issue === null) return [];
    const found = known.get(issue) ?? { timeline: this.#options.timeline(issue) };
    known.set(issue, found);
    const news = teller.news(found.timeline);
    return news ? [{ event: 'timeline', id: null, json: this.#options.clean(JSON.stringify(news)) }] : [];
  }

  #pingAll(): void {
    for (const { client } of this.#readers) client.ping();
  }

  #leave(reader: Reader): void {
    this.#readers.delete(reader);
    if (this.#readers.size > 0) return;
    this.#linger ??= setTimeout(() => this.#rest(), this.#limits.lingerMs).unref();
  }

  #rest(): void {
    if (this.#ping) clearInterval(this.#ping);
    for (const timer of [this.#tick, this.#linger]) if (timer) clearTimeout(timer);
    this.#tick = this.#ping = this.#linger = null;
    this.#view = null;
    this.#text = null;
    this.#lookedAtMs = Number.NEGATIVE_INFINITY;
    // What happens from here on is in no event: ids of before lead nowhere.
    this.#instance = newInstance();
    this.#events = [];
    this.#bytes = 0;
  }
}

type Timelines = Map<string, { readonly timeline: LiveTimeline | null }>;

function newInstance(): string {
  return randomBytes(4).toString('hex');
}

/** Who does not read is dropped: it comes back and is told what it has missed. */
const MAX_WAITING_BYTES = 4_000_000;

export interface StreamEvent {
  readonly event: string;
  /** `null`: nobody can ask for what came after it. */
  readonly id: string | null;
  /** JSON text on one line. */
  readonly json: string;
}

/** One reader of the stream: server-sent events over a response that stays open. */
export class StreamClient {
  readonly #response: ServerResponse;
  /** What a reader begins with may be large: it is not behind because it has not read that yet. */
  #allowance = 0;

  constructor(response: ServerResponse) {
    this.#response = response;
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      // A proxy that collects the answer would show nothing until it ends.
      'x-accel-buffering': 'no',
    });
    response.write('retry: 2000\n\n');
  }

  onClose(listener: () => void): void {
    this.#response.once('close', listener);
  }

  /** What everybody is told first. */
  begin(events: readonly StreamEvent[]): void {
    this.#allowance = Number.POSITIVE_INFINITY;
    for (const event of events) this.send(event);
    this.#allowance = this.#response.writableLength;
  }

  send({ event, id, json }: StreamEvent): void {
    this.#write(`event: ${event}\n${id === null ? '' : `id: ${id}\n`}data: ${json}\n\n`);
  }

  ping(): void {
    this.#write(': ping\n\n');
  }

  /** In order: what was sent before arrives. */
  end(): void {
    this.#response.end();
  }

  #write(text: string): void {
    if (this.#response.destroyed || this.#response.writableEnded) return;
    if (this.#response.writableLength > MAX_WAITING_BYTES + this.#allowance) this.#response.destroy();
    else this.#response.write(text);
  }
}

/** How long a text is good for others who ask. */
const FRESH_MS = 250;

/**
 * A text that is expensive to make, made once for all who ask for it within a moment. Whatever a person would miss in it makes it stale at
 * once: who has just paused wants to see that.
 */
export class SharedText {
  readonly #make: () => string;
  #text: string | null = null;
  #madeAtMs = 0;

  constructor(make: () => string) {
    this.#make = make;
  }

  get(): string {
    if (this.#text !== null && performance.now() - this.#madeAtMs < FRESH_MS) return this.#text;
    const text = this.#make();
    this.#text = text;
    this.#madeAtMs = performance.now();
    return text;
  }

  stale(): void {
    this.#text = null;
  }
}
