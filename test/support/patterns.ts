import { expect } from 'vitest';

/** Test files share a process, and this file is executed for each of them. */
const INSTALLED = Symbol.for('baton.patterns');

/** Without this tester, `toMatchObject({ message: /x/ })` accepts any text as the message. */
if (!(INSTALLED in globalThis)) {
  Object.assign(globalThis, { [INSTALLED]: true });
  expect.addEqualityTesters([
    (actual, expected) =>
      typeof actual === 'string' && expected instanceof RegExp ? expected.test(actual) : undefined,
  ]);
}
