import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Clock } from '../domain/clock.js';
import { notSent, type Sent } from './deliver.js';

const MAX_ANSWER_BYTES = 64 * 1024;
const MAX_ANSWER_MS = 2_000;

export interface PostOrder {
  readonly url: string;
  readonly body: string;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * One POST on a connection of its own, which is closed before the promise settles. Only the status of the answer counts: a redirect is not
 * followed, since a notice is meant for one address, and a body is not kept. Never rejects.
 */
export function postNotice(order: PostOrder): Promise<Sent> {
  const { body, userAgent, signal } = order;
  const url = URL.canParse(order.url) ? new URL(order.url) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    return Promise.resolve(notSent('bad_url', 'notify.url is no http or https address', { isFinal: true }));
  }
  return new Promise<Sent>((resolve) => {
    if (signal.aborted) return resolve(notSent('cancelled', 'it was given up'));
    const headers = {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': String(Buffer.byteLength(body)),
      'User-Agent': userAgent,
    };
    const send = url.protocol === 'https:' ? requestHttps : requestHttp;
    let answer: Sent | null = null;
    const request = send(url, { method: 'POST', headers, agent: false });
    const finish = (sent: Sent) => {
      signal.removeEventListener('abort', onAbort);
      request.destroy();
      resolve(answer ?? sent);
    };
    const onAbort = () => finish(notSent('cancelled', 'it was given up'));
    signal.addEventListener('abort', onAbort, { once: true });
    // Once there is a status it counts, however the connection ends after it.
    request.on('error', (error) => finish(connectionFault(error)));
    request.on('close', () => finish(notSent('closed', 'the connection was closed without an answer')));
    request.on('response', (response) => {
      answer = sentBy(response, order.clock);
      // A receiver that is still writing when we leave may take it for a failure of its own.
      void drained(response, order.clock).then(() => finish(notSent('closed', 'the answer broke off')));
    });
    request.end(body);
  }).catch(connectionFault);
}

function sentBy(response: IncomingMessage, clock: Clock): Sent {
  const status = response.statusCode ?? 0;
  if (status >= 200 && status < 300) return { ok: true, detail: `HTTP ${status}` };
  if (status >= 300 && status < 400) {
    const detail = `HTTP ${status}: the address has moved, and redirects are not followed`;
    return notSent(`http_${status}`, detail, { isFinal: true });
  }
  // What is refused as wrong stays wrong; too early, too slow and too much may pass.
  const isFinal = status < 500 && ![408, 425, 429].includes(status);
  const retryAfterMs = isFinal ? null : retryAfter(response.headers['retry-after'], clock.now().wallMs);
  return notSent(`http_${status}`, `HTTP ${status}`, { isFinal, retryAfterMs });
}

/** Seconds, or a date. */
function retryAfter(header: string | undefined, wallMs: number): number | null {
  if (header === undefined) return null;
  const waitMs = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - wallMs;
  return Number.isFinite(waitMs) && waitMs > 0 ? waitMs : null;
}

function connectionFault(error: NodeJS.ErrnoException): Sent {
  // The message of such an error names the host; its code says enough.
  const code = /^[A-Z][A-Z0-9_]{2,60}$/.test(error.code ?? '') ? String(error.code) : 'request_failed';
  return notSent(code, `the receiver could not be reached (${code})`);
}

/** Settles at the end of the body, or when it is too long or too slow to wait for. */
function drained(response: IncomingMessage, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0;
    const cancel = clock.after(MAX_ANSWER_MS, resolve);
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES) resolve();
    });
    for (const event of ['end', 'error', 'close'] as const) {
      response.on(event, () => {
        cancel();
        resolve();
      });
    }
  });
}
