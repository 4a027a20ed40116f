import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chop, cut, oneLine, pad, rowsOf, widthOf, wrap, wrapIndented } from '../../src/text/terminal-text.js';

const text = fc.string({ unit: 'grapheme', maxLength: 80 });

describe('a text that must fit', () => {
  test('is never wider than its columns', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 60 }), (any, columns) => {
        expect(widthOf(cut(any, columns))).toBeLessThanOrEqual(columns);
        expect(widthOf(pad(any, columns))).toBeLessThanOrEqual(columns + 1);
        for (const piece of chop(any, columns + 1)) expect(widthOf(piece)).toBeLessThanOrEqual(columns + 1);
      }),
    );
  });

  test('keeps its words when it is wrapped, within its lines', () => {
    fc.assert(
      fc.property(
        text.map(oneLine),
        fc.integer({ min: 2, max: 60 }),
        fc.integer({ min: 1, max: 5 }),
        (any, columns, lines) => {
          const rows = wrap(any, columns, lines);

          expect(rows.length).toBeLessThanOrEqual(lines);
          expect(rows.every((row) => widthOf(row) <= columns)).toBe(true);
          if (!rows.at(-1)?.endsWith('…')) expect(rows.join('').replaceAll(' ', '')).toBe(any.replaceAll(' ', ''));
        },
      ),
    );
  });

  test('shows that it was cut', () => {
    expect(cut('a long title', 7)).toBe('a long…');
    expect(cut('short', 7)).toBe('short');
    expect(wrap('one two three four five', 9, 2)).toEqual(['one two', 'three fo…']);
  });
});

describe('the width of a text', () => {
  test('counts wide characters twice and colours not at all', () => {
    expect(widthOf('Grüße, мир')).toBe(10);
    expect(widthOf('漢字')).toBe(4);
    expect(widthOf('\u001b[31mred\u001b[0m')).toBe(3);
    expect(pad('漢', 4)).toBe('漢  ');
    expect(pad('漢', 4, 'right')).toBe('  漢');
  });

  test('counts every character, since a terminal may draw it: fillers, marks, the parts of an emoji', () => {
    fc.assert(
      fc.property(text.map(oneLine), (any) => {
        expect(widthOf(any)).toBeGreaterThanOrEqual(Array.from(any).length);
      }),
    );
    expect(widthOf('\u3164')).toBe(2);
    expect(widthOf('👨‍👩‍👧')).toBeGreaterThanOrEqual(6);
  });

  test('decides how many rows a terminal needs', () => {
    expect(rowsOf(`${'x'.repeat(81)}\n\n漢`, 80)).toBe(4);
  });
});

describe('wrapping with an indent', () => {
  test('lets no foreign text begin a row, and no row be wider than the terminal', () => {
    fc.assert(
      fc.property(text.map(oneLine), fc.integer({ min: 40, max: 60 }), (any, columns) => {
        const [first = '', ...others] = wrapIndented(`AB-1 ${any}`, columns, '      ').split('\n');

        expect(first.startsWith('AB-1')).toBe(true);
        expect(others.every((row) => row.startsWith('      '))).toBe(true);
        expect([first, ...others].every((row) => widthOf(row) <= columns)).toBe(true);
      }),
    );
  });

  test('changes no text that fits, nor one that is not for a terminal', () => {
    const long = 'x'.repeat(200);

    expect(wrapIndented('short\nlines', 80, '  ')).toBe('short\nlines');
    expect(wrapIndented(long, undefined, '  ')).toBe(long);
  });

  test('prefers to break between words', () => {
    expect(wrapIndented(`${'word '.repeat(9)}end`, 40, '  ')).toBe(`${'word '.repeat(7)}word\n  word end`);
  });
});
