import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { makeDaemonFolder } from '../../runner/run-folder.js';
import { tempFolder } from './workspace/temp-folder.js';

async function made(note: string): Promise<string> {
  const { path, tidied } = await makeDaemonFolder(note);
  onTestFinished(() => tidied);
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

test('what a killed daemon left in its temporary folder goes at the next start', async () => {
  const note = join(await tempFolder(), 'note');
  const before = await made(note);
  await writeFile(join(before, 'of an agent'), 'x');

  const now = await made(note);

  // Beside its work: there may be a lot.
  await vi.waitFor(async () => expect(await readFile(note, 'utf8')).toBe(now));
  expect(existsSync(before)).toBe(false);
});

test('who is killed while it removes what was left leaves both to the next', async () => {
  const note = join(await tempFolder(), 'note');
  const [first, second] = [await made(join(note, '..', 'a')), await made(join(note, '..', 'b'))];
  await writeFile(note, `${first}\n${second}`);

  const now = await made(note);

  await vi.waitFor(async () => expect(await readFile(note, 'utf8')).toBe(now));
  expect([first, second].filter(existsSync)).toEqual([]);
});

test('a note that names anything else deletes nothing', async () => {
  const dir = await tempFolder();
  const note = join(dir, 'note');
  const mine = join(dir, 'my work');
  await mkdir(mine);
  await writeFile(note, mine);

  await made(note);

  expect(existsSync(mine)).toBe(true);
});
