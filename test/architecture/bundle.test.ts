import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = new URL('../../', import.meta.url).pathname;
const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly dependencies: { readonly [name: string]: string };
};
/** Native code cannot be taken in; it is loaded from where npm put it. */
const NATIVE = '@photostructure/sqlite';

test('every package that is taken into the built commands brings its licence along', () => {
  const licences = readFileSync(join(root, 'dist/THIRD-PARTY-LICENCES.txt'), 'utf8');

  const taken = Object.entries(dependencies).filter(([name]) => name !== NATIVE);

  expect(taken.filter(([name, version]) => !licences.includes(`${name} ${version}\n`))).toEqual([]);
  expect(licences).not.toContain(NATIVE);
});

test('no built file names a folder of the machine that built it', () => {
  const files = [
    'src/main.js',
    'src/demo/agent.js',
    ...readdirSync(join(root, 'dist/chunks')).map((n) => `chunks/${n}`),
  ];

  const naming = files.filter((file) => readFileSync(join(root, 'dist', file), 'utf8').includes(root));

  expect(files.length).toBeGreaterThan(20);
  expect(naming).toEqual([]);
});
