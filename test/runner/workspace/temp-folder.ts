import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A new folder for one test, deleted afterwards. Its path has no links. */
export async function tempFolder(): Promise<string> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'baton-test-')));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}
