import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestBed } from './test-bed.js';

/** A bare repository with one commit, as hooks clone it and push to it. */
export function gitRemote({ dir, env }: Pick<TestBed, 'dir' | 'env'>) {
  const path = join(dir, 'remote.git');
  const seed = join(dir, 'seed');
  const git = (cwd: string, ...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=Test', '-c', 'user.email=test@example.org', ...args], {
      cwd,
      env,
      encoding: 'utf8',
    }).trim();
  mkdirSync(seed);
  git(seed, 'init', '--quiet', '--initial-branch=main');
  writeFileSync(join(seed, 'README'), 'hello\n');
  git(seed, 'add', '--all');
  git(seed, 'commit', '--quiet', '-m', 'Begin');
  git(dir, 'clone', '--quiet', '--bare', seed, path);
  return { path, git: (...args: string[]) => git(path, ...args) };
}
