import { isSignedBy, type VerifyWebhook } from '../verify-webhook.js';

/**
 * GitHub signs the body (`X-Hub-Signature-256`) but neither the time nor the id of the delivery. So the signature itself identifies a repeated delivery.
 */
export const verifyGithubWebhook: VerifyWebhook = ({ headers, body, secret }) => {
  const header = headers['x-hub-signature-256'];
  const hex = typeof header === 'string' && header.startsWith('sha256=') ? header.slice('sha256='.length) : null;
  if (hex === null) return { ok: false, status: 400, reason: 'it has no X-Hub-Signature-256: set a secret on GitHub' };
  if (!isSignedBy(secret, body, hex)) return { ok: false, status: 401, reason: 'its signature is not ours' };
  return { ok: true, delivery: hex.toLowerCase() };
};
