import { expect, test } from 'vitest';
import { shown } from '../../src/text/neutralise.js';

test('what a tracker wrote is shown on one line, without secrets and control characters, and not too long', () => {
  const words = shown(` it\n is \u001b[31m secret-1 ${'x'.repeat(500)}`, (text) => text.replaceAll('secret-1', '***'));

  expect(words).toMatch(/^it is \S+\[31m \*\*\* x+…$/);
  expect(words).not.toContain('\u001b');
  expect(words.length).toBeLessThanOrEqual(301);
});

test('megabytes are not looked through for secrets: little of them is shown', () => {
  let looked = 0;

  shown('x'.repeat(30_000_000), (text) => {
    looked += text.length;
    return text;
  });

  expect(looked).toBeLessThanOrEqual(4_000);
});
