import { expect, test } from 'vitest';
import { LineSplitter, MAX_LINE_BYTES } from '../../../../runner/executors/read-lines.js';
import { growthOf } from '../../../support/growth.js';

function split(chunks: readonly Buffer[], maxBytes?: number): string[] {
  const splitter = new LineSplitter(maxBytes);
  const lines = chunks.flatMap((chunk) => splitter.push(chunk).map(String));
  const rest = splitter.end();
  return rest ? [...lines, String(rest)] : lines;
}

test('S2-53 lines come out the same wherever the chunks are cut, inside a character too', () => {
  const bytes = Buffer.from('{"a":"grüße 👋"}\n\n{"b":2}\nrest');

  for (let size = 1; size <= bytes.length; size++) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
      bytes.subarray(i * size, (i + 1) * size),
    );
    expect(split(chunks)).toEqual(['{"a":"grüße 👋"}', '', '{"b":2}', 'rest']);
  }
});

test('S2-56 a line of exactly the cap is handled, one byte more is not', () => {
  expect(split([Buffer.from('12345\n')], 5)).toEqual(['12345']);

  const splitter = new LineSplitter(5);
  expect(splitter.push(Buffer.from('ok\n123456\nlater\n')).map(String)).toEqual(['ok']);
  expect(splitter.overflowed).toBe(true);
  expect(splitter.push(Buffer.from('more\n'))).toEqual([]);
});

test('S2-56 a 10 MB line in small chunks is whole, and work grows with its length only', async () => {
  const chunk = Buffer.alloc(8 * 1024, 0x61);
  const split = (chunks: number) => {
    const splitter = new LineSplitter();
    for (let i = 0; i < chunks; i++) splitter.push(chunk);
    return splitter.push(Buffer.from('\n'))[0]?.length;
  };
  const most = MAX_LINE_BYTES / chunk.length;

  expect(split(most)).toBe(MAX_LINE_BYTES);
  expect(await growthOf(async (chunks) => () => split(chunks), most / 16)).toBeLessThan(12);
});

test('SEC-14 a line dribbled in single bytes does not cost an object per byte', () => {
  const splitter = new LineSplitter();
  const before = process.memoryUsage();
  for (let i = 0; i < 1_000_000; i++) splitter.push(Buffer.from([0x61]));
  const after = process.memoryUsage();

  expect(after.rss - before.rss).toBeLessThan(100 * 1024 * 1024);
  expect(splitter.push(Buffer.from('\n'))[0]?.length).toBe(1_000_000);
});
