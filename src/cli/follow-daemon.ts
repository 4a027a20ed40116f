import { setTimeout as delay } from 'node:timers/promises';
import type { z } from 'zod';
import { applyPatch } from '../api/patch.js';
import { patchShape, type StateView, stateShape } from '../api/schemas.js';
import { BatonError } from '../domain/errors.js';
import type { DaemonTarget } from './client.js';
import { ApiError, badAnswer, connectDaemon, type DaemonClient, type StreamEvent } from './client.js';
import type { Io } from './io.js';

/** `gone`: why nobody is there right now; told once, until an event comes again. */
export type FollowEvent = { readonly event: StreamEvent } | { readonly gone: string };

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
): AsyncGenerator<FollowEvent, void> {
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

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

interface Interruption {
  readonly signal: AbortSignal;
  /** From here on a signal ends us as it ends anybody. */
  restore(): void;
}

/** For commands that go on until somebody has seen enough: a person who presses Ctrl-C, or a reader who has gone. */
export function untilInterrupted({ stdout }: Pick<Io, 'stdout'>): Interruption {
  const controller = new AbortController();
  const end = () => controller.abort();
  for (const name of SIGNALS) process.on(name, end);
  stdout.on('error', end);
  stdout.on('close', end);
  return {
    signal: controller.signal,
    restore() {
      for (const name of SIGNALS) process.off(name, end);
      stdout.off('error', end);
      stdout.off('close', end);
    },
  };
}

/** The state after an event of the stream; events that tell nothing of it leave it as it is. Throws `ApiError`. */
export function nextState(view: StateView | null, { event, data }: StreamEvent): StateView | null {
  if (event === 'state') return read(stateShape, data);
  // Without a state before it there is nothing to patch; it comes with the next connection.
  if (event === 'patch' && view !== null) return applyPatch(view, read(patchShape, data));
  return view;
}

function read<T>(shape: z.ZodType<T>, data: unknown): T {
  const found = shape.safeParse(data);
  if (found.success) return found.data;
  throw badAnswer('the daemon sent something that this version of Baton does not know', found.error);
}
