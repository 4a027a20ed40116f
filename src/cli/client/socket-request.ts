import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { errorShape } from '../../status/shapes/request-shapes.js';
import { ApiError, badAnswer, noAnswer } from './api-error.js';

export interface ClientLimits {
  /** To connect, and until an answer begins. */
  readonly answerMs: number;
  /** For all of an answer. */
  readonly bodyMs: number;
  readonly bodyBytes: number;
  /** Of a stream, which sends a sign of life every 15 seconds. */
  readonly silenceMs: number;
}

export interface SocketRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: { readonly [name: string]: string };
  readonly body?: string;
}

/** How to reach the daemon, and what to say when it is not there. */
export interface Line {
  readonly socketPath: string;
  readonly limits: ClientLimits;
  readonly closed: AbortSignal;
  notRunning(cause: unknown): Error;
}

/** Is anybody there? A killed daemon leaves its socket behind, and nobody listens on it. */
export function knock({ socketPath, limits, notRunning }: Omit<Line, 'closed'>): Promise<void> {
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
export function send(line: Line, { method, path, headers, body }: SocketRequest): Promise<IncomingMessage> {
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
export async function bodyOf(response: IncomingMessage, limits: ClientLimits): Promise<string> {
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
export function parsedAnswer(text: string): unknown {
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
