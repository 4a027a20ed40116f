import { setTimeout as delay } from 'node:timers/promises';
import { BatonError } from '../domain/errors.js';
import type { Io } from './io.js';
import { ApiError, connectDaemon, type DaemonClient } from './client.js';
import type { DaemonTarget } from './daemon-place.js';
import type { StreamEvent } from './client/event-stream.js';

/** `gone`: why nobody is there right now; told once, until an event comes again. */
export type Followed = { readonly event: StreamEvent } | { readonly gone: string };

const BETWEEN_TRIES_MS = 1_000;

/**
 * A stream of the daemon over all its lives, until the signal. While nobody is there it waits: a daemon that was started again goes on
 * with what was missed, or with everything. Throws `ApiError` when the daemon is there and will not.
 */
export async function* followDaemon(
  target: DaemonTarget,
  path: string,
  io: Pick<Io, 'cwd' | 'env' | 'homeDir'>,
  signal: AbortSignal,
  betweenTriesMs = BETWEEN_TRIES_MS,
): AsyncGenerator<Followed, void> {
  let lastId: string | undefined;
  let isTold = false;
  while (!signal.aborted) {
    let why = 'the daemon has ended';
    try {
      for await (const event of eventsUntil(target, path, io, signal, lastId)) {
        lastId = event.id ?? lastId;
        isTold = false;
        yield { event };
      }
    } catch (error) {
      why = whyGone(error);
    }
    if (signal.aborted) return;
    if (!isTold) yield { gone: why };
    isTold = true;
    await delay(betweenTriesMs, undefined, { signal }).catch(() => {}); // That is the end.
  }
}

async function* eventsUntil(
  target: DaemonTarget,
  path: string,
  io: Pick<Io, 'cwd' | 'env' | 'homeDir'>,
  signal: AbortSignal,
  lastId: string | undefined,
): AsyncGenerator<StreamEvent, void> {
  let client: DaemonClient | null = null;
  const hangUp = () => client?.close();
  signal.addEventListener('abort', hangUp, { once: true });
  try {
    client = await connectDaemon(target, io);
    if (!signal.aborted) yield* client.events(path, lastId);
  } finally {
    signal.removeEventListener('abort', hangUp);
    client?.close();
  }
}

/** One that is there and refuses, or speaks another language, will do so the next time too. */
function whyGone(error: unknown): string {
  if (error instanceof BatonError && error.code === 'daemon_not_running') return error.message;
  if (error instanceof ApiError && error.code === 'no_answer') return error.message;
  throw error;
}
