import { expect, test } from 'vitest';

test('a pattern in toMatchObject must match the text', () => {
  expect({ message: 'no luck' }).toMatchObject({ message: /luck/ });
  expect({ message: 'no luck' }).not.toMatchObject({ message: /good/ });
});
