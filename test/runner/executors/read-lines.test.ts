import { expect, test } from 'vitest';
import { FairScheduler, LineSplitter, MAX_LINE_BYTES, readFairly } from '../../../runner/executors/read-lines.js';
import { growthOf } from '../../support/growth.js';
import { plainProcess } from '../../support/plain-process.js';
import { tempFolder } from './codex/harness.js';

function split(chunks: readonly Buffer[], maxBytes?: number): string[] {
  const splitter = new LineSplitter(maxBytes);
  const lines = chunks.flatMap((chunk) => splitter.push(chunk).map(String));
  const rest = splitter.end();
  return rest ? [...lines, String(rest)] : lines;
}

test('S2-53 the lines do not depend on where the chunks are cut, even inside a character', () => {
  const bytes = Buffer.from('{"a":"grüße 👋"}\n\n{"b":2}\nrest');

  for (let size = 1; size <= bytes.length; size++) {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
      bytes.subarray(i * size, (i + 1) * size),
    );
    expect(split(chunks)).toEqual(['{"a":"grüße 👋"}', '', '{"b":2}', 'rest']);
  }
});

test('S2-56 a line of exactly the maximum length is accepted, one byte more is not', () => {
  expect(split([Buffer.from('12345\n')], 5)).toEqual(['12345']);

  const splitter = new LineSplitter(5);
  expect(splitter.push(Buffer.from('ok\n123456\nlater\n')).map(String)).toEqual(['ok']);
  expect(splitter.overflowed).toBe(true);
  expect(splitter.push(Buffer.from('more\n'))).toEqual([]);
});

test('S2-56 a 10 MB line in small chunks stays whole, and the work is linear in its length', async () => {
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

test('SEC-14 a line received in single bytes does not cost an object for each byte', () => {
  const splitter = new LineSplitter();
  const before = process.memoryUsage();
  for (let i = 0; i < 1_000_000; i++) splitter.push(Buffer.from([0x61]));
  const after = process.memoryUsage();

  expect(after.rss - before.rss).toBeLessThan(100 * 1024 * 1024);
  expect(splitter.push(Buffer.from('\n'))[0]?.length).toBe(1_000_000);
});

test('a fairly read stream delivers all its bytes in order and ends once', async () => {
  const folder = tempFolder();
  const writer = plainProcess('for i in $(seq 1 20000); do echo $i; done', folder);
  let text = '';
  let ends = 0;

  await new Promise<void>((resolve) => {
    readFairly(writer.stdout, new FairScheduler(), {
      onChunk: async (chunk) => {
        text += chunk;
      },
      onEnd: () => {
        ends += 1;
        resolve();
      },
    });
  });

  expect(text).toBe(Array.from({ length: 20_000 }, (_, i) => `${i + 1}\n`).join(''));
  expect(ends).toBe(1);
});

test('only a few of a hundred ready streams are read in one iteration of the event loop', async () => {
  const scheduler = new FairScheduler();
  const read: number[] = [];
  for (let i = 0; i < 100; i++) scheduler.add(() => read.push(i));

  await new Promise((resolve) => setImmediate(resolve));
  const afterOne = read.length;
  while (read.length < 100) await new Promise((resolve) => setImmediate(resolve));

  expect(afterOne).toBeLessThanOrEqual(4);
  expect(read).toEqual(Array.from({ length: 100 }, (_, i) => i));
});
