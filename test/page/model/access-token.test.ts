import { describe, expect, test } from 'vitest';
import { takeToken, tokenIn } from '../../../src/page/live/api.js';

function place(hash: string, kept: Record<string, string> = {}) {
  const store = new Map(Object.entries(kept));
  const replaced: string[] = [];
  return {
    store,
    replaced,
    hash,
    storage: {
      getItem: (key: string) => store.get(key) ?? null,
      setItem: (key: string, value: string) => void store.set(key, value),
    },
    replaceHash: (next: string) => void replaced.push(next),
  };
}

describe('the token of the page', () => {
  test('goes from the address into the storage of the tab, and leaves the address', () => {
    const where = place('#token=a%2Bb');

    expect(takeToken(where)).toBe('a+b');
    expect(where.replaced).toEqual(['#/']);
    expect([...where.store.values()]).toEqual(['a+b']);
  });

  test('is found again after a reload, and a new one replaces it', () => {
    const first = place('#token=old');
    takeToken(first);
    const kept = Object.fromEntries(first.store);

    expect(takeToken(place('#/issue/A', kept))).toBe('old');
    expect(takeToken(place('#token=new', kept))).toBe('new');
  });

  test('works without storage, as long as the page is there', () => {
    const broken = () => {
      throw new Error('denied');
    };
    const where = { ...place('#token=x'), storage: { getItem: broken, setItem: broken } };

    expect(takeToken(where)).toBe('x');
    expect(takeToken({ ...where, hash: '' })).toBeNull();
  });

  test.each(['', '#', '#/', '#token=', '#token=%E0%A4%A', '#x&token=1', '#/issue/token=1'])('%j has none', (hash) => {
    expect(tokenIn(hash)).toBeNull();
  });
});
