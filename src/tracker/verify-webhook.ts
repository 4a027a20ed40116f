import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

export interface ReceivedWebhook {
  readonly headers: IncomingHttpHeaders;
  /** As it came: the signature is about these bytes. */
  readonly body: Buffer;
  readonly secret: string;
  readonly nowMs: number;
}

export type WebhookVerdict =
  /** `delivery`: what a second sending of the same would repeat. */
  | { readonly ok: true; readonly delivery: string }
  | { readonly ok: false; readonly status: 400 | 401; readonly reason: string };

/** Did the tracker send this? Pure but for the clock that it is given. */
export type VerifyWebhook = (received: ReceivedWebhook) => WebhookVerdict;

/** Compares a hex HMAC-SHA256 of the body in a time that tells nothing about it. */
export function isSignedBy(secret: string, body: Buffer, hex: string): boolean {
  if (!/^[0-9a-f]{64}$/i.test(hex)) return false;
  return timingSafeEqual(createHmac('sha256', secret).update(body).digest(), Buffer.from(hex, 'hex'));
}
