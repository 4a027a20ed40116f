import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { writeNew } from '../../../src/cli/init/write-files.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'baton-write-new-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test('a file that appeared meanwhile is not changed, and files created before it are removed', async () => {
  writeFileSync(join(dir, 'last'), 'mine');
  mkdirSync(join(dir, 'there'));

  const files = ['a/b/first', 'there/second', 'last'].map((path) => ({ path, text: 'ours' }));

  await expect(writeNew(dir, files)).rejects.toMatchObject({ code: 'EEXIST' });
  expect(readFileSync(join(dir, 'last'), 'utf8')).toBe('mine');
  expect(readdirSync(dir, { recursive: true }).sort()).toEqual(['last', 'there']);
});

test('all of the files are there afterwards, in folders that were made for them', async () => {
  await writeNew(dir, [{ path: 'a/b/c', text: 'x' }]);

  expect(readFileSync(join(dir, 'a/b/c'), 'utf8')).toBe('x');
});
