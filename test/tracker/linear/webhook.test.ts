import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { verifyLinearWebhook } from '../../../src/tracker/linear/webhook.js';

const SECRET = 'lin_wh_0123456789abcdef';
const NOW_MS = Date.UTC(2026, 10, 18);
const payload = (webhookTimestamp: unknown = NOW_MS) =>
  JSON.stringify({ action: 'update', type: 'Issue', data: { id: 'x' }, webhookTimestamp });

function verify(text: string | Buffer, headers: { [name: string]: string | string[] } = {}, nowMs = NOW_MS) {
  const body = Buffer.from(text);
  const signature = createHmac('sha256', SECRET).update(body).digest('hex');
  return verifyLinearWebhook({ headers: { 'linear-signature': signature, ...headers }, body, secret: SECRET, nowMs });
}

test('a fresh signed webhook is accepted, and its signature is its id', () => {
  expect(verify(payload())).toEqual({ ok: true, delivery: expect.stringMatching(/^[0-9a-f]{64}$/) });
});

test('the spelling of the signature does not change the id', () => {
  const upper = createHmac('sha256', SECRET).update(payload()).digest('hex').toUpperCase();

  expect(verify(payload(), { 'linear-signature': upper })).toEqual(verify(payload()));
});

test.each([-60_000, -59_999, 0, 60_000])('a clock may be off by %d ms', (offMs) => {
  expect(verify(payload(NOW_MS + offMs))).toMatchObject({ ok: true });
});

test.each([-3_600_000, -60_001, 60_001])('a webhook sent %d ms from now is refused', (offMs) => {
  expect(verify(payload(NOW_MS + offMs))).toMatchObject({ ok: false, status: 401 });
});

test('a replayed webhook is refused after an hour', () => {
  const body = payload();

  expect(verify(body)).toMatchObject({ ok: true });
  expect(verify(body, {}, NOW_MS + 3_600_000)).toMatchObject({ ok: false, status: 401 });
});

test.each([
  ['another secret', createHmac('sha256', 'another').update(payload()).digest('hex'), 401],
  ['another body', createHmac('sha256', SECRET).update('{}').digest('hex'), 401],
  ['the prefix of GitHub', `sha256=${createHmac('sha256', SECRET).update(payload()).digest('hex')}`, 401],
  ['nothing', '', 401],
])('a signature of %s is refused', (_what, signature, status) => {
  expect(verify(payload(), { 'linear-signature': signature })).toMatchObject({ ok: false, status });
});

test.each([
  ['no JSON', '{'],
  ['no object', '[1]'],
  ['no time', '{"action": "update"}'],
  ['a time in words', payload('2026-11-18T00:00:00Z')],
  ['a time that is null', payload(null)],
])('a signed body with %s is refused', (_what, body) => {
  expect(verify(body)).toMatchObject({ ok: false, status: 400 });
});

test('unsigned headers are ignored: the time in the body counts', () => {
  const old = payload(NOW_MS - 3_600_000);

  expect(verify(old, { 'linear-timestamp': String(NOW_MS), 'linear-delivery': 'new' })).toMatchObject({ ok: false });
});

test('a body is not parsed before its signature is verified', () => {
  const headers = { 'linear-signature': '0'.repeat(64) };

  expect(verify('{', headers)).toMatchObject({ status: 401 });
});
