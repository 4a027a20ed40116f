import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import type { z } from 'zod';
import type { IssueView } from '../api/schemas.js';
import { socketAddress, VERSION_HEADER } from '../api/socket-address.js';
import { type SseEvent, SseParser } from '../api/sse-parser.js';
import { BatonError, toBatonError } from '../domain/errors.js';
import { nearestWord } from '../domain/nearest-word.js';
import { shellWord } from '../domain/shell-word.js';
import { HttpClient, HttpFault, type HttpResponse } from '../http/client.js';
import { defaultStateDir } from '../state-dir.js';
import { localiseTimes } from '../text/format-time.js';
import { neutraliseLines } from '../text/neutralise.js';
import { workflowKey } from '../workflow/workflow-key.js';
import type { Io } from './io.js';

/** A client of a running daemon, over the socket in its state directory. The methods throw `ApiError` or `daemon_not_running`. */
export interface DaemonClient {
  readonly stateDir: string;
  get<T>(path: string, shape: Shape<T>): Promise<T>;
  /** `timeoutMs`: until the response begins. */
  post<T>(path: string, body: unknown, shape: Shape<T>, timeoutMs?: number): Promise<T>;
  text(path: string): Promise<string>;
  /** Ends with the connection, and after 45 seconds of silence. Throws only when it cannot start or an event is invalid. */
  events(path: string, lastEventId?: string): AsyncIterable<StreamEvent>;
  /** Aborts the requests in progress. */
  close(): void;
}

type Shape<T> = z.ZodType<T> | (() => Promise<z.ZodType<T>>);

type Shapes = typeof import('../api/schemas.js');
type ShapeName = Extract<keyof Shapes, `${string}Shape`>;

/** A shape of the API that is loaded only for the answer of another version: that takes a third of the time of a command. */
export function lateShape<Name extends ShapeName>(name: Name): () => Promise<Shapes[Name]> {
  return async () => (await import('../api/schemas.js'))[name];
}

export interface StreamEvent {
  readonly event: string;
  readonly id: string | null;
  readonly data: unknown;
}

interface ClientLimits {
  /** To connect, and until a response begins. */
  readonly answerMs: number;
  /** For the whole body of a response. */
  readonly bodyMs: number;
  readonly bodyBytes: number;
  /** Of a stream; the daemon sends a ping every 15 seconds. */
  readonly silenceMs: number;
}

const LIMITS: ClientLimits = { answerMs: 5_000, bodyMs: 30_000, bodyBytes: 64 * 1024 * 1024, silenceMs: 45_000 };

/** Runs `act` with a connected client; the exit code is 1 after an `ApiError` and 2 when no daemon is running. */
export async function withDaemon(
  target: DaemonTarget,
  io: Io,
  act: (client: DaemonClient) => Promise<number>,
): Promise<number> {
  let client: DaemonClient | null = null;
  try {
    client = await connectDaemon(target, io);
    return await act(client);
  } catch (error) {
    return printDaemonError(error, io);
  } finally {
    client?.close();
  }
}

/** Throws `BatonError` `daemon_not_running`. */
export async function connectDaemon(
  target: DaemonTarget,
  io: Environment,
  limits: Partial<ClientLimits> = {},
): Promise<DaemonClient> {
  const location = await locateDaemon(target, io);
  const address = await socketAddress(location.stateDir).catch((error: NodeJS.ErrnoException) => {
    throw ['ENOENT', 'ENOTDIR'].includes(error.code ?? '')
      ? location.notRunning(error)
      : toBatonError(error, 'store_failed');
  });
  const closing = new AbortController();
  const connection: DaemonConnection = {
    client: new HttpClient({ socketPath: address.path }),
    limits: { ...LIMITS, ...limits },
    closed: closing.signal,
    version: io.version,
    notRunning: location.notRunning,
  };
  await probeSocket(address.path, connection).catch(async (error: unknown) => {
    await address.close();
    throw error;
  });
  const close = () => {
    if (closing.signal.aborted) return;
    closing.abort();
    void address.close().catch(() => {}); // It was only read.
  };
  return clientOn(connection, location.stateDir, close);
}

function clientOn(connection: DaemonConnection, stateDir: string, close: () => void): DaemonClient {
  const { limits, version } = connection;
  const text = async (request: SocketRequest): Promise<string> => readBody(await send(connection, request), limits);
  const exchange = async <T>(request: SocketRequest, shape: Shape<T>): Promise<T> => {
    const response = await send(connection, request);
    const answer = parseJson(await readBody(response, limits));
    if (version !== undefined && response.headers[VERSION_HEADER] === version) return answer as T;
    return checkShape(answer, typeof shape === 'function' ? await shape() : shape);
  };
  return {
    stateDir,
    get: (path, shape) => exchange({ method: 'GET', path }, shape),
    post: (path, body, shape, timeoutMs) => {
      const headers = { 'content-type': 'application/json' };
      return exchange({ method: 'POST', path, headers, body: JSON.stringify(body ?? {}), timeoutMs }, shape);
    },
    text: (path) => text({ method: 'GET', path }),
    events: (path, lastEventId) => streamEvents(connection, path, lastEventId),
    close,
  };
}

interface DaemonConnection {
  readonly client: HttpClient;
  readonly limits: ClientLimits;
  readonly closed: AbortSignal;
  readonly version: string | undefined;
  notRunning(cause: unknown): Error;
}

interface SocketRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: { readonly [name: string]: string };
  readonly body?: string;
  readonly timeoutMs?: number | undefined;
}

/** A killed daemon leaves its socket behind; connecting shows whether a process listens on it. */
function probeSocket(socketPath: string, { limits, notRunning }: DaemonConnection): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath);
    const timer = setTimeout(() => socket.destroy(new HttpFault('timeout')), limits.answerMs);
    socket.once('connect', () => socket.destroy());
    socket.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
    socket.on('error', (error) => reject(toClientError(error, limits.answerMs, notRunning)));
  });
}

/** Resolves when the response begins. The caller reads or closes it. */
async function send(connection: DaemonConnection, request: SocketRequest): Promise<HttpResponse> {
  const { client, limits, closed, notRunning } = connection;
  const { method, headers = {}, body = null, timeoutMs = limits.answerMs } = request;
  const url = new URL(`http://baton${request.path}`);
  try {
    return await client.send({ method, url, headers, body, signal: closed, responseTimeoutMs: timeoutMs });
  } catch (error) {
    throw toClientError(error, timeoutMs, notRunning);
  }
}

/** The whole body as text. Throws the error that an error response describes. */
async function readBody(response: HttpResponse, limits: ClientLimits): Promise<string> {
  const { bytes, fault } = await response.read(limits.bodyBytes, limits.bodyMs);
  if (fault?.kind === 'too_long') throw badAnswer(`the daemon answered with more than ${limits.bodyBytes} bytes`);
  if (fault?.kind === 'timeout') throw noAnswer(timeoutMessage(limits.bodyMs));
  if (fault?.kind === 'aborted') throw noAnswer('the connection was closed');
  if (fault) throw noAnswer('the daemon ended in the middle of its answer', fault);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw badAnswer('the answer of the daemon is not UTF-8', error);
  }
  if (response.status < 200 || response.status > 299) throw await errorOf(response.status, text);
  return text;
}

async function errorOf(status: number, text: string): Promise<ApiError> {
  const { errorShape } = await import('../api/schemas.js');
  const parsed = errorShape.safeParse(jsonOrNull(text));
  if (!parsed.success) return badAnswer(`the daemon answered ${status} without an error code`);
  return new ApiError(status, parsed.data.error.code, parsed.data.error.message);
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Throws `bad_answer` for data that the daemon of this version would not send. */
export function checkShape<T>(data: unknown, shape: z.ZodType<T>): T {
  const parsed = shape.safeParse(data);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue ? `: ${issue.path.join('.') || 'the whole answer'}: ${issue.message}` : '';
  throw badAnswer(`this version of Baton does not understand the answer of the daemon${where}`, parsed.error);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw badAnswer(`the answer of the daemon is not JSON: ${(error as Error).message}`, error);
  }
}

function toClientError(error: unknown, timeoutMs: number, notRunning: (cause: unknown) => Error): Error {
  const fault = error instanceof HttpFault ? error : null;
  if (fault?.kind === 'timeout') return noAnswer(timeoutMessage(timeoutMs));
  if (fault?.kind === 'aborted') return noAnswer('the connection was closed');
  const cause = (fault?.cause ?? error) as NodeJS.ErrnoException;
  const { code = '', message } = cause;
  if (['ENOENT', 'ECONNREFUSED', 'ENOTDIR'].includes(code)) return notRunning(cause);
  if (code.startsWith('HPE_')) return badAnswer(`the process at the socket does not speak HTTP: ${message}`, cause);
  if (code === 'ECONNRESET') return noAnswer('the daemon ended the connection without an answer', cause);
  return noAnswer(`the request to the daemon failed: ${message}`, cause);
}

function timeoutMessage(timeoutMs: number): string {
  return `the daemon did not answer within ${timeoutMs / 1000} s`;
}

/** Ends with the connection, for whatever reason; the caller reconnects with the id of the last event. */
async function* streamEvents(
  connection: DaemonConnection,
  path: string,
  lastEventId?: string,
): AsyncGenerator<StreamEvent, void> {
  const headers = {
    accept: 'text/event-stream',
    ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
  };
  const response = await send(connection, { method: 'GET', path, headers });
  if (response.status !== 200) {
    const text = await readBody(response, connection.limits);
    throw badAnswer(`the daemon answered ${response.status} instead of a stream: ${text.slice(0, 200)}`);
  }
  const silence = setTimeout(() => response.close(), connection.limits.silenceMs);
  try {
    for await (const events of readEvents(response)) {
      for (const { event, id, data } of events) yield { event, id, data: parseJson(data) };
      silence.refresh();
    }
  } finally {
    clearTimeout(silence);
    response.close();
  }
}

async function* readEvents({ chunks }: HttpResponse): AsyncGenerator<SseEvent[], void> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const parser = new SseParser();
  const body = chunks[Symbol.asyncIterator]();
  for (;;) {
    const chunk = await body.next().catch(() => null);
    if (chunk === null || chunk.done) return;
    let events: SseEvent[];
    try {
      events = parser.push(decoder.decode(chunk.value, { stream: true }));
    } catch (error) {
      throw badAnswer(`the stream of the daemon cannot be read: ${(error as Error).message}`, error);
    }
    yield events;
  }
}

/** Status of an error without a valid HTTP response. */
const NO_STATUS = 0;

/** A request to a running daemon failed. The codes are those of the API, `no_answer` and `bad_answer`. */
export class ApiError extends Error {
  override readonly name = 'ApiError';

  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The daemon sent no answer, or not all of it. */
function noAnswer(message: string, cause?: unknown): ApiError {
  return new ApiError(NO_STATUS, 'no_answer', message, { cause });
}

/** The daemon sent an answer that a daemon of this version does not send. */
function badAnswer(message: string, cause?: unknown): ApiError {
  return new ApiError(NO_STATUS, 'bad_answer', message, { cause });
}

/** Prints the error of a request; the exit code. Rethrows any other error. */
export function printDaemonError(error: unknown, { stderr }: Pick<Io, 'stderr'>): 1 | 2 {
  if (!(error instanceof BatonError || error instanceof ApiError)) throw error;
  stderr.write(`baton: ${neutraliseLines(localiseTimes(`${error.code}: ${error.message}`, Date.now()))}\n`);
  return error instanceof ApiError ? 1 : 2;
}

export function isNotRunning(error: unknown): boolean {
  return error instanceof BatonError && error.code === 'daemon_not_running';
}

/** The path of a route about one issue. */
export function issuePath(issue: string, action?: string): string {
  return `/api/v1/issues/${encodeURIComponent(issue)}${action === undefined ? '' : `/${action}`}`;
}

/** Adds a suggestion to the error for an unknown issue. Throws `ApiError`. */
export async function getIssue(client: DaemonClient, name: string): Promise<IssueView> {
  try {
    return await client.get(issuePath(name), lateShape('issueShape'));
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'issue_not_found') throw error;
    const near = await nearestIssue(client, name);
    throw near === null ? error : new ApiError(error.status, error.code, `${error.message} Did you mean ${near}?`);
  }
}

/** The identifier of an issue of the daemon that is spelled like `name`. */
export async function nearestIssue(client: DaemonClient, name: string): Promise<string | null> {
  const state = await client.get('/api/v1/state', lateShape('stateShape'));
  const { LISTS } = await import('../api/schemas.js');
  const identifiers = LISTS.flatMap((list) => state[list].map((entry) => entry.issue_identifier));
  return nearestWord(name, [...new Set(identifiers)]);
}

/** Names a daemon. When both are absent: the daemon of the WORKFLOW.md in the current folder. */
export interface DaemonTarget {
  readonly workflow?: string | undefined;
  readonly stateDir?: string | undefined;
}

interface DaemonLocation {
  readonly stateDir: string;
  /** Absolute. Null when only the state directory was named. */
  readonly workflow: string | null;
  /** Neither the workflow nor stored state exists: the name is probably mistyped. */
  readonly isNowhere: boolean;
  notRunning(cause?: unknown): BatonError;
}

type Environment = Pick<Io, 'cwd' | 'env' | 'homeDir' | 'version'>;

/** Does not read the workflow: its daemon may run while the file is invalid or gone. */
export async function locateDaemon({ workflow, stateDir }: DaemonTarget, io: Environment): Promise<DaemonLocation> {
  const path = workflow === undefined && stateDir !== undefined ? null : resolve(io.cwd, workflow ?? 'WORKFLOW.md');
  const dir =
    stateDir === undefined
      ? defaultStateDir(await workflowKey(path ?? ''), io.env, io.homeDir)
      : resolve(io.cwd, stateDir);
  const start = ['baton', ...(workflow === undefined ? [] : [workflow])];
  if (stateDir !== undefined) start.push('--state-dir', stateDir);
  const command = start.map(shellWord).join(' ');
  return {
    stateDir: dir,
    workflow: path,
    isNowhere: path !== null && !existsSync(path) && !existsSync(join(dir, 'baton.db')),
    notRunning: (cause) => new BatonError('daemon_not_running', notRunningMessage(path, dir, command), {}, { cause }),
  };
}

function notRunningMessage(workflow: string | null, stateDir: string, start: string): string {
  if (workflow === null) return `no daemon is running with the state directory ${stateDir}. To start one: ${start}`;
  if (existsSync(workflow)) {
    return `no daemon is running for ${workflow} with the state directory ${stateDir}. To start one: ${start}; if it runs with another --state-dir, name it`;
  }
  return `there is no ${workflow}, and no daemon is running for it. Name the workflow file or the --state-dir of the daemon; "baton status" in a folder without a workflow lists all daemons`;
}
