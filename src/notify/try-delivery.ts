import type { Clock } from '../domain/clock.js';
import { notSent, type Sent, type Target } from './sent.js';

const TRY_LIMIT_MS = 10_000;
/** Before the second and the third try. */
const BACKOFF_MS = [1_000, 5_000] as const;
const MAX_RETRY_AFTER_MS = 60_000;

export interface Delivery {
  readonly sent: Sent;
  readonly tries: number;
  readonly tookMs: number;
}

/** Up to three tries, each bounded in time. Ends early when the signal is aborted, and where another try would be in vain. Never rejects. */
export async function tryDelivery(target: Target, body: string, clock: Clock, signal: AbortSignal): Promise<Delivery> {
  const startedAtMs = clock.now().awakeMs;
  for (let tries = 1; ; tries += 1) {
    const sent = await oneTry(target, body, clock, signal);
    const backoffMs = BACKOFF_MS[tries - 1];
    const isLast = sent.ok || sent.isFinal || backoffMs === undefined || signal.aborted;
    if (isLast) return { sent, tries, tookMs: clock.now().awakeMs - startedAtMs };
    await pause(Math.max(backoffMs, Math.min(sent.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS)), clock, signal);
    if (signal.aborted) return { sent, tries, tookMs: clock.now().awakeMs - startedAtMs };
  }
}

async function oneTry(target: Target, body: string, clock: Clock, outer: AbortSignal): Promise<Sent> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  let isLate = false;
  const cancel = clock.after(TRY_LIMIT_MS, () => {
    isLate = true;
    abort();
  });
  outer.addEventListener('abort', abort, { once: true });
  if (outer.aborted) abort();
  try {
    const sent = await target.send(body, controller.signal);
    const late = notSent('timeout', `there was no answer within ${TRY_LIMIT_MS / 1000} s`);
    return isLate && !sent.ok ? late : sent;
  } catch (error) {
    return notSent('internal_error', error instanceof Error ? error.message : String(error));
  } finally {
    cancel();
    outer.removeEventListener('abort', abort);
  }
}

function pause(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      cancel();
      signal.removeEventListener('abort', finish);
      resolve();
    };
    const cancel = clock.after(ms, finish);
    signal.addEventListener('abort', finish, { once: true });
    if (signal.aborted) finish();
  });
}
