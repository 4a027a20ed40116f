import { randomBytes } from 'node:crypto';
import { diffStates } from './patch.js';
import type { StateView } from './shapes/state-shape.js';
import type { StreamClient, StreamEvent } from './stream-client.js';
import { type LiveTimeline, TimelineTeller } from './timeline-teller.js';

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
  readonly pingMs: number;
  /** After the last reader has left, for one that comes back. */
  readonly lingerMs: number;
  readonly clients: number;
}

const LIMITS: FeedLimits = { tickMs: 400, pingMs: 15_000, lingerMs: 60_000, clients: 50 };
const KEPT_EVENTS = 300;
const KEPT_BYTES = 8_000_000;

interface Reader {
  readonly client: StreamClient;
  /** Whose timeline it wants besides; `null`: nobody's. */
  readonly issue: string | null;
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

  get isFull(): boolean {
    return this.#readers.size >= this.#limits.clients;
  }

  join(client: StreamClient, issue: string | null, lastEventId: string | null): void {
    const reader: Reader = { client, issue, teller: new TimelineTeller() };
    this.#advance();
    for (const event of this.#missed(lastEventId) ?? [this.#whole()]) client.send(event);
    this.#readers.add(reader);
    this.#tellTimeline(reader);
    client.onClose(() => this.#leave(reader));
    if (this.#linger) clearTimeout(this.#linger);
    this.#linger = null;
    this.#tick ??= setInterval(() => this.#round(), this.#limits.tickMs).unref();
    this.#ping ??= setInterval(() => this.#pingAll(), this.#limits.pingMs).unref();
  }

  close(): void {
    for (const { client } of this.#readers) client.end();
    this.#readers.clear();
    this.#rest();
  }

  #round(): void {
    const before = this.#seq;
    this.#advance();
    const fresh = this.#seq === before ? null : this.#events.at(-1);
    for (const reader of this.#readers) {
      if (fresh) reader.client.send(fresh);
      this.#tellTimeline(reader);
    }
  }

  /** Looks at the state; what has become of it is one event more. */
  #advance(): void {
    const next = this.#options.snapshot();
    const patch = this.#view && diffStates(this.#view, next);
    if (this.#view && !patch) return;
    this.#view = next;
    if (!patch) return;
    this.#seq += 1;
    this.#remember({ event: 'patch', id: this.#id(), json: this.#options.clean(JSON.stringify(patch)) });
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
    return { event: 'state', id: this.#id(), json: this.#options.clean(JSON.stringify(this.#view)) };
  }

  #id(): string {
    return `${this.#instance}-${this.#seq}`;
  }

  #tellTimeline({ client, issue, teller }: Reader): void {
    const news = issue === null ? null : teller.news(this.#options.timeline(issue));
    if (news) client.send({ event: 'timeline', id: null, json: this.#options.clean(JSON.stringify(news)) });
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
    for (const timer of [this.#tick, this.#ping]) if (timer) clearInterval(timer);
    if (this.#linger) clearTimeout(this.#linger);
    this.#tick = this.#ping = this.#linger = null;
    this.#view = null;
    // What happens from here on is in no event: ids of before lead nowhere.
    this.#instance = newInstance();
    this.#events = [];
    this.#bytes = 0;
  }
}

function newInstance(): string {
  return randomBytes(4).toString('hex');
}
