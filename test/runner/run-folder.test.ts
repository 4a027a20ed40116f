import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { makeDaemonFolder } from '../../runner/run-folder.js';
import { tempFolder } from './workspace/temp-folder.js';

async function made(note: string): Promise<string> {
  const folder = await makeDaemonFolder(note);
  folder.removeEarlier();
  onTestFinished(async () => void (await folder.remove()));
  return folder.path;
}

test('the next daemon removes the temporary folder of a killed one', async () => {
  const note = join(await tempFolder(), 'note');
  const before = await made(note);
  await writeFile(join(before, 'of an agent'), 'x');

  const now = await made(note);

  await vi.waitFor(async () => expect(await readFile(note, 'utf8')).toBe(now));
  expect(existsSync(before)).toBe(false);
});

test('a daemon that is killed while it removes earlier folders leaves them all to the next one', async () => {
  const note = join(await tempFolder(), 'note');
  const [first, second] = [await made(join(note, '..', 'a')), await made(join(note, '..', 'b'))];
  await writeFile(note, `${first}\n${second}`);

  const now = await made(note);

  await vi.waitFor(async () => expect(await readFile(note, 'utf8')).toBe(now));
  expect([first, second].filter(existsSync)).toEqual([]);
});

test('a record with any other folder removes nothing', async () => {
  const dir = await tempFolder();
  const note = join(dir, 'note');
  const mine = join(dir, 'my work');
  await mkdir(mine);
  await writeFile(note, mine);

  await made(note);

  expect(existsSync(mine)).toBe(true);
});
