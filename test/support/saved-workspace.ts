import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type RunScript, type SaveRequest, saveWork } from '../../runner/workspace/save-work.js';
import { tempFolder } from '../runner/workspace/temp-folder.js';
import { EPOCH_MS } from './fake-clock.js';

const run = promisify(execFile);

/** A remote with one commit, and a clone of it as the workspace AB-1. */
export async function savedWorkspace() {
  const base = await tempFolder();
  const [remote, workspace, saveDir, scratchDir] = ['remote', 'ws/AB-1', 'state/saved', 'tmp'].map((name) =>
    join(base, name),
  );
  if (!remote || !workspace || !saveDir || !scratchDir) throw new Error('unreachable');
  const env = { PATH: process.env.PATH ?? '', HOME: base, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
  const git = async (cwd: string, ...args: string[]) => {
    const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.org'];
    return (await run('git', [...identity, ...args], { cwd, env })).stdout.trim();
  };
  const commit = async (cwd: string, file: string, text: string) => {
    await writeFile(join(cwd, file), text);
    await git(cwd, 'add', '--all');
    await git(cwd, 'commit', '--quiet', '-m', file);
  };
  const bash: RunScript = async (script, variables) => {
    try {
      await run('bash', ['-c', script], { cwd: workspace, env: { ...env, ...variables } });
      return { code: 0, stderr: '' };
    } catch (error) {
      const { code, stderr } = error as { code: number; stderr: string };
      return { code, stderr };
    }
  };
  await mkdir(scratchDir);
  await git(base, 'init', '--quiet', '--initial-branch=main', remote);
  await commit(remote, 'README', 'hello\n');
  await git(base, 'clone', '--quiet', remote, workspace);
  const save = (options: Partial<SaveRequest> = {}) =>
    saveWork({
      issue: { id: '1', identifier: 'AB-1', title: 'One' },
      workspace: { key: 'AB-1', path: workspace },
      scratchDir,
      saveDir,
      nowMs: EPOCH_MS,
      run: bash,
      ...options,
    });
  const fresh = async () => {
    const path = join(base, 'fresh');
    await git(base, 'clone', '--quiet', remote, path);
    return path;
  };
  return { base, remote, workspace, saveDir, scratchDir, git, commit, save, fresh };
}
