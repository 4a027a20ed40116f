import { setTimeout as delay } from 'node:timers/promises';
import { applyPatch } from '../api/patch.js';
import { patchShape, type StateView, stateShape } from '../api/schemas.js';
import {
  ApiError,
  checkShape,
  connectDaemon,
  type DaemonClient,
  type DaemonTarget,
  isNotRunning,
  type StreamEvent,
} from './client.js';
import type { Io } from './io.js';

/** `gone` is the reason for a lost connection; it is yielded once until the next event. */
export type FollowEvent = { readonly event: StreamEvent } | { readonly gone: string };

const RECONNECT_MS = 1_000;

/**
 * Follows a stream of the daemon until the signal. While no daemon runs it tries to reconnect; a restarted daemon continues after the last
 * event or starts again with the whole state. Throws `ApiError` when a daemon refuses the stream.
 */
export async function* followDaemon(
  target: DaemonTarget,
  path: string,
  io: Pick<Io, 'cwd' | 'env' | 'homeDir'>,
  signal: AbortSignal,
  reconnectMs = RECONNECT_MS,
): AsyncGenerator<FollowEvent, void> {
  let lastId: string | undefined;
  let isReported = false;
  while (!signal.aborted) {
    let reason = 'the daemon has ended';
    try {
      for await (const event of eventsUntil(target, path, io, signal, lastId)) {
        lastId = event.id ?? lastId;
        isReported = false;
        yield { event };
      }
    } catch (error) {
      // Any other error would occur again.
      if (!isNotRunning(error) && !(error instanceof ApiError && error.code === 'no_answer')) throw error;
      reason = (error as Error).message;
    }
    if (signal.aborted) return;
    if (!isReported) yield { gone: reason };
    isReported = true;
    await delay(reconnectMs, undefined, { signal }).catch(() => {}); // The signal ends the loop.
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
  const close = () => client?.close();
  signal.addEventListener('abort', close, { once: true });
  try {
    client = await connectDaemon(target, io);
    if (!signal.aborted) yield* client.events(path, lastId);
  } finally {
    signal.removeEventListener('abort', close);
    client?.close();
  }
}

/** The state after an event of the stream; other events leave it unchanged. Throws `ApiError`. */
export function nextState(view: StateView | null, { event, data }: StreamEvent): StateView | null {
  if (event === 'state') return checkShape(data, stateShape);
  // Without a state there is nothing to patch; the next connection sends one.
  if (event === 'patch' && view !== null) return applyPatch(view, checkShape(data, patchShape));
  return view;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

interface Interruption {
  readonly signal: AbortSignal;
  /** From here on a signal ends the process again. */
  restore(): void;
}

/** Aborted by Ctrl-C, and when the reader of the output has gone. */
export function untilInterrupted({ stdout }: Pick<Io, 'stdout'>): Interruption {
  const controller = new AbortController();
  const abort = () => controller.abort();
  for (const name of SIGNALS) process.on(name, abort);
  stdout.on('error', abort);
  stdout.on('close', abort);
  return {
    signal: controller.signal,
    restore() {
      for (const name of SIGNALS) process.off(name, abort);
      stdout.off('error', abort);
      stdout.off('close', abort);
    },
  };
}
