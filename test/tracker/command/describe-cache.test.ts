import { expect, test } from 'vitest';
import { BatonError } from '../../../src/domain/errors.js';
import { DescribeCache } from '../../../src/tracker/command/describe-cache.js';

const NEVER = new AbortController().signal;
const silent = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new BatonError('tracker_request', 'was cancelled')));
  });

test('a describe that times out does not fail the read and is not repeated at once', async () => {
  let asked = 0;
  const cache = new DescribeCache((signal) => {
    asked++;
    return silent(signal);
  }, 1);

  await cache.refresh(NEVER);
  await cache.refresh(NEVER);

  expect(asked).toBe(1);
  expect(cache.problems).toEqual([expect.stringContaining('states of the tracker are not known')]);
});

test('a describe that was cancelled with its read is repeated with the next read', async () => {
  let asked = 0;
  const cache = new DescribeCache((signal) => {
    asked++;
    return silent(signal);
  });
  const read = new AbortController();

  const refreshed = cache.refresh(read.signal);
  read.abort();
  await refreshed;
  void cache.refresh(NEVER);

  expect(asked).toBe(2);
  expect(cache.problems).toEqual([]);
});
