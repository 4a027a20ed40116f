import { expect, test } from 'vitest';
import { BatonError } from '../../../src/domain/errors.js';
import { DescriptionBook } from '../../../src/tracker/command/tracker.js';

const NEVER = new AbortController().signal;
const silent = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new BatonError('tracker_request', 'was not waited for')));
  });

test('a program that says nothing about itself holds no read up, and is not asked again at once', async () => {
  let asked = 0;
  const book = new DescriptionBook((signal) => {
    asked++;
    return silent(signal);
  }, 1);

  await book.refresh(NEVER);
  await book.refresh(NEVER);

  expect(asked).toBe(1);
  expect(book.problems).toEqual([expect.stringContaining('states of the tracker are not known')]);
});

test('one that was given up with the read it came with is asked again with the next', async () => {
  let asked = 0;
  const book = new DescriptionBook((signal) => {
    asked++;
    return silent(signal);
  });
  const read = new AbortController();

  const refreshed = book.refresh(read.signal);
  read.abort();
  await refreshed;
  void book.refresh(NEVER);

  expect(asked).toBe(2);
  expect(book.problems).toEqual([]);
});
