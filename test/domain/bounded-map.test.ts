import { expect, test } from 'vitest';
import { BoundedMap } from '../../src/domain/bounded-map.js';

const weighted = (maxEntries: number) => new BoundedMap<string, number>(maxEntries, { max: 100, of: (bytes) => bytes });

test('the least recently used entry is evicted first', () => {
  const map = weighted(10);
  for (const key of ['a', 'b', 'c']) map.set(key, 30);
  map.get('a');

  map.set('d', 30);

  expect(['a', 'b', 'c', 'd'].filter((key) => map.has(key))).toEqual(['a', 'c', 'd']);
});

test('the number of light entries is limited', () => {
  const map = weighted(3);

  for (const key of ['a', 'b', 'c', 'd']) map.set(key, 1);

  expect(['a', 'b', 'c', 'd'].filter((key) => map.has(key))).toEqual(['b', 'c', 'd']);
});

test('a replaced value counts once; a value that is too heavy only removes the old one', () => {
  const map = weighted(10);
  for (let n = 0; n < 20; n++) map.set('a', 60);
  map.set('b', 40);
  const both = ['a', 'b'].filter((key) => map.has(key));

  map.set('b', 101);

  expect(both).toEqual(['a', 'b']);
  expect(['a', 'b'].filter((key) => map.has(key))).toEqual(['a']);
});
