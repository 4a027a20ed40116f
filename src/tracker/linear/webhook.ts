import { fieldsOf } from '../../domain/json.js';
import { isSignedBy, type VerifyWebhook } from '../verify-webhook.js';

/** Linear recommends to reject webhooks older than a minute. Clocks may be off in both directions. */
const MAX_AGE_MS = 60_000;

/** Linear signs the body (`Linear-Signature`), which holds the time of sending. The body is parsed only after its signature is verified. */
export const verifyLinearWebhook: VerifyWebhook = ({ headers, body, secret, nowMs }) => {
  const hex = headers['linear-signature'];
  if (typeof hex !== 'string') return { ok: false, status: 400, reason: 'it has no Linear-Signature' };
  if (!isSignedBy(secret, body, hex)) return { ok: false, status: 401, reason: 'its signature does not match' };
  const sentAtMs = sendTimeIn(body);
  if (sentAtMs === null) return { ok: false, status: 400, reason: 'its body is not JSON with a webhookTimestamp' };
  if (Math.abs(nowMs - sentAtMs) > MAX_AGE_MS) {
    const reason = 'it was sent more than a minute ago, or the clock of this machine is wrong';
    return { ok: false, status: 401, reason };
  }
  return { ok: true, delivery: hex.toLowerCase() };
};

function sendTimeIn(body: Buffer): number | null {
  try {
    const { webhookTimestamp } = fieldsOf(JSON.parse(body.toString('utf8')));
    return typeof webhookTimestamp === 'number' && Number.isFinite(webhookTimestamp) ? webhookTimestamp : null;
  } catch {
    return null;
  }
}
