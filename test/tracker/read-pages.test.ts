import { expect, test } from 'vitest';
import { type Page, readPages } from '../../src/tracker/read-pages.js';

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

test('pages are read to the last, each item once, and of two versions the later counts', async () => {
  const found = await reading({
    a: { items: [item('1'), item('2', 1)], next: 'b' },
    b: { items: [item('2', 2), item('3')], next: null },
  });

  expect(found).toEqual([item('1'), item('2', 2), item('3')]);
});

test('records without an id are kept for whoever tells of them', async () => {
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
