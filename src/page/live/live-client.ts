import { type SseEvent, SseParser } from '../../api/sse-parser.js';
import { ApiError, eventsPath, request } from './api.js';
import { afterEvent, EMPTY_VIEW, type LiveView } from './live-view.js';

export type Connection =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  /** The data is from `sinceMs`. `retryAtMs: null`: a try is under way. */
  | { readonly kind: 'lost'; readonly sinceMs: number; readonly retryAtMs: number | null; readonly why: string }
  /** Trying again is useless: the token is missing or wrong, or the host name is not allowed. */
  | { readonly kind: 'refused'; readonly status: number; readonly why: string };

interface LiveClientOptions {
  readonly base: string;
  readonly token: string | null;
  onChange(view: LiveView, connection: Connection): void;
  /** The connection counts as lost after this time without a byte. The daemon sends one every 15 s. */
  readonly silenceMs?: number;
  readonly random?: () => number;
}

/**
 * Follows the stream of the daemon, one stream at a time.
 *
 * States: connecting → live. When the stream ends or is silent: lost; it then reconnects with growing delays, from the last event it received.
 * When the daemon refuses: refused, until there is another token. Another issue to watch starts a new stream.
 */
export class LiveClient {
  readonly #options: LiveClientOptions;
  #view: LiveView = EMPTY_VIEW;
  #connection: Connection = { kind: 'connecting' };
  #token: string | null;
  #issue: string | null = null;
  #lastId: string | null = null;
  #askedRetryMs: number | null = null;
  #tries = 0;
  #stream: AbortController | null = null;
  #wake: ReturnType<typeof setTimeout> | undefined;

  constructor(options: LiveClientOptions) {
    this.#options = options;
    this.#token = options.token;
  }

  /** Starts, or continues with another issue (`null`: none). */
  watch(issue: string | null): void {
    if (this.#stream && issue === this.#issue) return;
    if (issue !== this.#issue) this.#view = { ...this.#view, issue, timeline: null };
    this.#issue = issue;
    this.#connect();
  }

  useToken(token: string | null): void {
    if (token === this.#token) return;
    this.#token = token;
    this.#connect();
  }

  /** The page became visible, or the network is back. */
  retryNow(): void {
    if (this.#connection.kind === 'lost' && this.#connection.retryAtMs !== null) this.#connect();
  }

  close(): void {
    clearTimeout(this.#wake);
    this.#stream?.abort();
    this.#stream = null;
  }

  #connect(): void {
    this.close();
    const stream = new AbortController();
    this.#stream = stream;
    if (this.#connection.kind === 'lost') this.#setConnection({ ...this.#connection, retryAtMs: null });
    if (this.#connection.kind === 'refused') this.#setConnection({ kind: 'connecting' });
    // Never rejects: errors become the state of the connection.
    void this.#follow(stream).then(
      () => this.#ended(stream, 'The daemon has closed the connection.'),
      (error) => this.#failed(stream, error),
    );
  }

  async #follow(stream: AbortController): Promise<void> {
    const headers: Record<string, string> = { accept: 'text/event-stream' };
    if (this.#lastId !== null) headers['last-event-id'] = this.#lastId;
    const access = { base: this.#options.base, token: this.#token };
    const silence = this.#watchSilence(stream);
    try {
      const answer = await request(access, eventsPath(this.#issue), { headers, signal: stream.signal });
      const reader = answer.body?.getReader();
      if (!reader) return;
      const parser = new SseParser();
      const decoder = new TextDecoder();
      this.#tries = 0;
      this.#setConnection({ kind: 'live' });
      for (;;) {
        const { done, value } = await reader.read();
        if (done || stream !== this.#stream) return;
        silence.reset();
        this.#take(parser.push(decoder.decode(value, { stream: true })));
        this.#askedRetryMs = parser.retryMs;
      }
    } finally {
      silence.end();
    }
  }

  #take(events: readonly SseEvent[]): void {
    if (events.length === 0) return;
    for (const event of events) {
      this.#view = afterEvent(this.#view, event, Date.now());
      // Timeline events have no id.
      this.#lastId = event.id ?? this.#lastId;
    }
    this.#setConnection(this.#connection);
  }

  #watchSilence(stream: AbortController): { reset(): void; end(): void } {
    const limit = this.#options.silenceMs ?? 45_000;
    const silent = () => stream.abort(new ApiError(0, 'silent', 'The daemon sent nothing for too long.'));
    let timer = setTimeout(silent, limit);
    return {
      reset() {
        clearTimeout(timer);
        timer = setTimeout(silent, limit);
      },
      end: () => clearTimeout(timer),
    };
  }

  #failed(stream: AbortController, error: unknown): void {
    if (error instanceof ApiError) {
      const { status, message } = error;
      if (stream === this.#stream && (status === 401 || status === 403)) {
        this.#stream = null;
        return this.#setConnection({ kind: 'refused', status, why: message });
      }
      return this.#ended(stream, message);
    }
    // An event was invalid, or the connection broke: start again with the whole state.
    if (!stream.signal.aborted && !(error instanceof TypeError)) this.#lastId = null;
    this.#ended(stream, 'The connection broke.');
  }

  #ended(stream: AbortController, why: string): void {
    if (stream !== this.#stream) return;
    this.#tries += 1;
    const delay = reconnectDelay(this.#tries, this.#askedRetryMs, (this.#options.random ?? Math.random)());
    const sinceMs = this.#connection.kind === 'lost' ? this.#connection.sinceMs : Date.now();
    this.#wake = setTimeout(() => this.#connect(), delay);
    this.#setConnection({ kind: 'lost', sinceMs, retryAtMs: Date.now() + delay, why });
  }

  #setConnection(connection: Connection): void {
    this.#connection = connection;
    this.#options.onChange(this.#view, connection);
  }
}

const FIRST_MS = 1_000;
const MAX_MS = 30_000;

/** The delay before try number `tries` (from 1). `askedMs`: the minimum that the server requested. `random` (0 to 1) spreads the pages of one daemon. */
export function reconnectDelay(tries: number, askedMs: number | null, random: number): number {
  if (tries <= 1) return FIRST_MS / 2 + random * FIRST_MS;
  const base = Math.max(FIRST_MS, askedMs ?? 0) * 2 ** Math.min(10, tries - 2);
  return Math.min(MAX_MS, base) * (0.75 + random * 0.5);
}
