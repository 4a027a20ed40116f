import { expect, test } from 'vitest';
import { parseMessage } from '../../../../runner/executors/codex/protocol.js';
import { boundData } from '../../../../runner/executors/codex/reporter.js';

test('SEC-14 deep nesting in a short line is bounded when it is reported', () => {
  const deep = parseMessage(Buffer.from(`{"method":"m","params":${'['.repeat(30_000)}${']'.repeat(30_000)}}`));

  expect(deep.kind).toBe('notification');
  expect(JSON.stringify(boundData(deep)).length).toBeLessThan(200);
});

test('SEC-14 a __proto__ key stays a key', () => {
  const bounded = boundData(JSON.parse('{"__proto__":{"polluted":true},"a":1}'));

  expect(Object.hasOwn(bounded, '__proto__')).toBe(true);
  expect(Object.getPrototypeOf(bounded)).toBe(Object.prototype);
  expect('polluted' in {}).toBe(false);
});

test('data of events is bounded in length, breadth and depth', () => {
  const wide = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`key${i}`, 'x'.repeat(10_000)]));

  expect(JSON.stringify(boundData(wide)).length).toBeLessThan(40_000);
  expect(boundData([1, Number.POSITIVE_INFINITY])).toEqual({ value: [1, 'Infinity'] });
});

test('a text or list that was cut is marked for people, and counted beside it for programs', () => {
  const bounded = boundData({ text: 'y'.repeat(3_000), short: 'z', list: Array(45).fill(1), whole: [1] });

  expect(bounded.text).toMatch(/^y{2000}… \(1000 more characters\)$/);
  expect(bounded).toMatchObject({ text_omitted: 1_000, list_omitted: 5 });
  expect(Object.keys(bounded)).toEqual(['text', 'text_omitted', 'short', 'list', 'list_omitted', 'whole']);
});
