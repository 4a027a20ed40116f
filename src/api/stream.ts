import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { type LiveTimeline, TimelineFollower } from './activity.js';
import { diffStates } from './patch.js';
import type { StateView } from './schemas.js';

export interface StreamOptions {
  snapshot(): StateView;
  /** Of the current or last run of an issue; `null` when this daemon had none. */
  timeline(identifier: string): LiveTimeline | null;
  clean(json: string): string;
  readonly limits?: Partial<StreamLimits>;
}

export interface StreamLimits {
  /** The time between two snapshots, however much happens. */
  readonly tickMs: number;
  /** A snapshot of this age is shared with a new reader, so that many readers at once do not cost a snapshot each. */
  readonly freshMs: number;
  readonly pingMs: number;
  /** How long events are kept after the last reader has left. */
  readonly lingerMs: number;
  /** Readers over the port, and as many over the socket. */
  readonly clients: number;
}

const LIMITS: StreamLimits = { tickMs: 400, freshMs: 50, pingMs: 15_000, lingerMs: 60_000, clients: 50 };
const MAX_EVENTS = 300;
const MAX_EVENT_BYTES = 8_000_000;

export interface JoinOptions {
  /** The issue whose timeline is sent too, or `null`. */
  readonly issue: string | null;
  readonly lastEventId: string | null;
  readonly isOwner: boolean;
}

interface Reader extends Pick<JoinOptions, 'issue' | 'isOwner'> {
  readonly client: StreamClient;
  readonly follower: TimelineFollower;
}

/**
 * Sends the state to the readers of the stream: first the whole state, then patches that all readers share.
 *
 * States: without readers nothing is computed. The first reader starts the ticks; at each tick a snapshot is compared with the last one.
 * After the last reader has left, the ticks go on for `lingerMs`, so that a reader that returns with the id of its last event gets the
 * patches it missed. Then everything is forgotten, and a reader that returns gets the whole state.
 */
export class StateStream {
  readonly #options: StreamOptions;
  readonly #limits: StreamLimits;
  #instance = newInstance();
  readonly #readers = new Set<Reader>();
  #view: StateView | null = null;
  /** The view as JSON, made when it is first needed. */
  #text: string | null = null;
  #snapshotAtMs = Number.NEGATIVE_INFINITY;
  #seq = 0;
  #events: StreamEvent[] = [];
  #bytes = 0;
  #tick: NodeJS.Timeout | null = null;
  #ping: NodeJS.Timeout | null = null;
  #linger: NodeJS.Timeout | null = null;

  constructor(options: StreamOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
  }

  /** Readers over the port do not take the places of readers over the socket. */
  isFull(isOwner: boolean): boolean {
    const readers = [...this.#readers].filter((reader) => reader.isOwner === isOwner);
    return readers.length >= this.#limits.clients;
  }

  join(client: StreamClient, { issue, lastEventId, isOwner }: JoinOptions): void {
    const reader: Reader = { client, issue, isOwner, follower: new TimelineFollower() };
    // This also sends the patch to the readers that are there already.
    if (performance.now() - this.#snapshotAtMs > this.#limits.freshMs) this.#publish();
    const timeline = this.#timelineEvent(reader, new Map());
    client.start([...(this.#missed(lastEventId) ?? [this.#stateEvent()]), ...timeline]);
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
    this.#reset();
  }

  /** On a large board a snapshot takes long: snapshots take at most a tenth of the time. */
  #tickSoon(tookMs = 0): NodeJS.Timeout {
    return setTimeout(() => this.#sendChanges(), Math.max(this.#limits.tickMs, tookMs * 10)).unref();
  }

  #sendChanges(): void {
    const startedMs = performance.now();
    this.#publish();
    const timelines: Timelines = new Map();
    for (const reader of this.#readers)
      for (const event of this.#timelineEvent(reader, timelines)) reader.client.send(event);
    this.#tick = this.#tickSoon(performance.now() - startedMs);
  }

  /** Takes a snapshot, and sends what has changed to all readers. */
  #publish(): void {
    this.#snapshotAtMs = performance.now();
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
    while (this.#events.length > 1 && (this.#events.length > MAX_EVENTS || this.#bytes > MAX_EVENT_BYTES))
      this.#bytes -= this.#events.shift()?.json.length ?? 0;
  }

  /** The events after that one; `null` when some of them are gone. */
  #missed(lastEventId: string | null): readonly StreamEvent[] | null {
    const [, instance, seq] = /^([0-9a-f]{8})-(\d{1,15})$/.exec(lastEventId ?? '') ?? [];
    const missed = this.#seq - Number(seq);
    if (instance !== this.#instance || !(missed >= 0) || missed > this.#events.length) return null;
    return missed === 0 ? [] : this.#events.slice(-missed);
  }

  #stateEvent(): StreamEvent {
    this.#text ??= this.#options.clean(JSON.stringify(this.#view));
    return { event: 'state', id: this.#id(), json: this.#text };
  }

  #id(): string {
    return `${this.#instance}-${this.#seq}`;
  }

  /** `known`: timelines that were read for other readers at this tick. */
  #timelineEvent({ issue, follower }: Reader, known: Timelines): StreamEvent[] {
    if (issue === null) return [];
    const found = known.get(issue) ?? { timeline: this.#options.timeline(issue) };
    known.set(issue, found);
    const change = follower.next(found.timeline);
    return change ? [{ event: 'timeline', id: null, json: this.#options.clean(JSON.stringify(change)) }] : [];
  }

  #pingAll(): void {
    for (const { client } of this.#readers) client.ping();
  }

  #leave(reader: Reader): void {
    this.#readers.delete(reader);
    if (this.#readers.size > 0) return;
    this.#linger ??= setTimeout(() => this.#reset(), this.#limits.lingerMs).unref();
  }

  #reset(): void {
    if (this.#ping) clearInterval(this.#ping);
    for (const timer of [this.#tick, this.#linger]) if (timer) clearTimeout(timer);
    this.#tick = this.#ping = this.#linger = null;
    this.#view = null;
    this.#text = null;
    this.#snapshotAtMs = Number.NEGATIVE_INFINITY;
    // Changes are no longer recorded, so old event ids become invalid.
    this.#instance = newInstance();
    this.#events = [];
    this.#bytes = 0;
  }
}

type Timelines = Map<string, { readonly timeline: LiveTimeline | null }>;

function newInstance(): string {
  return randomBytes(4).toString('hex');
}

/** A reader that falls further behind is disconnected. It reconnects and gets what it missed. */
const MAX_WAITING_BYTES = 4_000_000;

export interface StreamEvent {
  readonly event: string;
  /** `null`: a reader cannot resume after this event. */
  readonly id: string | null;
  /** JSON text on one line. */
  readonly json: string;
}

/** One reader of the stream: server-sent events over a response that stays open. */
export class StreamClient {
  readonly #response: ServerResponse;
  /** The first events may be large; a reader is not behind because it has not read them yet. */
  #allowance = 0;

  constructor(response: ServerResponse) {
    this.#response = response;
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      // Keeps proxies from buffering the response.
      'x-accel-buffering': 'no',
    });
    response.write('retry: 2000\n\n');
  }

  onClose(listener: () => void): void {
    this.#response.once('close', listener);
  }

  /** Sends the first events. */
  start(events: readonly StreamEvent[]): void {
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

  /** Ends the response after everything sent before. */
  end(): void {
    this.#response.end();
  }

  #write(text: string): void {
    if (this.#response.destroyed || this.#response.writableEnded) return;
    if (this.#response.writableLength > MAX_WAITING_BYTES + this.#allowance) this.#response.destroy();
    else this.#response.write(text);
  }
}

/** How long a text is shared. */
const FRESH_MS = 250;

/** An expensive text, made once for all requests within a moment. A change that a person made must call `stale()`. */
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
