import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { makeDaemonFolder } from '../../runner/run-folder.js';
import { tempFolder } from './workspaces/temp-folder.js';

async function made(note: string): Promise<string> {
  const path = await makeDaemonFolder(note);
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

test('what a killed daemon left in its temporary folder goes at the next start', async () => {
  const note = join(await tempFolder(), 'note');
  const before = await made(note);
  await writeFile(join(before, 'of an agent'), 'x');

  const now = await made(note);

  expect(existsSync(before)).toBe(false);
  expect(await readFile(note, 'utf8')).toBe(now);
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
