import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';

const FOLDER = fileURLToPath(new URL('../../../dist/src/page', import.meta.url));
const FILES = readdirSync(FOLDER, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name));

test('the whole page is under 60 KB when compressed', () => {
  const bytes = FILES.reduce((sum, file) => sum + gzipSync(readFileSync(file)).length, 0);

  expect(FILES.length).toBeGreaterThan(3);
  expect(bytes).toBeLessThan(60_000);
});

test('the page contains no external address, so it works without a network', () => {
  const addresses = FILES.flatMap(
    (file) => readFileSync(file, 'utf8').match(/https?:\/\/[\w.-]+[^\s"'`)]*|["'`(]\/\/[\w.-]+/g) ?? [],
  );

  // Two XML namespace names, which are never requested.
  expect(
    addresses.filter((address) => !/^http:\/\/www\.w3\.org\/(?:2000\/svg|1998\/Math|1999\/xhtml)/.test(address)),
  ).toEqual([]);
});

test('the page never turns data into markup', () => {
  const source = fileURLToPath(new URL('../../../src/page', import.meta.url));
  const texts = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => readFileSync(join(source, name), 'utf8'));

  expect(texts.length).toBeGreaterThan(20);
  expect(
    texts.filter((text) => /dangerouslySetInnerHTML|innerHTML|insertAdjacentHTML|document\.write|\bstyle=/.test(text)),
  ).toEqual([]);
});
