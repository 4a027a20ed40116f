import type { z } from 'zod';
import { toBatonError } from '../domain/errors.js';
import { type SocketAddress, socketAddress } from '../api/socket-address.js';
import type { Io } from './io.js';
import { badAnswer } from './client/api-error.js';
import { type DaemonPlace, type DaemonTarget, daemonPlace } from './daemon-place.js';
import { eventsOf, type StreamEvent } from './client/event-stream.js';
import {
  bodyOf,
  type ClientLimits,
  knock,
  type Line,
  parsedAnswer,
  type SocketRequest,
  send,
} from './client/socket-request.js';

export { ApiError } from './client/api-error.js';

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
