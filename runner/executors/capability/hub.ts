import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { WebSocket, WebSocketServer } from 'ws';
import type { Clock } from '../../../src/domain/clock.js';
import { BatonError } from '../../../src/domain/errors.js';
import { fieldsOf, textOf } from '../../../src/domain/json.js';

const MAX_PAYLOAD_BYTES = 16 * 1024 * 1024;
const MAX_SOCKETS = 500;
const HEADERS_TIMEOUT_MS = 10_000;
/** The client of existing packages puts its whole environment into the address. */
const MAX_HEADER_BYTES = 512 * 1024;
/** A token is removed when it is used or its execution ends. Its expiry time is only a second protection. */
const TOKEN_SPARE_MS = 60_000;

interface Admission {
  readonly sideExecutionId: string;
  readonly threadId: string;
  readonly parentAgentId: string;
  readonly validForMs: number;
  readonly clock: Clock;
  onConnection(socket: WebSocket): void;
}

export interface Ticket {
  readonly port: number;
  readonly token: string;
  close(): void;
}

/**
 * The WebSocket server for executors: one for all of them, on loopback, opened with the first execution and closed with the daemon. A
 * ticket admits one connection: it is valid from `admit` until it is used or closed. Any other connection is refused before the
 * upgrade to a WebSocket.
 */
export class CapabilityHub {
  readonly #mint = new TokenMint();
  readonly #admitted = new Map<string, Admission>();
  readonly #sockets = new Set<Socket>();
  #listening: Promise<Server> | null = null;
  #isClosed = false;

  /** Throws `BatonError`. */
  async admit(admission: Admission): Promise<Ticket> {
    if (this.#isClosed) throw new BatonError('INTERRUPTED', 'The daemon is shutting down and starts no more executors');
    this.#listening ??= this.#listen();
    const server = await this.#listening;
    const { sideExecutionId, threadId, parentAgentId, validForMs, clock } = admission;
    const exp = Math.ceil((clock.now().wallMs + validForMs + TOKEN_SPARE_MS) / 1_000);
    this.#admitted.set(sideExecutionId, admission);
    return {
      port: (server.address() as AddressInfo).port,
      token: this.#mint.sign({ sub: sideExecutionId, threadId, parentAgentId, exp }),
      close: () => void this.#admitted.delete(sideExecutionId),
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#admitted.clear();
    const server = await this.#listening?.catch(() => null);
    if (!server) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async #listen(): Promise<Server> {
    // Loaded lazily: most daemons never need it.
    const { WebSocketServer } = await import('ws');
    const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES }, (_, response) => {
      response.writeHead(426, { Connection: 'close' }).end();
    });
    server.headersTimeout = HEADERS_TIMEOUT_MS;
    server.requestTimeout = HEADERS_TIMEOUT_MS;
    server.maxConnections = MAX_SOCKETS;
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    const upgrader = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      maxPayload: MAX_PAYLOAD_BYTES,
      perMessageDeflate: false,
      // The peer answers pings itself: an executor that sends pings and never reads must not fill our memory.
      autoPong: false,
    });
    server.on('upgrade', (request, socket, head) => this.#upgrade(upgrader, request, socket, head));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', () => resolve());
    }).catch((error: Error) => {
      this.#listening = null;
      const message = `The socket for executors cannot be opened on 127.0.0.1: ${error.message}`;
      throw new BatonError('CONNECTION_FAILED', message, {}, { cause: error });
    });
    // Without free descriptors a connection cannot be accepted; its execution fails by its connect timeout.
    server.on('error', () => {});
    return server;
  }

  #upgrade(upgrader: WebSocketServer, request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy());
    const upgrade = readUpgrade(request);
    if (upgrade.kind === 'refused') return refuse(socket, upgrade.status);
    const admission = this.#admissionFor(upgrade);
    if (admission === null) return refuse(socket, '401 Unauthorized');
    this.#admitted.delete(admission.sideExecutionId);
    upgrader.handleUpgrade(request, socket, head, (webSocket) => admission.onConnection(webSocket));
  }

  #admissionFor({ token, sideExecutionId, threadId, parentAgentId }: Connection): Admission | null {
    const claims = this.#mint.read(token);
    if (claims === null || claims.sub !== sideExecutionId) return null;
    if (claims.threadId !== threadId || claims.parentAgentId !== parentAgentId) return null;
    const admission = this.#admitted.get(claims.sub);
    return admission && admission.clock.now().wallMs < claims.exp * 1_000 ? admission : null;
  }
}

/** Closes both directions, because the other end may never close its own. */
function refuse(socket: Duplex, status: string): void {
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

/** The identity that a connection claims, or the status with which it is refused. */
type UpgradeRequest = Connection | { readonly kind: 'refused'; readonly status: string };

interface Connection {
  readonly kind: 'claimed';
  readonly token: string;
  readonly sideExecutionId: string;
  readonly threadId: string;
  readonly parentAgentId: string;
}

const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i;

/** Pure. */
function readUpgrade(request: Pick<IncomingMessage, 'headers' | 'url' | 'method'>): UpgradeRequest {
  const { host = '', origin } = request.headers;
  // Executors send no origin, and use the loopback name. Anything else is a browser that a page or a foreign name led here.
  if (!LOOPBACK.test(host) || origin !== undefined) return { kind: 'refused', status: '403 Forbidden' };
  const url = urlOf(request.url ?? '');
  if (url?.pathname !== '/codebolt') return { kind: 'refused', status: '404 Not Found' };
  const { searchParams } = url;
  if (searchParams.get('IS_SIDE_EXECUTION') !== 'true') return { kind: 'refused', status: '401 Unauthorized' };
  return {
    kind: 'claimed',
    token: searchParams.get('threadToken') ?? '',
    sideExecutionId: searchParams.get('SIDE_EXECUTION_ID') ?? '',
    threadId: searchParams.get('THREAD_ID') ?? '',
    parentAgentId: searchParams.get('PARENT_AGENT_ID') ?? '',
  };
}

function urlOf(path: string): URL | null {
  const base = 'ws://127.0.0.1';
  return path.startsWith('/') && !path.startsWith('//') && URL.canParse(path, base) ? new URL(path, base) : null;
}

/** The connection that a token admits. */
interface TokenClaims {
  /** Side execution id. */
  readonly sub: string;
  readonly threadId: string;
  readonly parentAgentId: string;
  /** Seconds since 1970. */
  readonly exp: number;
}

const HEADER = encode({ alg: 'HS256', typ: 'JWT' });
const MAX_TOKEN_CHARACTERS = 8_192;

/** Signs and reads the tokens of one hub, with a key that never leaves it. */
class TokenMint {
  readonly #key = randomBytes(32);

  sign(claims: TokenClaims): string {
    const body = `${HEADER}.${encode(claims)}`;
    return `${body}.${this.#signature(body).toString('base64url')}`;
  }

  /** Returns `null` for a token that this hub did not sign. The caller checks the expiry time. */
  read(token: string): TokenClaims | null {
    if (token.length > MAX_TOKEN_CHARACTERS) return null;
    const [header, payload, signature, ...rest] = token.split('.');
    // Only our own header is accepted, so no other algorithm is ever used.
    if (header !== HEADER || payload === undefined || signature === undefined || rest.length > 0) return null;
    const given = Buffer.from(signature, 'base64url');
    const right = this.#signature(`${header}.${payload}`);
    if (given.length !== right.length || !timingSafeEqual(given, right)) return null;
    return claimsOf(payload);
  }

  #signature(body: string): Buffer {
    return createHmac('sha256', this.#key).update(body).digest();
  }
}

function claimsOf(payload: string): TokenClaims | null {
  const { sub, threadId, parentAgentId, exp } = fieldsOf(
    JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')),
  );
  const [id, thread, agent] = [textOf(sub), textOf(threadId), textOf(parentAgentId)];
  if (id === null || thread === null || agent === null || typeof exp !== 'number') return null;
  return { sub: id, threadId: thread, parentAgentId: agent, exp };
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
