import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));

/** Compiles sources (with what they import) as they are now, for tests that need them in a process of their own. */
export async function compiled(sources: readonly string[]): Promise<{ readonly dir: string; remove(): Promise<void> }> {
  const dir = await mkdtemp(join(tmpdir(), 'baton-compiled-'));
  await writeFile(join(dir, 'package.json'), '{"type":"module"}');
  await symlink(join(PROJECT, 'node_modules'), join(dir, 'node_modules'));
  await mkdir(join(dir, 'out'));
  const options = ['--ignoreConfig', '--noCheck', '--target', 'es2023', '--module', 'nodenext', '--types', 'node'];
  const tsc = join(PROJECT, 'node_modules/typescript/bin/tsc');
  const places = ['--rootDir', PROJECT, '--outDir', join(dir, 'out')];
  await promisify(execFile)(process.execPath, [tsc, ...options, ...places, ...sources], { cwd: PROJECT });
  return { dir: join(dir, 'out'), remove: () => rm(dir, { recursive: true, force: true }) };
}
