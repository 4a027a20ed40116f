import { isAscii, isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { BoundedMap } from '../../domain/bounded-map.js';
import { BatonError } from '../../domain/errors.js';
import { assertNever } from '../../domain/json.js';
import type { RateLimit } from '../../domain/ports.js';
import { HttpClient, HttpFault, type HttpRequest as RawRequest } from '../../http/client.js';
import { badStatus, type ReadQuota, resetOf, tooManyRequests } from './limits.js';

interface TrackerHttpOptions {
  /** The display name of the tracker, such as "GitHub". */
  readonly name: string;
  /** From `endpointOf`. */
  readonly base: URL;
  /** Sent with every request, including the token. */
  readonly headers: { readonly [name: string]: string };
  /** The source of the token in messages, such as "GITHUB_TOKEN" or "tracker.provider.token". */
  readonly tokenFrom: string;
  readonly readQuota: ReadQuota;
  /** Masks secrets in text of the tracker before it becomes part of a message. */
  mask(text: string): string;
  /** For trackers that report a rate limit with a status other than 429. */
  isRateLimit?(status: number, headers: IncomingHttpHeaders, text: string): boolean;
  /** A 304 does not count against the quota. */
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
  /** A path below the base, with its query, or a whole URL on the same origin. */
  readonly path: string | URL;
  readonly body?: unknown;
  /** Keep the answer: send its ETag the next time (for GET), and do not parse the same bytes again. */
  readonly isConditional?: boolean;
  /** Reduces a body before it is cached and returned, for lists whose records hold much more than is needed. */
  digest?(body: unknown): unknown;
  /** What the digest depends on besides the body. */
  readonly digestBy?: string;
  /** Request the whole body even if it has not changed, and replace the cached one. */
  readonly isRenewed?: boolean;
  /** Statuses besides 2xx that are no errors. */
  readonly accept?: readonly number[];
  /** Instead of the limit of the client. */
  readonly maxBytes?: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Parsed JSON or its digest; null without a body. The same object as before after a 304, or when a kept answer has come again. */
  readonly body: unknown;
  /** The response was a 304. */
  readonly isCached: boolean;
  /** The length of the body that was received. */
  readonly bytes: number;
}

/** The answer to a conditional request. */
interface CachedEntry {
  /** With it the tracker need not send the answer again. */
  readonly etag: string | null;
  /** Without an ETag: a digest of the bytes, which shows whether the answer has come again. */
  readonly hash: string | null;
  /** The same object each time, so that a caller may cache results by it. */
  readonly answer: CachedAnswer;
  readonly bytes: number;
}

interface CachedAnswer {
  readonly body: unknown;
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined };
}

const MAX_BYTES = 32 * 1024 * 1024;
/** Of all answers to one read, such as the pages of a list. */
const MAX_BYTES_OF_READ = 256 * 1024 * 1024;
/** The beginning of an error has its reason. */
const MAX_REASON_BYTES = 64 * 1024;
const MAX_CACHED_BYTES = 64 * 1024 * 1024;
const MAX_REDIRECTS = 3;
/** Shorter than servers keep idle connections open. */
const KEEP_ALIVE_MS = 4_000;
/** A whole list may take longer than this, but a working server sends something. */
const SILENCE_TIMEOUT_MS = 30_000;

/**
 * The HTTP client of the adapters: one origin, one token, JSON in both directions. It never retries or waits, since the orchestrator
 * handles rate limits and failures. It throws only `BatonError` with a `tracker_…` code. It follows redirects on the same origin only, so
 * that the token goes nowhere else.
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

  /** One read or change, which counts its own cost. */
  reading(signal: AbortSignal): HttpReading {
    return new HttpReading((request) => this.#ask(request, signal), this.#options);
  }

  close(): void {
    this.#client.close();
  }

  async #ask(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
    const method = request.method ?? 'GET';
    const first = this.#urlOf(request.path);
    const key = request.isConditional === true ? cacheKey(method, first, request) : null;
    const cached = key === null || request.isRenewed === true ? undefined : this.#cache.get(key);
    let url = first;
    for (let hops = 0; ; hops++) {
      const raw = await this.#send(method, url, request, cached?.etag ?? null, signal);
      const { status, headers } = raw;
      if (status === 304 && cached) {
        const known = { ...cached.answer.headers, ...headers } as IncomingHttpHeaders;
        return { status: 200, headers: known, body: cached.answer.body, isCached: true, bytes: 0 };
      }
      const isRedirect = [301, 302, 303, 307, 308].includes(status);
      if (isRedirect && !request.accept?.includes(status)) {
        url = this.#redirected(method, url, headers.location, hops);
        continue;
      }
      const isGood = (status >= 200 && status < 300) || request.accept?.includes(status) === true;
      if (!isGood) throw this.#bad(method, url, raw);
      if (status === 200 && cached && cached.hash !== null && cached.hash === hashOf(raw.body)) {
        return { status, headers, body: cached.answer.body, isCached: false, bytes: raw.body.length };
      }
      const whole = readJsonBody(raw.body, (problem) =>
        this.#fault('tracker_response', method, url, `answered ${status}, and the answer ${problem}`),
      );
      const body = request.digest && status < 300 ? request.digest(whole) : whole;
      if (key !== null && status === 200) this.#cache.set(key, cachedEntry(method, raw, body));
      return { status, headers, body, isCached: false, bytes: raw.body.length };
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

  /** Only reads are repeated at the new URL, since a change that is sent twice may happen twice. */
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
    const text = raw.body.subarray(0, MAX_REASON_BYTES).toString('utf8');
    const where = { name: this.name, method, path: this.#shownPath(url), tokenFrom: this.#options.tokenFrom };
    const mask = (message: string) => this.#options.mask(message);
    // A 503 with a time for the next try means busy, not broken.
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

  /** Without the query, which may be long and hold anything. */
  #shownPath(url: URL): string {
    return this.#options.mask(url.pathname).slice(0, 200);
  }
}

function cacheKey(method: Method, url: URL, { body, digestBy = '' }: HttpRequest): string {
  return JSON.stringify([method, url.href, body, digestBy]);
}

function cachedEntry(method: Method, { headers, body: raw }: RawAnswer, body: unknown): CachedEntry {
  const etag = method === 'GET' && typeof headers.etag === 'string' ? headers.etag : null;
  const answer = { body, headers };
  return { etag, hash: etag === null ? hashOf(raw) : null, answer, bytes: raw.length };
}

function hashOf(bytes: Buffer): string {
  return hash('sha256', bytes, 'base64');
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

/** Parses the body as JSON; null when it is empty. The argument of `fault` continues "the answer …". */
export function readJsonBody(body: Buffer, fault: (problem: string) => BatonError): unknown {
  if (body.length === 0) return null;
  if (body.length > MAX_UNCHECKED_BYTES) checkShape(body, fault);
  const text = textOf(body);
  try {
    if (text !== null) return JSON.parse(text);
  } catch {
    // Thrown below.
  }
  throw fault('is not JSON: check the address of the tracker, and whether a proxy or a login page is in between');
}

/** Ordinary answers are smaller. Checking them would add a fifth to the time of parsing. */
const MAX_UNCHECKED_BYTES = 1024 * 1024;
const MAX_DEPTH = 200;
const MAX_VALUES = 2_000_000;
const [QUOTE, COMMA, BACKSLASH] = [...Buffer.from('",\\')];
const [OPENS, CLOSES] = [[...Buffer.from('[{')], [...Buffer.from(']}')]];

/** Refuses JSON that would take seconds and a gigabyte to parse, such as 32 MB of `[`. */
function checkShape(body: Buffer, fault: (problem: string) => BatonError): void {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < body.length; at++) {
    const byte = body[at] as number;
    if (byte === QUOTE) at = endOfString(body, at);
    else if (byte === COMMA) values += 1;
    else if (CLOSES.includes(byte)) depth -= 1;
    else if (OPENS.includes(byte)) {
      depth += 1;
      values += 1;
      if (depth > MAX_DEPTH) throw fault(`is nested more than ${MAX_DEPTH} deep`);
    }
    if (values > MAX_VALUES) throw fault(`has more than ${MAX_VALUES} values`);
  }
}

/** The position of the closing quote; the end of the body when there is none. */
function endOfString(body: Buffer, start: number): number {
  for (let end = start; ; ) {
    end = body.indexOf(QUOTE as number, end + 1);
    if (end === -1) return body.length;
    let before = end;
    while (body[before - 1] === BACKSLASH) before -= 1;
    if ((end - before) % 2 === 0) return end;
  }
}

/** Returns null for anything but UTF-8. Most of a large board is ASCII, which is faster to read as such. */
function textOf(body: Buffer): string | null {
  if (isAscii(body)) return body.toString('latin1');
  // Some servers send a byte order mark, which JSON does not allow.
  return isUtf8(body) ? body.toString('utf8').replace(/^\ufeff/, '') : null;
}

/** The requests of one read of the tracker, with their cost and the remaining quota. */
export class HttpReading {
  #bytes = 0;
  #cost = 0;
  #quota: Pick<RateLimit, 'remaining' | 'resetAtMs'> | null = null;

  constructor(
    private readonly send: (request: HttpRequest) => Promise<HttpAnswer>,
    private readonly options: Pick<TrackerHttpOptions, 'name' | 'readQuota' | 'isCachedFree'>,
  ) {}

  async ask(request: HttpRequest): Promise<HttpAnswer> {
    const answer = await this.send(request);
    this.#bytes += answer.bytes;
    if (this.#bytes > MAX_BYTES_OF_READ) {
      throw new BatonError(
        'tracker_response',
        `${this.options.name} answered one read with more than ${MAX_BYTES_OF_READ} bytes. Limit the issues that Baton reads, such as with tracker.required_labels.`,
      );
    }
    const quota = this.options.readQuota(answer.headers, Date.now());
    if (!(answer.isCached && this.options.isCachedFree)) this.#cost += quota?.cost ?? 1;
    this.note(quota);
    return answer;
  }

  get(path: string | URL, more: Omit<HttpRequest, 'method' | 'path' | 'body'> = {}): Promise<HttpAnswer> {
    return this.ask({ path, ...more });
  }

  /** Records a quota from the body of a response. The smallest remaining one counts. */
  note(quota: Pick<RateLimit, 'remaining' | 'resetAtMs'> | null): void {
    if (quota !== null && (this.#quota === null || quota.remaining < this.#quota.remaining)) this.#quota = quota;
  }

  /** For the batch of issues. Empty when the tracker reports no quota. */
  get rateLimit(): { readonly rateLimit?: RateLimit } {
    return this.#quota === null ? {} : { rateLimit: { ...this.#quota, cost: this.#cost } };
  }
}
