import { expect, test } from 'vitest';
import { inParallel } from '../../src/tracker/read-pages.js';

/** Work that the test ends by hand. */
function work() {
  const begun: { readonly item: number; end(): void; fail(): void }[] = [];
  const run = (item: number) =>
    new Promise<string>((resolve, reject) => {
      begun.push({ item, end: () => resolve(`done ${item}`), fail: () => reject(new Error(`failed ${item}`)) });
    });
  return { begun, run };
}

test('so many at a time, and answers in the order of the questions', async () => {
  const { begun, run } = work();
  const all = inParallel([1, 2, 3, 4], 2, run);
  const begunAtFirst = begun.length;

  begun[1]?.end();
  await expect.poll(() => begun.length).toBe(3);
  begun[2]?.end();
  await expect.poll(() => begun.length).toBe(4);
  begun[3]?.end();
  begun[0]?.end();

  expect(begunAtFirst).toBe(2);
  expect(await all).toEqual(['done 1', 'done 2', 'done 3', 'done 4']);
});

test('after a failure nothing new is begun, and what was begun is waited for', async () => {
  const { begun, run } = work();
  let isOver = false;
  const all = inParallel([1, 2, 3, 4], 2, run).finally(() => {
    isOver = true;
  });
  all.catch(() => {});

  begun[0]?.fail();
  await new Promise((resolve) => setImmediate(resolve));
  const wasOver = isOver;
  begun[1]?.end();

  await expect(all).rejects.toThrow('failed 1');
  expect([wasOver, begun.length]).toEqual([false, 2]);
});

test('nothing to do is done at once', async () => {
  expect(await inParallel([], 6, async () => 'never')).toEqual([]);
});
