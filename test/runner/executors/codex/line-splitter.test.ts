import { expect, test } from 'vitest';
import { LineSplitter, MAX_LINE_BYTES } from '../../../../runner/executors/codex/line-splitter.js';

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

test('S2-56 a 10 MB line in small chunks is whole, and cheap', () => {
  const splitter = new LineSplitter();
  const chunk = Buffer.alloc(64 * 1024, 0x61);
  const startedAt = performance.now();
  for (let i = 0; i < MAX_LINE_BYTES / chunk.length; i++) expect(splitter.push(chunk)).toEqual([]);

  const [line] = splitter.push(Buffer.from('\n'));

  expect(line?.length).toBe(MAX_LINE_BYTES);
  expect(performance.now() - startedAt).toBeLessThan(1_000);
});

test('SEC-14 a line dribbled in single bytes does not cost an object per byte', () => {
  const splitter = new LineSplitter();
  const before = process.memoryUsage();
  for (let i = 0; i < 1_000_000; i++) splitter.push(Buffer.from([0x61]));
  const after = process.memoryUsage();

  expect(after.rss - before.rss).toBeLessThan(100 * 1024 * 1024);
  expect(splitter.push(Buffer.from('\n'))[0]?.length).toBe(1_000_000);
});
