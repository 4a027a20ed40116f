import { fieldsOf } from '../../domain/fields.js';
import { isSignedBy, type VerifyWebhook } from '../verify-webhook.js';

/** Linear asks to take nothing that is older than a minute; a clock may be off in both directions. */
const MAX_AGE_MS = 60_000;

/** Linear signs the body (`Linear-Signature`), and the body says when it was sent. Nothing of it is parsed before its signature is believed. */
export const verifyLinearWebhook: VerifyWebhook = ({ headers, body, secret, nowMs }) => {
  const hex = headers['linear-signature'];
  if (typeof hex !== 'string') return { ok: false, status: 400, reason: 'it has no Linear-Signature' };
  if (!isSignedBy(secret, body, hex)) return { ok: false, status: 401, reason: 'its signature is not ours' };
  const sentAtMs = timestampIn(body);
  if (sentAtMs === null) return { ok: false, status: 400, reason: 'its body is no JSON with a webhookTimestamp' };
  if (Math.abs(nowMs - sentAtMs) > MAX_AGE_MS) {
    const reason = 'it was sent more than a minute ago, or the clock of this machine is wrong';
    return { ok: false, status: 401, reason };
  }
  return { ok: true, delivery: hex.toLowerCase() };
};

function timestampIn(body: Buffer): number | null {
  try {
    const { webhookTimestamp } = fieldsOf(JSON.parse(body.toString('utf8')));
    return typeof webhookTimestamp === 'number' && Number.isFinite(webhookTimestamp) ? webhookTimestamp : null;
  } catch {
    return null;
  }
}
