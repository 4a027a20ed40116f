import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cutOutput, OutputList } from '../../../runner/steps/step-output.js';

describe('the part of an output that later steps see', () => {
  test('S4-24 S4-25 a text over the limit is cut and marked by a member beside it', () => {
    const output = cutOutput({ stdout: 'x'.repeat(500), exit_code: 0 }, 100);

    expect(output).toEqual({ stdout: 'x'.repeat(100), stdout_truncated: true, exit_code: 0 });
  });

  test('S4-25 a bare text over the limit, and one in a list, is cut and marked by its last line', () => {
    const cut = `${'x'.repeat(65_501)}\n[truncated: 65501 of 200000 bytes]`;

    expect(cutOutput('x'.repeat(200_000), 65_536)).toBe(cut);
    expect(cutOutput(['a', ['x'.repeat(200_000)]], 65_536)).toEqual(['a', [cut]]);
  });

  test('S4-25 an output that is cut again, inside that of a parallel step, keeps its marks', () => {
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        fc.string({ minLength: 250, maxLength: 300 }),
        fc.array(tie('any')),
        fc.dictionary(fc.string(), tie('any')),
      ),
    })).any;
    fc.assert(
      fc.property(value, fc.integer({ min: 60, max: 200 }), (output, maxBytes) => {
        const cut = cutOutput(output, maxBytes);

        expect(cutOutput(cut, maxBytes)).toEqual(cut);
      }),
    );
  });

  test('S4-25 the mark wins over a member of the same name in the output', () => {
    expect(cutOutput({ stdout: 'x'.repeat(500), stdout_truncated: false }, 100)).toEqual({
      stdout: 'x'.repeat(100),
      stdout_truncated: true,
    });
  });

  test('texts deep inside are cut too', () => {
    expect(cutOutput({ a: ['y', { c: 'x'.repeat(300) }] }, 150)).toEqual({
      a: ['y', { c: 'x'.repeat(150), c_truncated: true }],
    });
  });

  test('S4-24 an output that is still too large is replaced by its size and its beginning', () => {
    const output = cutOutput({ many: Array.from({ length: 1_000 }, (_, index) => index) }, 200);

    expect(output).toEqual({
      truncated: true,
      bytes: expect.any(Number),
      preview: expect.stringMatching(/^\{"many":\[0,1/),
    });
  });

  test('an output within the limit is not changed', () => {
    expect(cutOutput({ a: [1, 'two', null, { b: true }] }, 1_000)).toEqual({ a: [1, 'two', null, { b: true }] });
    expect(cutOutput(null, 10)).toBeNull();
  });

  test('a text is cut between characters', () => {
    expect(cutOutput({ text: '€'.repeat(100) }, 20)).toEqual({ text: '€€€€€€', text_truncated: true });
  });

  test('S4-17 values that JSON does not know are dropped', () => {
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;

    expect(cutOutput({ nan: Number.NaN, none: undefined, call: () => 1, date: new Date(0) }, 1_000)).toEqual({
      nan: null,
      date: '1970-01-01T00:00:00.000Z',
    });
    expect(cutOutput(undefined, 1_000)).toBeNull();
    expect(cutOutput(cycle, 1_000)).toBeNull();
    expect(cutOutput(1n, 1_000)).toBeNull();
  });

  test('S4-17 for every input the result survives a round trip and is not much larger than the limit', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: 20, max: 2_000 }), (value, maxBytes) => {
        const output = cutOutput(value, maxBytes);

        expect(JSON.parse(JSON.stringify(output))).toEqual(output);
        // Quotes, escapes and the two members around a preview.
        expect(Buffer.byteLength(JSON.stringify(output))).toBeLessThanOrEqual(maxBytes * 6 + 100);
      }),
    );
  });
});

describe('the outputs of branches', () => {
  test('are in the order of the branches, whichever ended first', () => {
    const list = new OutputList(3, 1_000);
    list.put(2, 'c');
    list.put(0, { a: 1 });

    expect(list.all).toEqual([{ a: 1 }, null, 'c']);
  });

  test('S4-24 that are too large together are replaced by their size and their beginning', () => {
    const list = new OutputList(1_000, 100);
    for (let index = 0; index < 1_000; index += 1) list.put(index, 'x'.repeat(98));

    expect(list.all).toEqual({ truncated: true, bytes: 100_000, preview: expect.stringMatching(/^\["xxx/) });
  });
});
