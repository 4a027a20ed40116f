import { chmod, mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { gitSetup } from './git-setup.js';

async function cloned() {
  const setup = await gitSetup();
  const ws = await setup.workspace('AB-1');
  await setup.script('clone-or-update', ws);
  const push = (extra = {}) => setup.script('commit-and-push', ws, {}, extra);
  return { ...setup, ws, push };
}

describe('commit-and-push.sh', () => {
  test('commits changed, new and deleted files under the title of the issue and pushes them', async () => {
    const { git, commit, remote, ws, push } = await cloned();
    await commit(ws, 'old', 'x');
    await git(ws, 'rm', '--quiet', '--cached', 'old');
    await writeFile(join(ws, '.gitignore'), 'old\nignored\n');
    await writeFile(join(ws, 'ignored'), '');
    await writeFile(join(ws, 'README'), 'changed');

    await push();

    expect(await git(remote, 'ls-tree', '--name-only', 'baton/AB-1')).toBe('.gitignore\nREADME');
    expect(await git(remote, 'log', '-1', '--format=%s', 'baton/AB-1')).toBe('AB-1: Fix it');
    expect(await git(ws, 'status', '--porcelain')).toBe('');
    expect(await git(ws, 'rev-list', '--count', 'HEAD', '--not', '--remotes')).toBe('0');
    expect(await git(ws, 'fsck', '--strict')).toBe('');
  });

  test('with nothing to commit and nothing to push the script succeeds and creates no branch', async () => {
    const { branches, push } = await cloned();

    expect(await push()).toContain('nothing new to push');
    expect(await branches()).toEqual(['main']);
  });

  test('a workspace without a repository or without a commit is accepted', async () => {
    const { git, workspace, script } = await gitSetup();
    const empty = await workspace('a');
    const unborn = await workspace('b');
    await git(unborn, 'init', '--quiet');

    expect(await script('commit-and-push', empty)).toContain('no git repository');
    expect(await script('commit-and-push', unborn)).toContain('no commits');
  });

  test('a nested repository is committed as it is, and its git settings have no effect', async () => {
    const { base, git, commit, remote, ws, push, script } = await cloned();
    const inner = join(ws, 'inner');
    await git(ws, 'init', '--quiet', inner);
    await commit(inner, 'file', 'a');
    await push();
    await git(inner, 'config', 'filter.evil.clean', `touch '${join(base, 'pwned')}'; cat`);
    await writeFile(join(inner, '.gitattributes'), '* filter=evil');
    // A new mtime and the same size force git to read the file.
    await writeFile(join(inner, 'file'), 'b');
    await utimes(join(inner, 'file'), 1, 1);

    await script('clone-or-update', ws);
    await push();

    expect(await readdir(base)).not.toContain('pwned');
    await git(inner, '-c', 'filter.evil.clean=cat', 'commit', '--quiet', '--all', '-m', 'moved');
    await push();
    const moved = await git(inner, 'rev-parse', 'HEAD');
    expect(await git(remote, 'rev-parse', 'baton/AB-1:inner')).toBe(moved);
    expect(await readdir(base)).not.toContain('pwned');
  });

  test('a second execution pushes nothing', async () => {
    const { git, remote, ws, push } = await cloned();
    await writeFile(join(ws, 'new'), 'x');

    await push();
    const first = await git(remote, 'rev-parse', 'baton/AB-1');

    expect(await push()).toContain('nothing new to push');
    expect(await git(remote, 'rev-parse', 'baton/AB-1')).toBe(first);
  });

  test('the default branch is not pushed when the agent works on it', async () => {
    const { git, commit, remote, branches, ws, push } = await cloned();
    const main = await git(remote, 'rev-parse', 'main');
    await git(ws, 'checkout', '--quiet', '-b', 'main');
    await commit(ws, 'new', 'x');

    await push({ BATON_REPO_URL: '' });

    expect(await git(remote, 'rev-parse', 'main')).toBe(main);
    expect(await branches()).toEqual(['baton/AB-1', 'main']);
  });

  test('the base branch is not pushed when the tracker suggests it', async () => {
    const { git, commit, seed, remote, branches, ws, script } = await cloned();
    await git(seed, 'push', '--quiet', remote, 'main:develop');
    await commit(ws, 'new', 'x');

    await script('commit-and-push', ws, { branch_name: 'develop' }, { BATON_BASE_BRANCH: 'develop' });

    expect(await git(remote, 'rev-parse', 'develop')).toBe(await git(remote, 'rev-parse', 'main'));
    expect(await branches()).toContain('baton/AB-1');
  });

  test('commits that the agent rewrote replace the pushed commits', async () => {
    const { git, remote, ws, push } = await cloned();
    await writeFile(join(ws, 'new'), 'x');
    await push();
    await git(ws, 'commit', '--quiet', '--amend', '-m', 'better');

    await push();

    expect(await git(remote, 'log', '-1', '--format=%s', 'baton/AB-1')).toBe('better');
  });

  test('commits of other authors on the branch are never replaced', async () => {
    const { git, commit, seed, remote, ws, push } = await cloned();
    await writeFile(join(ws, 'new'), 'x');
    await push();
    await git(seed, 'pull', '--quiet', remote, 'baton/AB-1');
    await commit(seed, 'theirs', 'x');
    await git(seed, 'push', '--quiet', remote, 'HEAD:baton/AB-1');
    const theirs = await git(remote, 'rev-parse', 'baton/AB-1');
    await git(ws, 'commit', '--quiet', '--amend', '-m', 'better');

    await expect(push()).rejects.toThrow(/somebody else pushed/);

    expect(await git(remote, 'rev-parse', 'baton/AB-1')).toBe(theirs);
  });

  test('git hooks of the repository do not run, because an agent can write them', async () => {
    const { git, ws, push } = await cloned();
    await mkdir(join(ws, 'own-hooks'));
    for (const name of ['pre-commit', 'commit-msg', 'pre-push', 'post-commit']) {
      await writeFile(join(ws, 'own-hooks', name), '#!/bin/sh\ntouch pwned\n');
      await chmod(join(ws, 'own-hooks', name), 0o755);
    }
    await git(ws, 'config', 'core.hooksPath', 'own-hooks');

    await push();

    expect(await readdir(ws)).not.toContain('pwned');
  });

  test('unresolved conflicts are not committed', async () => {
    const { git, commit, ws, push } = await cloned();
    await git(ws, 'checkout', '--quiet', '-b', 'other');
    await commit(ws, 'README', 'one');
    await git(ws, 'checkout', '--quiet', 'baton/AB-1');
    await commit(ws, 'README', 'two');
    await git(ws, 'merge', 'other').catch(() => '');

    await expect(push()).rejects.toThrow(/unresolved conflicts/);
  });
});
