import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import type { z } from 'zod';
import { errorShape, type IssueView, issueShape, LISTS, stateShape } from '../api/schemas.js';
import { type SocketAddress, socketAddress } from '../api/socket-address.js';
import { type SseEvent, SseParser } from '../api/sse-parser.js';
import { BatonError, toBatonError } from '../domain/errors.js';
import { nearestWord } from '../domain/nearest-word.js';
import { HttpClient, HttpFault, type HttpResponse } from '../http/client.js';
import { defaultStateDir } from '../state-dir.js';
import { localiseTimes } from '../text/format-time.js';
import { neutraliseLines } from '../text/neutralise.js';
import { workflowKey } from '../workflow/workspace-root.js';
import { type Io, shellWord } from './io.js';

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
  const place = await locateDaemon(target, io);
  const address = await socketAddress(place.stateDir).catch((error: NodeJS.ErrnoException) => {
    throw ['ENOENT', 'ENOTDIR'].includes(error.code ?? '')
      ? place.notRunning(error)
      : toBatonError(error, 'store_failed');
  });
  const client = new HttpClient({ socketPath: address.path });
  const line = { socketPath: address.path, client, limits: { ...LIMITS, ...limits }, notRunning: place.notRunning };
  await probeSocket(line).catch(async (error: unknown) => {
    await address.close();
    throw error;
  });
  return clientOn(line, place, address);
}

function clientOn(
  open: Omit<DaemonConnection, 'closed'>,
  { stateDir }: DaemonLocation,
  address: SocketAddress,
): DaemonClient {
  const closing = new AbortController();
  const line: DaemonConnection = { ...open, closed: closing.signal };
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
interface DaemonConnection {
  readonly socketPath: string;
  readonly client: HttpClient;
  readonly limits: ClientLimits;
  readonly closed: AbortSignal;
  notRunning(cause: unknown): Error;
}

/** Is anybody there? A killed daemon leaves its socket behind, and nobody listens on it. */
function probeSocket({ socketPath, limits, notRunning }: Omit<DaemonConnection, 'closed'>): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath);
    const late = setTimeout(() => socket.destroy(new HttpFault('timeout')), limits.answerMs);
    socket.once('connect', () => socket.destroy());
    socket.once('close', () => {
      clearTimeout(late);
      resolve();
    });
    socket.on('error', (error) => reject(failure(error, limits.answerMs, notRunning)));
  });
}

/** Resolves when the response begins. The caller reads or closes it. */
async function send(connection: DaemonConnection, request: SocketRequest): Promise<HttpResponse> {
  const { client, limits, closed, notRunning } = connection;
  const url = new URL(`http://baton${request.path}`);
  try {
    const { method, headers = {}, body = null } = request;
    return await client.send({ method, url, headers, body, signal: closed, responseTimeoutMs: limits.answerMs });
  } catch (error) {
    throw failure(error, limits.answerMs, notRunning);
  }
}

/** The whole body as text. Throws the error that an error response describes. */
async function bodyOf(response: HttpResponse, limits: ClientLimits): Promise<string> {
  const { bytes, fault } = await response.read(limits.bodyBytes, limits.bodyMs);
  if (fault?.kind === 'too_long') throw badAnswer(`the daemon answered with more than ${limits.bodyBytes} bytes`);
  if (fault?.kind === 'timeout') throw noAnswer(silent(limits.bodyMs));
  if (fault?.kind === 'aborted') throw noAnswer('the connection was closed');
  if (fault) throw noAnswer('the daemon ended in the middle of its answer', fault);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw badAnswer('the daemon answered with something else than text in UTF-8', error);
  }
  if (response.status < 200 || response.status > 299) throw refusalOf(response.status, text);
  return text;
}

/** `JSON.parse`, with an error that names who said it. */
function parsedAnswer(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw badAnswer(`the daemon answered with something else than JSON: ${(error as Error).message}`, error);
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

function failure(error: unknown, limitMs: number, notRunning: (cause: unknown) => Error): Error {
  const fault = error instanceof HttpFault ? error : null;
  if (fault?.kind === 'timeout') return noAnswer(silent(limitMs));
  if (fault?.kind === 'aborted') return noAnswer('the connection was closed');
  const cause = (fault?.cause ?? error) as NodeJS.ErrnoException;
  const { code = '', message } = cause;
  if (['ENOENT', 'ECONNREFUSED', 'ENOTDIR'].includes(code)) return notRunning(cause);
  if (code.startsWith('HPE_')) return badAnswer(`who listens there does not speak HTTP: ${message}`, cause);
  if (code === 'ECONNRESET') return noAnswer('the daemon ended the connection without an answer', cause);
  return noAnswer(`the daemon cannot be asked: ${message}`, cause);
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
async function* eventsOf(
  line: DaemonConnection,
  path: string,
  lastEventId?: string,
): AsyncGenerator<StreamEvent, void> {
  const headers = {
    accept: 'text/event-stream',
    ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
  };
  const response = await send(line, { method: 'GET', path, headers });
  if (response.status !== 200) {
    const text = await bodyOf(response, line.limits);
    throw badAnswer(`the daemon answered ${response.status} instead of a stream: ${text.slice(0, 200)}`);
  }
  // From here on a daemon that is gone is the end of the stream, and no failure.
  const silence = setTimeout(() => response.close(), line.limits.silenceMs);
  try {
    for await (const events of readEvents(response)) {
      for (const { event, id, data } of events) yield { event, id, data: parsedAnswer(data) };
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

/** Asks the daemon; the exit code: 1 when it would not, 2 when there is none. */
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

export function printDaemonError(error: unknown, { stderr }: Pick<Io, 'stderr'>): 1 | 2 {
  if (!(error instanceof BatonError || error instanceof ApiError)) throw error;
  stderr.write(`baton: ${neutraliseLines(localiseTimes(`${error.code}: ${error.message}`, Date.now()))}\n`);
  return error instanceof ApiError ? 1 : 2;
}

export function isNotRunning(error: unknown): boolean {
  return error instanceof BatonError && error.code === 'daemon_not_running';
}

/** Of a route about one issue. */
export function issuePath(issue: string, action?: string): string {
  return `/api/v1/issues/${encodeURIComponent(issue)}${action === undefined ? '' : `/${action}`}`;
}

/** What the daemon knows of an issue, by its name as people type it: `task-1` is TASK-1. Throws `ApiError`, with the one that was meant. */
export async function getIssue(client: DaemonClient, name: string): Promise<IssueView> {
  try {
    return await client.get(issuePath(name), issueShape);
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'issue_not_found') throw error;
    const state = await client.get('/api/v1/state', stateShape);
    const names = [...new Set(LISTS.flatMap((list) => state[list].map((entry) => entry.issue_identifier)))];
    const near = nearestWord(name, names);
    throw near === null ? error : new ApiError(error.status, error.code, `${error.message} Did you mean ${near}?`);
  }
}

/** Whose daemon is meant. Nothing: that of the WORKFLOW.md in the current folder. */
export interface DaemonTarget {
  readonly workflow?: string | undefined;
  readonly stateDir?: string | undefined;
}

/** Where the daemon is to be found. */
interface DaemonLocation {
  readonly stateDir: string;
  /** Absolute. `null`: only the state directory was named. */
  readonly workflow: string | null;
  /** There is no such workflow, and nothing is stored of one: it was probably not meant. */
  readonly isNowhere: boolean;
  notRunning(cause?: unknown): BatonError;
}

type World = Pick<Io, 'cwd' | 'env' | 'homeDir'>;

/** The workflow is not read: its daemon can be asked while the file is faulty, or gone. */
export async function locateDaemon({ workflow, stateDir }: DaemonTarget, io: World): Promise<DaemonLocation> {
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
    notRunning: (cause) => new BatonError('daemon_not_running', whyNot(path, dir, command), {}, { cause }),
  };
}

function whyNot(workflow: string | null, stateDir: string, start: string): string {
  if (workflow === null) return `no daemon runs with the state directory ${stateDir}. To start one: ${start}`;
  const where = `no daemon of ${workflow} runs (there is none in ${stateDir})`;
  if (existsSync(workflow)) return `${where}. To start one: ${start}; of one with another --state-dir, name that too`;
  return `there is no ${workflow}, and no daemon of it runs. Name the workflow file or the --state-dir of the daemon; "baton status" in a folder without a workflow lists them all`;
}
