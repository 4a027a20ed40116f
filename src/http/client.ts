import {
  type ClientRequest,
  Agent as HttpAgent,
  type AgentOptions as HttpAgentOptions,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';

export interface ClientOptions {
  /** Keep idle connections open for that long, at most eight to a server. 0: every request uses a new connection. */
  readonly keepAliveMs?: number;
  /** Connect to this Unix socket, whatever host the URL names. */
  readonly socketPath?: string;
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: URL;
  readonly headers: { readonly [name: string]: string };
  readonly body?: string | null;
  readonly signal?: AbortSignal;
  /** The longest time until the response begins. */
  readonly responseTimeoutMs?: number;
  /** The longest time without a byte in either direction. */
  readonly silenceTimeoutMs?: number;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The body as it arrives. The iteration throws when the connection ends early; the caller ends with `close`. */
  readonly chunks: AsyncIterable<Buffer>;
  /** Reads the whole body, ends the exchange and never rejects. */
  read(maxBytes: number, timeoutMs?: number): Promise<HttpBody>;
  /** Gives up what has not been read. */
  close(): void;
}

export interface HttpBody {
  /** All of the body, or its beginning when there is a fault. */
  readonly bytes: Buffer;
  readonly fault: HttpFault | null;
}

/** Why there is no response, or not all of it. */
export class HttpFault extends Error {
  override readonly name = 'HttpFault';

  constructor(
    readonly kind: 'aborted' | 'timeout' | 'unreachable' | 'cut_off' | 'too_long',
    cause?: unknown,
  ) {
    super(kind, { cause });
  }

  /** The code of the system or of the HTTP parser, such as ECONNREFUSED. Unlike the message it never holds an address. */
  get code(): string | null {
    const { code } = (this.cause ?? {}) as NodeJS.ErrnoException;
    return typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,60}$/.test(code) ? code : null;
  }
}

/**
 * The HTTP client of trackers, services, notices and the command line. It sends one request and reads one response. It follows no
 * redirect, so that credentials reach no other server; it repeats nothing and decompresses nothing.
 */
export class HttpClient {
  readonly #agentOptions: HttpAgentOptions & { readonly proxyEnv?: NodeJS.ProcessEnv };
  readonly #http: HttpAgent;
  #https: HttpsAgent | null = null;

  constructor(private readonly options: ClientOptions = {}) {
    const { keepAliveMs = 0 } = options;
    // Servers close idle connections, and a request that crosses with that is lost. So the client closes them first.
    this.#agentOptions = {
      ...(keepAliveMs > 0 ? { keepAlive: true, maxSockets: 8, timeout: keepAliveMs } : {}),
      // Node's own switch for HTTP_PROXY, HTTPS_PROXY and NO_PROXY. Versions before 22.21 ignore it.
      ...(process.env.NODE_USE_ENV_PROXY === '1' ? { proxyEnv: process.env } : {}),
    };
    this.#http = new HttpAgent(this.#agentOptions);
  }

  /** Resolves when the response begins. Rejects with an `HttpFault`. */
  async send(request: HttpRequest): Promise<HttpResponse> {
    if (request.signal?.aborted) throw new HttpFault('aborted');
    // Loading TLS takes 10 ms, which commands that only talk to their daemon need not wait for.
    const https = request.url.protocol === 'https:' ? await import('node:https') : null;
    if (request.signal?.aborted) throw new HttpFault('aborted');
    const { method, headers, url } = request;
    const { socketPath, keepAliveMs = 0 } = this.options;
    return new Promise((resolve, reject) => {
      // Without a name Node looks whether the host is an address, and compiling that expression takes 7 ms.
      const options = { method, headers, ...(socketPath === undefined ? {} : { socketPath, servername: '' }) };
      const outgoing =
        https === null
          ? requestHttp(url, { ...options, agent: this.#http })
          : https.request(url, { ...options, agent: this.#secureAgent(https.Agent) });
      const exchange = new Exchange(outgoing, request, keepAliveMs > 0);
      const onEnd = (error: unknown) => reject(exchange.fail(new HttpFault('unreachable', error)));
      outgoing.on('response', (incoming) => resolve(exchange.begin(incoming)));
      // Reading the response shows how it ends: a rejection that comes after it has begun is without effect.
      outgoing.on('error', onEnd);
      outgoing.on('close', () => onEnd(new Error('the connection was closed')));
      outgoing.end(request.body ?? undefined);
    });
  }

  close(): void {
    this.#http.destroy();
    this.#https?.destroy();
  }

  #secureAgent(Agent: typeof HttpsAgent): HttpsAgent {
    this.#https ??= new Agent(this.#agentOptions);
    return this.#https;
  }
}

/** One request and its response. The first fault counts; those that follow from it are ignored. */
class Exchange {
  #fault: HttpFault | null = null;
  #incoming: IncomingMessage | null = null;
  #responseTimer: NodeJS.Timeout | undefined;
  readonly #onAbort = () => this.#stop('aborted');

  constructor(
    private readonly outgoing: ClientRequest,
    private readonly request: HttpRequest,
    private readonly isConnectionKept: boolean,
  ) {
    const { signal, responseTimeoutMs, silenceTimeoutMs } = request;
    const onTimeout = () => this.#stop('timeout');
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (silenceTimeoutMs !== undefined) outgoing.setTimeout(silenceTimeoutMs, onTimeout);
    if (responseTimeoutMs !== undefined) this.#responseTimer = setTimeout(onTimeout, responseTimeoutMs);
  }

  begin(incoming: IncomingMessage): HttpResponse {
    this.#incoming = incoming;
    clearTimeout(this.#responseTimer);
    // The reader of the body gets the error. Without a listener a later one would end the process.
    incoming.on('error', () => {});
    return {
      status: incoming.statusCode ?? 0,
      headers: incoming.headers,
      chunks: incoming,
      read: (maxBytes, timeoutMs) => this.#read(incoming, maxBytes, timeoutMs),
      close: () => this.#stop('aborted'),
    };
  }

  /** The connection has ended. Returns the reason that counts. */
  fail(fault: HttpFault): HttpFault {
    if (this.#incoming !== null) return fault;
    this.#release();
    this.#fault ??= fault;
    return this.#fault;
  }

  async #read(incoming: IncomingMessage, maxBytes: number, timeoutMs?: number): Promise<HttpBody> {
    const buffer = new ByteBuffer(maxBytes);
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => this.#stop('timeout'), timeoutMs);
    try {
      for await (const chunk of incoming as AsyncIterable<Buffer>) {
        if (!buffer.push(chunk)) this.#stop('too_long');
        if (this.#fault !== null) break;
      }
    } catch (error) {
      this.#fault ??= new HttpFault('cut_off', error);
    } finally {
      clearTimeout(timer);
      this.#release();
      // Closed before the caller goes on, even when the server has not read all of the request.
      if (!this.isConnectionKept) this.outgoing.destroy();
    }
    return { bytes: buffer.bytes(), fault: this.#fault };
  }

  #stop(kind: HttpFault['kind']): void {
    this.#fault ??= new HttpFault(kind);
    this.#release();
    this.#incoming?.destroy(this.#fault);
    this.outgoing.destroy(this.#fault);
  }

  #release(): void {
    clearTimeout(this.#responseTimer);
    this.request.signal?.removeEventListener('abort', this.#onAbort);
  }
}

/** Collects bytes up to a cap. It copies them, so that a million chunks of one byte cost a million bytes and not a million buffers. */
class ByteBuffer {
  #buffer = Buffer.alloc(4 * 1024);
  #length = 0;

  constructor(private readonly maxBytes: number) {}

  /** False when not all of it fits. */
  push(chunk: Buffer): boolean {
    const wanted = this.#length + chunk.length;
    this.#reserve(Math.min(wanted, this.maxBytes));
    this.#length += chunk.copy(this.#buffer, this.#length, 0, this.maxBytes - this.#length);
    return wanted <= this.maxBytes;
  }

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  #reserve(bytes: number): void {
    if (bytes <= this.#buffer.length) return;
    const larger = Buffer.alloc(Math.max(bytes, this.#buffer.length * 2));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}
