import { expect, test } from 'vitest';
import { AnswerCache } from '../../../src/tracker/http/tracker-http.js';

const kept = (bytes: number, etag = '"v"') => ({ etag, answer: { body: null, headers: {} }, bytes });

test('no more is kept than allowed, and the longest unused goes first', () => {
  const cache = new AnswerCache(10, 100);
  for (const key of ['a', 'b', 'c']) cache.put(key, kept(30));
  cache.get('a');

  cache.put('d', kept(30));

  expect(['a', 'b', 'c', 'd'].filter((key) => cache.get(key))).toEqual(['a', 'c', 'd']);
});

test('many small answers are bounded by their number', () => {
  const cache = new AnswerCache(3, 100);

  for (const key of ['a', 'b', 'c', 'd']) cache.put(key, kept(1));

  expect(['a', 'b', 'c', 'd'].filter((key) => cache.get(key))).toEqual(['b', 'c', 'd']);
});

test('an answer that is put again counts once, and one that is too large drops the older', () => {
  const cache = new AnswerCache(10, 100);
  for (let n = 0; n < 20; n++) cache.put('a', kept(60));
  cache.put('b', kept(40));
  const both = ['a', 'b'].filter((key) => cache.get(key));

  cache.put('b', kept(101));

  expect(both).toEqual(['a', 'b']);
  expect(['a', 'b'].filter((key) => cache.get(key))).toEqual(['a']);
});
