import { expect, test } from 'vitest';
import { answerRequestShape } from '../../src/api/schemas.js';
import { SharedText } from '../../src/api/stream.js';

test('those who ask within a moment share one text, until something happens that they must see', () => {
  let made = 0;
  const shared = new SharedText(() => `text ${++made}`);

  const together = [shared.get(), shared.get()];
  shared.stale();
  const after = shared.get();

  expect(together).toEqual(['text 1', 'text 1']);
  expect(after).toBe('text 2');
});

test('SEC-14 a field may be called anything, and is answered under that name', () => {
  const body = JSON.parse('{"values":{"__proto__":"a","constructor":"b"}}');

  const parsed = answerRequestShape.parse(body);

  expect('values' in parsed && Object.entries(parsed.values)).toEqual([
    ['__proto__', 'a'],
    ['constructor', 'b'],
  ]);
  for (const values of [[], null, 'x', { a: 1 }]) expect(answerRequestShape.safeParse({ values }).success).toBe(false);
});
