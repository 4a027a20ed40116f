import { expect, test } from 'vitest';
import { folderOfGlob, globSource, splitGlobs } from '../../src/domain/glob.js';

const matches = (glob: string, path: string, isExact = false) => new RegExp(globSource(glob, isExact)).test(path);

test.each([
  ['*.ts', 'a.ts', true],
  ['*.ts', 'deep/er/a.ts', true],
  ['*.ts', 'a.tsx', false],
  ['*.ts', 'ats', false],
  ['./*.ts', 'deep/a.ts', false],
  ['/*.ts', 'a.ts', true],
  ['src/*.ts', 'src/a.ts', true],
  ['src/*.ts', 'src/deep/a.ts', false],
  ['src/**/*.ts', 'src/a.ts', true],
  ['src/**/*.ts', 'src/x/y/a.ts', true],
  ['src/**', 'src/x/y', true],
  ['**/test/**', 'a/test/b', true],
  ['node_modules', 'a/node_modules/b/c', true],
  ['dist/', 'dist/index.js', true],
  ['dist/', 'src/dist/index.js', true],
  ['a?c', 'abc', true],
  ['a?c', 'a/c', false],
  ['[a-c].md', 'b.md', true],
  ['[!a-c].md', 'b.md', false],
  ['[!a-c].md', 'd.md', true],
  ['*.{js,m{j,t}s}', 'a.mts', true],
  ['*.{js,mjs}', 'a.ts', false],
  ['a{b', 'a{b', true],
  ['\\*.ts', '*.ts', true],
  ['\\*.ts', 'a.ts', false],
  ['a(b)+.ts', 'a(b)+.ts', true],
  ['$^.|', '$^.|', true],
])('the glob %j and the path %j: %j', (glob, path, expected) => {
  expect(matches(glob, path)).toBe(expected);
});

test('an exact glob matches no content of folders, and names only in its own folder', () => {
  expect(matches('src/*', 'src/a', true)).toBe(true);
  expect(matches('src/*', 'src/a/b', true)).toBe(false);
  expect(matches('*.ts', 'src/a.ts', true)).toBe(false);
});

test('globs are split at commas outside of braces', () => {
  expect(splitGlobs('*.ts, *.{js,mjs},')).toEqual(['*.ts', '*.{js,mjs}']);
});

test('the folder of a glob is the part before its first wildcard', () => {
  expect(['src/**/*.ts', '*.ts', '/a/b*', 'a/b/{c,d}/e'].map(folderOfGlob)).toEqual(['src', '.', '/a', 'a/b']);
});
