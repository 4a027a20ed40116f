import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { forgetOldFiles } from '../../src/forget-old-files.mjs';

const root = new URL('../../', import.meta.url).pathname;
const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly dependencies: { readonly [name: string]: string };
};
/** Native code cannot be bundled; it is loaded from node_modules. */
const NATIVE = '@photostructure/sqlite';

test('the build contains the licence of every bundled package', () => {
  const licences = readFileSync(join(root, 'dist/THIRD-PARTY-LICENCES.txt'), 'utf8');

  const taken = Object.entries(dependencies).filter(([name]) => name !== NATIVE);

  expect(taken.filter(([name, version]) => !licences.includes(`${name} ${version}\n`))).toEqual([]);
  expect(licences).not.toContain(NATIVE);
});

test('no built file contains a path of the build machine', () => {
  const files = [
    'src/main.js',
    'src/demo/agent.js',
    ...readdirSync(join(root, 'dist/chunks')).map((n) => `chunks/${n}`),
  ];

  const naming = files.filter((file) => readFileSync(join(root, 'dist', file), 'utf8').includes(root));

  expect(files.length).toBeGreaterThan(20);
  expect(naming).toEqual([]);
});

test('a build removes obsolete files except those that a running older daemon may still load', () => {
  const folder = mkdtempSync(join(tmpdir(), 'baton-chunks-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const daysAgo = { 'new.js': 0, 'used.js': 30, 'yesterday.js': 1, 'old.js': 30 };
  for (const [name, days] of Object.entries(daysAgo)) {
    writeFileSync(join(folder, name), '');
    const atS = Date.now() / 1000 - days * 86_400;
    utimesSync(join(folder, name), atS, atS);
  }

  forgetOldFiles(folder, new Set(['new.js', 'used.js']), 7 * 86_400_000);

  expect(readdirSync(folder).sort()).toEqual(['new.js', 'used.js', 'yesterday.js']);
});
