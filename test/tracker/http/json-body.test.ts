import { expect, test } from 'vitest';
import { BatonError } from '../../../src/domain/errors.js';
import { readJsonBody } from '../../../src/tracker/http/read-json.js';

const fault = (problem: string) => new BatonError('tracker_response', problem);

test.each([
  ['{"a":1}', { a: 1 }],
  ['{"a":"Grüße, 世界 👋"}', { a: 'Grüße, 世界 👋' }],
  ['\ufeff{"a":1}', { a: 1 }],
  ['{"__proto__":{"x":1}}', JSON.parse('{"__proto__":{"x":1}}')],
  ['', null],
])('%j is read', (text, expected) => {
  expect(readJsonBody(Buffer.from(text), fault)).toEqual(expected);
});

test.each([
  ['cut off', Buffer.from('{"a":')],
  ['a page', Buffer.from('<html>')],
  ['not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
  ['cut inside a character', Buffer.from('"ü"').subarray(0, 2)],
])('what is %s is no JSON', (_what, body) => {
  expect(() => readJsonBody(body, fault)).toThrow(BatonError);
});
