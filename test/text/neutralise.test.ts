import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { neutralise, neutraliseJson, shown } from '../../src/text/neutralise.js';

const DANGEROUS = [
  [0x00, 0x1f],
  [0x7f, 0x9f],
  [0x61c, 0x61c],
  [0x200e, 0x200f],
  [0x2028, 0x202e],
  [0x2066, 0x2069],
] as const;

const unit = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  fc.constantFrom(...DANGEROUS.flat().map((code) => String.fromCharCode(code))),
);

function controlsIn(text: string): string[] {
  const isDangerous = (code: number) => DANGEROUS.some(([first, last]) => code >= first && code <= last);
  return text.split('').filter((unit) => isDangerous(unit.charCodeAt(0)));
}

describe('SEC-17', () => {
  test.each([
    ['ESC', '\u001b[2J', '\\u001b[2J'],
    ['CR and LF', 'a\r\nb', 'a\\r\\nb'],
    ['tab and NUL', '\t\u0000', '\\t\\u0000'],
    ['DEL', '\u007f', '\\u007f'],
    ['C1, such as the one-byte CSI', '\u009b31m', '\\u009b31m'],
    ['right-to-left override', 'exe.\u202egpj', 'exe.\\u202egpj'],
    ['isolates and marks', '\u2066\u2069\u200e\u200f\u061c', '\\u2066\\u2069\\u200e\\u200f\\u061c'],
    ['line and paragraph separator', '\u2028\u2029', '\\u2028\\u2029'],
  ])('%s becomes visible', (_, text, shown) => {
    expect(neutralise(text)).toBe(shown);
  });

  test('no text has a control character left', () => {
    fc.assert(
      fc.property(fc.string({ unit }), (text) => {
        expect(controlsIn(neutralise(text))).toEqual([]);
      }),
    );
  });

  test('a JSON text is harmless and keeps its values', () => {
    fc.assert(
      fc.property(fc.string({ unit }), (text) => {
        const json = neutraliseJson(JSON.stringify({ [text]: text }));

        expect(controlsIn(json)).toEqual([]);
        expect(JSON.parse(json)).toEqual({ [text]: text });
      }),
    );
  });

  test('ordinary text of any language stays as it is', () => {
    const text = 'Grüße, 日本語, עברית, emoji 👩‍💻 and "quotes" \\ too';

    expect(neutralise(text)).toBe(text);
  });
});

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
