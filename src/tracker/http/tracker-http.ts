import type { IncomingHttpHeaders } from 'node:http';
import { BoundedMap } from '../../domain/bounded-map.js';
import { BatonError } from '../../domain/errors.js';
import { assertNever } from '../../domain/json.js';
import type { RateLimit } from '../../domain/ports.js';
import { HttpClient, HttpFault, type HttpRequest as RawRequest } from '../../http/client.js';
import { badStatus, type ReadQuota, resetOf, tooManyRequests } from './limits.js';
import { readJsonBody } from './read-json.js';

interface TrackerHttpOptions {
  /** As people call the tracker: "GitHub". */
  readonly name: string;
  /** From `endpointOf`. */
  readonly base: URL;
  /** What is sent with every request, the token among them. */
  readonly headers: { readonly [name: string]: string };
  /** Where the token comes from, for people: "GITHUB_TOKEN", "tracker.provider.token". */
  readonly tokenFrom: string;
  readonly readQuota: ReadQuota;
  /** Takes secrets out of what the tracker wrote, before it becomes part of a message. */
  mask(text: string): string;
  /** The tracker says by a status other than 429 that we ask too often. */
  isRateLimit?(status: number, headers: IncomingHttpHeaders, text: string): boolean;
  /** An answer from the cache (304) does not count against the quota. */
  readonly isCachedFree?: boolean;
  readonly maxBytes?: number;
}

export type Method = RawRequest['method'];

interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface HttpRequest {
  readonly method?: Method;
  /** Below the base, with its query; or a whole URL on the same origin. */
  readonly path: string | URL;
  readonly body?: unknown;
  /** Ask only for what has changed since the last answer. For GET. */
  readonly isConditional?: boolean;
  /** What of a good answer is kept under its ETag and handed over, for lists whose records say much more than is wanted. */
  digest?(body: unknown): unknown;
  /** Ask for the whole answer though it may not have changed, and keep that in place of the last one. */
  readonly isRenewed?: boolean;
  /** Statuses besides 2xx that are answers and no errors. */
  readonly accept?: readonly number[];
  /** Instead of the limit for all of them. */
  readonly maxBytes?: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Parsed JSON, or its digest; `null` where there was no body. After a 304 the same object as before. */
  readonly body: unknown;
  /** It came as a 304. */
  readonly isCached: boolean;
}

const MAX_BYTES = 32 * 1024 * 1024;
const MAX_CACHED_BYTES = 64 * 1024 * 1024;
const MAX_REDIRECTS = 3;
/** Shorter than servers keep idle connections open. */
const KEEP_ALIVE_MS = 4_000;
/** A whole list may take longer than this, but a working server sends something. */
const SILENCE_TIMEOUT_MS = 30_000;

/**
 * What all adapters share: one origin, one token, JSON both ways. It never retries and never sleeps; rate limits and failures are for the
 * orchestrator to see. Throws `BatonError` with a `tracker_…` code and nothing else. Redirects are followed on the same origin only, so that
 * the token goes nowhere else.
 */
export class TrackerHttp {
  readonly #options: TrackerHttpOptions;
  readonly #client = new HttpClient({ keepAliveMs: KEEP_ALIVE_MS });
  readonly #cache = new BoundedMap<string, CachedEntry>(1_000, { max: MAX_CACHED_BYTES, of: ({ bytes }) => bytes });

  constructor(options: TrackerHttpOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  /** One read or change: it counts what it costs. */
  reading(signal: AbortSignal): HttpReading {
    return new HttpReading((request) => this.#ask(request, signal), this.#options);
  }

  close(): void {
    this.#client.close();
  }

  async #ask(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
    const method = request.method ?? 'GET';
    const first = this.#urlOf(request.path);
    const mayBeCached = request.isConditional === true && request.isRenewed !== true && method === 'GET';
    const cached = mayBeCached ? this.#cache.get(first.href) : undefined;
    let url = first;
    for (let hops = 0; ; hops++) {
      const raw = await this.#send(method, url, request, cached?.etag ?? null, signal);
      const { status, headers } = raw;
      if (status === 304 && cached) {
        const known = { ...cached.answer.headers, ...headers } as IncomingHttpHeaders;
        return { status: 200, headers: known, body: cached.answer.body, isCached: true };
      }
      const isRedirect = [301, 302, 303, 307, 308].includes(status);
      if (isRedirect && !request.accept?.includes(status)) {
        url = this.#redirected(method, url, headers.location, hops);
        continue;
      }
      const isGood = (status >= 200 && status < 300) || request.accept?.includes(status) === true;
      if (!isGood) throw this.#bad(method, url, raw);
      const whole = readJsonBody(raw.body, (problem) =>
        this.#fault('tracker_response', method, url, `answered ${status}, and the answer ${problem}`),
      );
      const body = request.digest && status === 200 ? request.digest(whole) : whole;
      if (request.isConditional && status === 200 && typeof headers.etag === 'string') {
        this.#cache.set(first.href, { etag: headers.etag, answer: { body, headers }, bytes: raw.body.length });
      }
      return { status, headers, body, isCached: false };
    }
  }

  #urlOf(path: string | URL): URL {
    const { base } = this.#options;
    if (path instanceof URL) {
      if (path.origin === base.origin) return path;
      throw new BatonError(
        'tracker_response',
        `${this.name} refers to ${path.origin}, another host. Its answers are not to be trusted.`,
      );
    }
    const url = new URL(base);
    const at = path.indexOf('?');
    url.pathname = `${base.pathname.replace(/\/$/, '')}${at === -1 ? path : path.slice(0, at)}`;
    url.search = at === -1 ? '' : path.slice(at);
    return url;
  }

  async #send(
    method: Method,
    url: URL,
    request: HttpRequest,
    etag: string | null,
    signal: AbortSignal,
  ): Promise<RawAnswer> {
    const { headers } = this.#options;
    const maxBytes = request.maxBytes ?? this.#options.maxBytes ?? MAX_BYTES;
    const body = request.body === undefined ? null : JSON.stringify(request.body);
    const all = {
      accept: 'application/json',
      'user-agent': 'baton',
      ...headers,
      ...(body === null
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }),
      ...(etag === null ? {} : { 'if-none-match': etag }),
    };
    try {
      const order = { method, url, headers: all, body, signal, silenceTimeoutMs: SILENCE_TIMEOUT_MS };
      const response = await this.#client.send(order);
      const { bytes, fault } = await response.read(maxBytes);
      if (fault !== null) throw fault;
      return { status: response.status, headers: response.headers, body: bytes };
    } catch (error) {
      const problem = error instanceof HttpFault ? faultText(error, maxBytes) : `failed: ${(error as Error).message}`;
      throw this.#fault('tracker_request', method, url, problem);
    }
  }

  /** Only reads are repeated elsewhere: a change that is sent twice may happen twice. */
  #redirected(method: Method, from: URL, location: string | undefined, hops: number): URL {
    const to = location !== undefined && URL.canParse(location, from.href) ? new URL(location, from.href) : null;
    if (to === null) throw this.#fault('tracker_status', method, from, 'redirects to nowhere');
    if (to.origin !== from.origin) {
      throw this.#fault(
        'tracker_status',
        method,
        from,
        `redirects to another host (${to.origin}), where the token must not go. Write that address into WORKFLOW.md if it is the right one`,
      );
    }
    if (method !== 'GET')
      throw this.#fault(
        'tracker_status',
        method,
        from,
        'redirects a change, which is not repeated. Write the new address into WORKFLOW.md',
      );
    if (hops >= MAX_REDIRECTS) throw this.#fault('tracker_status', method, from, 'redirects in circles');
    return to;
  }

  #bad(method: Method, url: URL, raw: RawAnswer): BatonError {
    const { isRateLimit, readQuota } = this.#options;
    const nowMs = Date.now();
    const text = raw.body.toString('utf8');
    const where = { name: this.name, method, path: this.#shownPath(url), tokenFrom: this.#options.tokenFrom };
    const mask = (said: string) => this.#options.mask(said);
    // Whoever says when to come again is busy, and not broken.
    const isBusy = raw.status === 429 || (raw.status === 503 && raw.headers['retry-after'] !== undefined);
    if (isBusy || isRateLimit?.(raw.status, raw.headers, text) === true) {
      return tooManyRequests(where, resetOf(raw.headers, readQuota, nowMs));
    }
    return badStatus(where, raw.status, text, mask);
  }

  #fault(
    code: 'tracker_request' | 'tracker_status' | 'tracker_response',
    method: Method,
    url: URL,
    problem: string,
  ): BatonError {
    const text = `${this.name}: ${method} ${this.#shownPath(url)} at ${url.host} ${problem}.`;
    return new BatonError(code, this.#options.mask(text));
  }

  /** Without its query, which may be long and hold anything. */
  #shownPath(url: URL): string {
    return this.#options.mask(url.pathname).slice(0, 200);
  }
}

/** Continues a sentence about the request. The message of the cause may name an address, so that only its code is shown. */
function faultText({ kind, code }: HttpFault, maxBytes: number): string {
  switch (kind) {
    case 'aborted':
      return 'was given up';
    case 'timeout':
      return `was silent for ${SILENCE_TIMEOUT_MS / 1000} s`;
    case 'unreachable':
      return `could not be reached (${code ?? 'no connection'})`;
    case 'cut_off':
      return 'broke off in the middle of its answer';
    case 'too_long':
      return `answered with more than ${maxBytes} bytes`;
    default:
      return assertNever(kind);
  }
}

/** The requests of one read of the tracker, with what they cost and what is left. */
export class HttpReading {
  #cost = 0;
  #quota: Pick<RateLimit, 'remaining' | 'resetAtMs'> | null = null;

  constructor(
    private readonly send: (request: HttpRequest) => Promise<HttpAnswer>,
    private readonly options: Pick<TrackerHttpOptions, 'readQuota' | 'isCachedFree'>,
  ) {}

  async ask(request: HttpRequest): Promise<HttpAnswer> {
    const answer = await this.send(request);
    const quota = this.options.readQuota(answer.headers, Date.now());
    if (!(answer.isCached && this.options.isCachedFree)) this.#cost += quota?.cost ?? 1;
    this.note(quota);
    return answer;
  }

  get(path: string | URL, more: Omit<HttpRequest, 'method' | 'path' | 'body'> = {}): Promise<HttpAnswer> {
    return this.ask({ path, ...more });
  }

  /** What an answer's own text said of the quota. The scarcest counts. */
  note(quota: Pick<RateLimit, 'remaining' | 'resetAtMs'> | null): void {
    if (quota !== null && (this.#quota === null || quota.remaining < this.#quota.remaining)) this.#quota = quota;
  }

  /** For the batch that comes of it: `{}` where the tracker says nothing. */
  get rateLimit(): { readonly rateLimit?: RateLimit } {
    return this.#quota === null ? {} : { rateLimit: { ...this.#quota, cost: this.#cost } };
  }
}

/** The answer to a conditional request, so that the tracker need not send it again. */
interface CachedEntry {
  readonly etag: string;
  /** The same object each time: whoever made something of it may remember that by it. */
  readonly answer: CachedAnswer;
  readonly bytes: number;
}

interface CachedAnswer {
  readonly body: unknown;
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined };
}
