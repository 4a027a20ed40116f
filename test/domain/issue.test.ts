import fc from 'fast-check';
import { expect, test } from 'vitest';
import { naturalOrder } from '../../src/domain/issue.js';

test.each([
  [['TASK-1', 'TASK-2', 'TASK-10', 'TASK-11', 'TASK-100', 'TASK-101'], 'numbers by their value'],
  [['A-9', 'A-10', 'B-1', 'B-2'], 'texts before numbers are compared first'],
  [['A-1', 'A-1.2', 'A-1.10', 'A-2'], 'every number in a name counts'],
  [['A-1', 'A-01', 'A-2'].sort(naturalOrder), 'zeros in front decide only between equals'],
  [[`A-${'9'.repeat(40)}`, `A-1${'0'.repeat(40)}`], 'a number of any length'],
])('%j: %s', (names) => {
  expect([...names].reverse().sort(naturalOrder)).toEqual(names);
});

test('natural order is a total order in which only equal texts are equal', () => {
  const name = fc.oneof(fc.string(), fc.stringMatching(/^[A-B]{0,2}-?[0-9]{0,3}[a.]?[0-9]{0,2}$/));
  fc.assert(
    fc.property(name, name, name, (a, b, c) => {
      expect(Math.sign(naturalOrder(a, b))).toBe(0 - Math.sign(naturalOrder(b, a)));
      expect(naturalOrder(a, b) === 0).toBe(a === b);
      if (naturalOrder(a, b) <= 0 && naturalOrder(b, c) <= 0) expect(naturalOrder(a, c)).toBeLessThanOrEqual(0);
    }),
    { numRuns: 2_000 },
  );
});
