import type { Clock } from '../domain/clock.js';
import { HttpClient, HttpFault, type HttpResponse } from '../http/client.js';
import { notSent, type SendResult } from './deliver.js';

const MAX_ANSWER_BYTES = 64 * 1024;
const MAX_ANSWER_MS = 2_000;

export interface PostOrder {
  readonly url: string;
  readonly body: string;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Every notice uses a new connection. */
const CLIENT = new HttpClient();

/**
 * Sends one POST. Only the status of the response counts: a redirect is not followed, since a notice is meant for one address, and the
 * body is dropped. Never rejects.
 */
export async function postNotice({ url: address, body, userAgent, clock, signal }: PostOrder): Promise<SendResult> {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    return notSent('bad_url', 'notify.url is no http or https address', { isFinal: true });
  }
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    'User-Agent': userAgent,
  };
  try {
    const response = await CLIENT.send({ method: 'POST', url, headers, body, signal });
    // A receiver that is still writing when the connection closes may take that for a failure.
    const cancel = clock.after(MAX_ANSWER_MS, () => response.close());
    await response.read(MAX_ANSWER_BYTES);
    cancel();
    return resultOf(response, clock);
  } catch (error) {
    return failureOf(error);
  }
}

function resultOf({ status, headers }: HttpResponse, clock: Clock): SendResult {
  if (status >= 200 && status < 300) return { ok: true, detail: `HTTP ${status}` };
  if (status >= 300 && status < 400) {
    const detail = `HTTP ${status}: the address has moved, and redirects are not followed`;
    return notSent(`http_${status}`, detail, { isFinal: true });
  }
  // A request that is refused as wrong stays wrong; too early, too slow and too much may pass.
  const isFinal = status < 500 && ![408, 425, 429].includes(status);
  const retryAfterMs = isFinal ? null : retryAfter(headers['retry-after'], clock.now().wallMs);
  return notSent(`http_${status}`, `HTTP ${status}`, { isFinal, retryAfterMs });
}

/** Seconds, or a date. */
function retryAfter(header: string | undefined, wallMs: number): number | null {
  if (header === undefined) return null;
  const waitMs = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - wallMs;
  return Number.isFinite(waitMs) && waitMs > 0 ? waitMs : null;
}

function failureOf(error: unknown): SendResult {
  const fault = error instanceof HttpFault ? error : null;
  if (fault?.kind === 'aborted') return notSent('cancelled', 'it was given up');
  // The message of the cause names the host, so only its code is used.
  const code = fault?.code ?? 'closed';
  return notSent(code, `the receiver could not be reached (${code})`);
}
