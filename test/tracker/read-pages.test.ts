import { expect, test } from 'vitest';
import { inParallel, type Page, readPages } from '../../src/tracker/read-pages.js';

type Item = { readonly id: string | null; readonly v: number };
const item = (id: string | null, v = 0): Item => ({ id, v });
const reading = (pages: { readonly [cursor: string]: Page<Item, string> }, maxPages?: number) =>
  readPages<Item, string>({
    name: 'Test',
    first: 'a',
    ...(maxPages === undefined ? {} : { maxPages }),
    read: async (cursor) => pages[cursor] ?? { items: [], next: null },
    idOf: ({ id }) => id,
  });

test('pages are read to the end, each item once, and of two versions the later counts', async () => {
  const found = await reading({
    a: { items: [item('1'), item('2', 1)], next: 'b' },
    b: { items: [item('2', 2), item('3')], next: null },
  });

  expect(found).toEqual([item('1'), item('2', 2), item('3')]);
});

test('records without an id are returned', async () => {
  expect(await reading({ a: { items: [item(null), item(null)], next: null } })).toHaveLength(2);
});

test.each([
  ['come round again', { a: { items: [item('1')], next: 'b' }, b: { items: [item('2')], next: 'a' } }],
  ['bring nothing new', { a: { items: [item('1')], next: 'b' }, b: { items: [item('1')], next: 'c' } }],
  ['are empty and go on', { a: { items: [], next: 'b' } }],
])('pages that %s are an error', async (_, pages) => {
  await expect(reading(pages)).rejects.toMatchObject({ code: 'tracker_pagination' });
});

test('pages without an end are an error', async () => {
  const read = async (n: number) => ({ items: [item(String(n))], next: n + 1 });

  const endless = readPages<Item, number>({ name: 'Test', first: 0, maxPages: 10, read, idOf: ({ id }) => id });

  await expect(endless).rejects.toMatchObject({ code: 'tracker_pagination' });
});

/** Work that the test ends by hand. */
function work() {
  const begun: { readonly item: number; end(): void; fail(): void }[] = [];
  const run = (item: number) =>
    new Promise<string>((resolve, reject) => {
      begun.push({ item, end: () => resolve(`done ${item}`), fail: () => reject(new Error(`failed ${item}`)) });
    });
  return { begun, run };
}

test('the work runs a few items at a time, and the results are in order', async () => {
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

test('after a failure no new work starts, and the work in flight is awaited', async () => {
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

test('no items need no work', async () => {
  expect(await inParallel([], 6, async () => 'never')).toEqual([]);
});
