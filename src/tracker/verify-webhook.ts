import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

export interface ReceivedWebhook {
  readonly headers: IncomingHttpHeaders;
  /** Unchanged: the signature covers these bytes. */
  readonly body: Buffer;
  readonly secret: string;
  readonly nowMs: number;
}

export type WebhookVerdict =
  /** `delivery` is the same when the tracker sends the webhook again. */
  | { readonly ok: true; readonly delivery: string }
  | { readonly ok: false; readonly status: 400 | 401; readonly reason: string };

/** Checks that the tracker sent a webhook. */
export type VerifyWebhook = (received: ReceivedWebhook) => WebhookVerdict;

/** Compares a hex HMAC-SHA256 of the body in constant time. */
export function isSignedBy(secret: string, body: Buffer, hex: string): boolean {
  if (!/^[0-9a-f]{64}$/i.test(hex)) return false;
  return timingSafeEqual(createHmac('sha256', secret).update(body).digest(), Buffer.from(hex, 'hex'));
}
