import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { z } from 'zod';
import { errorShape } from '../api/schemas.js';
import { type SocketAddress, socketAddress } from '../api/socket-address.js';
import { type SseEvent, SseParser } from '../api/sse-parser.js';
import { toBatonError } from '../domain/errors.js';
import { type DaemonPlace, type DaemonTarget, daemonPlace } from './daemon-place.js';
import type { Io } from './io.js';

/** What commands ask a running daemon, over the socket in its state directory. */
export interface DaemonClient {
  readonly stateDir: string;
  get<T>(path: string, shape: z.ZodType<T>): Promise<T>;
  /** `limitMs`: how long the daemon may think about it. */
  post<T>(path: string, body: unknown, shape: z.ZodType<T>, limitMs?: number): Promise<T>;
  text(path: string): Promise<string>;
  /** Ends when the stream does, which is when nothing has come for 45 seconds, too. Throws only when it cannot begin or is not understood. */
  events(path: string, lastEventId?: string): AsyncIterable<StreamEvent>;
  /** Ends what is still under way. */
  close(): void;
}

const LIMITS: ClientLimits = { answerMs: 5_000, bodyMs: 30_000, bodyBytes: 64 * 1024 * 1024, silenceMs: 45_000 };

/** Throws `BatonError` `daemon_not_running`. What is asked later throws that too, or `ApiError`. */
export async function connectDaemon(
  target: DaemonTarget,
  io: Pick<Io, 'cwd' | 'env' | 'homeDir'>,
  limits: Partial<ClientLimits> = {},
): Promise<DaemonClient> {
  const place = await daemonPlace(target, io);
  const address = await socketAddress(place.stateDir).catch((error: NodeJS.ErrnoException) => {
    throw ['ENOENT', 'ENOTDIR'].includes(error.code ?? '')
      ? place.notRunning(error)
      : toBatonError(error, 'store_failed');
  });
  const line = { socketPath: address.path, limits: { ...LIMITS, ...limits }, notRunning: place.notRunning };
  await knock(line).catch(async (error: unknown) => {
    await address.close();
    throw error;
  });
  return clientOn(line, place, address);
}

function clientOn(open: Omit<Line, 'closed'>, { stateDir }: DaemonPlace, address: SocketAddress): DaemonClient {
  const closing = new AbortController();
  const line: Line = { ...open, closed: closing.signal };
  const ask = async (request: SocketRequest, limits: ClientLimits = line.limits): Promise<string> =>
    bodyOf(await send({ ...line, limits }, request), limits);
  return {
    stateDir,
    get: async (path, shape) => shaped(await ask({ method: 'GET', path }), shape),
    post: async (path, body, shape, limitMs = line.limits.answerMs) => {
      const headers = { 'content-type': 'application/json' };
      const request: SocketRequest = { method: 'POST', path, headers, body: JSON.stringify(body ?? {}) };
      return shaped(await ask(request, { ...line.limits, answerMs: limitMs }), shape);
    },
    text: (path) => ask({ method: 'GET', path }),
    events: (path, lastEventId) => eventsOf(line, path, lastEventId),
    close() {
      if (closing.signal.aborted) return;
      closing.abort();
      void address.close().catch(() => {}); // It was only read.
    },
  };
}

function shaped<T>(text: string, shape: z.ZodType<T>): T {
  const found = shape.safeParse(parsedAnswer(text));
  if (found.success) return found.data;
  const [issue] = found.error.issues;
  const where = issue ? `: ${issue.path.join('.') || 'all of it'}: ${issue.message}` : '';
  throw badAnswer(`the daemon answered with something that this version of Baton does not know${where}`, found.error);
}

interface ClientLimits {
  /** To connect, and until an answer begins. */
  readonly answerMs: number;
  /** For all of an answer. */
  readonly bodyMs: number;
  readonly bodyBytes: number;
  /** Of a stream, which sends a sign of life every 15 seconds. */
  readonly silenceMs: number;
}

interface SocketRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: { readonly [name: string]: string };
  readonly body?: string;
}

/** How to reach the daemon, and what to say when it is not there. */
interface Line {
  readonly socketPath: string;
  readonly limits: ClientLimits;
  readonly closed: AbortSignal;
  notRunning(cause: unknown): Error;
}

/** Is anybody there? A killed daemon leaves its socket behind, and nobody listens on it. */
function knock({ socketPath, limits, notRunning }: Omit<Line, 'closed'>): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath);
    const late = setTimeout(() => socket.destroy(noAnswer(silent(limits.answerMs))), limits.answerMs);
    socket.once('connect', () => socket.destroy());
    socket.once('close', () => {
      clearTimeout(late);
      resolve();
    });
    socket.on('error', (error) => reject(failure(error, notRunning)));
  });
}

/** The answer as soon as it begins. Whoever gets it destroys it. */
function send(line: Line, { method, path, headers, body }: SocketRequest): Promise<IncomingMessage> {
  const { socketPath, limits, closed, notRunning } = line;
  return new Promise((resolve, reject) => {
    const request = httpRequest({ socketPath, method, path, headers: { host: 'baton', ...headers }, agent: false });
    const hangUp = () => request.destroy(noAnswer('the connection was closed'));
    const late = setTimeout(() => request.destroy(noAnswer(silent(limits.answerMs))), limits.answerMs);
    closed.addEventListener('abort', hangUp, { once: true });
    request.once('response', (response) => {
      clearTimeout(late);
      resolve(response);
    });
    request.on('error', (error) => reject(failure(error, notRunning)));
    request.once('close', () => {
      clearTimeout(late);
      closed.removeEventListener('abort', hangUp);
      // Nothing happens when it was settled before.
      reject(noAnswer('the daemon ended the connection without an answer'));
    });
    if (closed.aborted) hangUp();
    else request.end(body);
  });
}

/** All of an answer as text; one that says that something is wrong is thrown. */
async function bodyOf(response: IncomingMessage, limits: ClientLimits): Promise<string> {
  const late = setTimeout(() => response.destroy(noAnswer(silent(limits.bodyMs))), limits.bodyMs);
  try {
    const text = await boundedText(response, limits.bodyBytes);
    const status = response.statusCode ?? 0;
    if (status < 200 || status > 299) throw refusalOf(status, text);
    return text;
  } finally {
    clearTimeout(late);
    response.destroy();
  }
}

/** `JSON.parse`, with an error that names who said it. */
function parsedAnswer(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw badAnswer(`the daemon answered with something else than JSON: ${(error as Error).message}`, error);
  }
}

async function boundedText(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw badAnswer(`the daemon answered with more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof ApiError ? error : noAnswer('the daemon ended in the middle of its answer', error);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch (error) {
    throw badAnswer('the daemon answered with something else than text in UTF-8', error);
  }
}

function refusalOf(status: number, text: string): ApiError {
  const said = errorShape.safeParse(jsonOrNull(text));
  if (!said.success) return badAnswer(`the daemon answered ${status} with something else than a reason`);
  return new ApiError(status, said.data.error.code, said.data.error.message);
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function failure(error: NodeJS.ErrnoException, notRunning: (cause: unknown) => Error): Error {
  if (error instanceof ApiError) return error;
  const code = error.code ?? '';
  if (['ENOENT', 'ECONNREFUSED', 'ENOTDIR'].includes(code)) return notRunning(error);
  if (code.startsWith('HPE_')) return badAnswer(`who listens there does not speak HTTP: ${error.message}`, error);
  if (code === 'ECONNRESET') return noAnswer('the daemon ended the connection without an answer', error);
  return noAnswer(`the daemon cannot be asked: ${error.message}`, error);
}

function silent(limitMs: number): string {
  return `the daemon gave no answer within ${limitMs / 1000} s`;
}

export interface StreamEvent {
  readonly event: string;
  readonly id: string | null;
  readonly data: unknown;
}

/** Ends when the stream ends, however it does: whoever wants more asks again, with the id of the last event. */
async function* eventsOf(line: Line, path: string, lastEventId?: string): AsyncGenerator<StreamEvent, void> {
  const headers = {
    accept: 'text/event-stream',
    ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
  };
  const response = await send(line, { method: 'GET', path, headers });
  if (response.statusCode !== 200) {
    const text = await bodyOf(response, line.limits);
    throw badAnswer(`the daemon answered ${response.statusCode} instead of a stream: ${text.slice(0, 200)}`);
  }
  // From here on a daemon that is gone is the end of the stream, and no failure.
  const silence = setTimeout(() => response.destroy(), line.limits.silenceMs);
  try {
    for await (const events of readEvents(response)) {
      for (const { event, id, data } of events) yield { event, id, data: parsedAnswer(data) };
      silence.refresh();
    }
  } finally {
    clearTimeout(silence);
    response.destroy();
  }
}

async function* readEvents(response: IncomingMessage): AsyncGenerator<SseEvent[], void> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const parser = new SseParser();
  const chunks = (response as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  for (;;) {
    const chunk = await chunks.next().catch(() => null);
    if (chunk === null || chunk.done) return;
    let events: SseEvent[];
    try {
      events = parser.push(decoder.decode(chunk.value, { stream: true }));
    } catch (error) {
      throw badAnswer(`the daemon sent a stream that cannot be read: ${(error as Error).message}`, error);
    }
    yield events;
  }
}

/** Of answers that were none, or no answer of ours. */
const NO_STATUS = 0;

/** The daemon was asked, and did not do it or did not say so. The codes are those of the API, or one of the two below. */
export class ApiError extends Error {
  override readonly name = 'ApiError';

  constructor(
    /** Of the HTTP answer; 0: there was none that could be understood. */
    readonly status: number,
    readonly code: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** It was there, and said nothing, or not all of it. */
function noAnswer(message: string, cause?: unknown): ApiError {
  return new ApiError(NO_STATUS, 'no_answer', message, { cause });
}

/** It said something that the daemon of this version does not say. */
export function badAnswer(message: string, cause?: unknown): ApiError {
  return new ApiError(NO_STATUS, 'bad_answer', message, { cause });
}
