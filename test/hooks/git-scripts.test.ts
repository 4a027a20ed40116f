import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { branchNameOf } from '../../runner/git/branch-name.js';
import { gitSetup, HOSTILE_TEXTS } from './git-setup.js';

describe('clone-or-update.sh', () => {
  test('clones into an empty workspace, on the branch of the issue', async () => {
    const { git, workspace, script } = await gitSetup();
    const ws = await workspace('AB-1');

    await script('clone-or-update', ws);

    expect(await readFile(join(ws, 'README'), 'utf8')).toBe('hello\n');
    expect(await git(ws, 'symbolic-ref', '--short', 'HEAD')).toBe('baton/AB-1');
  });

  test('SEC-37 a branch that the tracker suggests does not count; work continues from the remote state of our own branch', async () => {
    const { git, commit, seed, remote, workspace, script } = await gitSetup();
    await git(seed, 'checkout', '--quiet', '-b', 'baton/AB-1');
    await commit(seed, 'work', 'begun');
    await git(seed, 'push', '--quiet', remote, 'baton/AB-1');
    const ws = await workspace('AB-1');

    await script('clone-or-update', ws, { branch_name: 'release' });

    expect(await git(ws, 'symbolic-ref', '--short', 'HEAD')).toBe('baton/AB-1');
    expect(await readFile(join(ws, 'work'), 'utf8')).toBe('begun');
  });

  test('a new branch starts at BATON_BASE_BRANCH; a missing base branch is an error', async () => {
    const { git, commit, seed, remote, workspace, script } = await gitSetup();
    await git(seed, 'checkout', '--quiet', '-b', 'develop');
    await commit(seed, 'dev', 'x');
    await git(seed, 'push', '--quiet', remote, 'develop');

    const ws = await workspace('AB-1');
    await script('clone-or-update', ws, {}, { BATON_BASE_BRANCH: 'develop' });

    expect(await readdir(ws)).toContain('dev');
    const missing = script('clone-or-update', await workspace('AB-2'), {}, { BATON_BASE_BRANCH: 'nope' });
    await expect(missing).rejects.toThrow(/has no branch nope/);
  });

  test('an update includes commits that others pushed to the branch', async () => {
    const { git, commit, seed, remote, workspace, script } = await gitSetup();
    const ws = await workspace('AB-1');
    await script('clone-or-update', ws);
    await git(seed, 'checkout', '--quiet', '-b', 'baton/AB-1');
    await commit(seed, 'review', 'x');
    await git(seed, 'push', '--quiet', remote, 'baton/AB-1');

    await script('clone-or-update', ws);

    expect(await readdir(ws)).toContain('review');
  });

  test('an update does not change local commits, local changes or other branches', async () => {
    const { git, commit, seed, remote, workspace, script } = await gitSetup();
    const ws = await workspace('AB-1');
    await script('clone-or-update', ws);
    await git(seed, 'checkout', '--quiet', '-b', 'baton/AB-1');
    await commit(seed, 'review', 'x');
    await git(seed, 'push', '--quiet', remote, 'baton/AB-1');

    await writeFile(join(ws, 'README'), 'dirty');
    expect(await script('clone-or-update', ws)).toContain('uncommitted changes');
    expect(await readFile(join(ws, 'README'), 'utf8')).toBe('dirty');

    await commit(ws, 'README', 'mine');
    expect(await script('clone-or-update', ws)).toContain('commits of its own');
    expect(await readFile(join(ws, 'README'), 'utf8')).toBe('mine');

    await git(ws, 'checkout', '--quiet', '-b', 'agents-own');
    expect(await script('clone-or-update', ws)).toContain('HEAD is not on baton/AB-1');
    expect(await git(ws, 'symbolic-ref', '--short', 'HEAD')).toBe('agents-own');
  });

  test('existing files without a repository are not overwritten by a clone', async () => {
    const { workspace, script } = await gitSetup();
    const ws = await workspace('AB-1');
    await writeFile(join(ws, 'precious'), '');

    await expect(script('clone-or-update', ws)).rejects.toThrow(/neither empty nor a git repository/);

    expect(await readdir(ws)).toEqual(['precious']);
  });

  test('the next execution finishes an interrupted clone', async () => {
    const { git, workspace, script } = await gitSetup();
    const ws = await workspace('AB-1');
    await git(ws, 'init', '--quiet');

    await script('clone-or-update', ws);

    expect(await readdir(ws)).toContain('README');
  });

  test.each([
    [{ BATON_REPO_URL: '' }, /set it to the repository/],
    [{ BATON_REPO_URL: '--upload-pack=touch pwned' }, /cannot read from/],
    [{ BATON_REPO_URL: '/nonexistent' }, /cannot read from/],
  ])('an invalid repository %j is a clear error', async (extra, message) => {
    const { workspace, script } = await gitSetup();
    const ws = await workspace('AB-1');

    await expect(script('clone-or-update', ws, {}, extra)).rejects.toThrow(message);
    expect(await readdir(ws)).not.toContain('pwned');
  });
});

describe('worktree-from-cache.sh', () => {
  test('many concurrent issues get separate clones of one local repository', async () => {
    const { base, git, workspace, script } = await gitSetup();
    const ids = ['AB-1', 'AB-2', 'AB-3', 'AB-4'];

    await Promise.all(
      ids.map(async (identifier) => script('worktree-from-cache', await workspace(identifier), { identifier })),
    );

    for (const identifier of ids) {
      const ws = join(base, 'ws', identifier);
      expect(await git(ws, 'symbolic-ref', '--short', 'HEAD')).toBe(`baton/${identifier}`);
      expect(await readdir(ws)).toContain('README');
    }
    const own = await readdir(join(base, 'ws/.baton/git'));
    expect(own.filter((name) => name.endsWith('.git'))).toHaveLength(1);
  });

  test('a second execution on changed files changes nothing', async () => {
    const { workspace, script } = await gitSetup();
    const ws = await workspace('AB-1');
    await script('worktree-from-cache', ws);
    await writeFile(join(ws, 'README'), 'dirty');

    await script('worktree-from-cache', ws);

    expect(await readFile(join(ws, 'README'), 'utf8')).toBe('dirty');
  });

  test('the new clone can be committed and pushed', async () => {
    const { git, remote, branches, workspace, script } = await gitSetup();
    const ws = await workspace('AB-1');
    await script('worktree-from-cache', ws);
    await writeFile(join(ws, 'new'), 'x');

    await script('commit-and-push', ws);

    expect(await branches()).toEqual(['baton/AB-1', 'main']);
    expect(await git(remote, 'show', 'baton/AB-1:new')).toBe('x');
  });

  test('files in the workspace are not changed, and a worktree of an earlier version says what to do', async () => {
    const { base, git, seed, workspace, script } = await gitSetup();
    const files = await workspace('AB-1');
    await writeFile(join(files, 'precious'), '');
    const worktree = join(base, 'ws', 'AB-2');
    await git(seed, 'worktree', 'add', '--quiet', '-b', 'old', worktree);

    await expect(script('worktree-from-cache', files)).rejects.toThrow(/neither empty nor a git repository/);
    await expect(script('worktree-from-cache', worktree)).rejects.toThrow(/earlier version.*remove the folder/);
    await expect(script('commit-and-push', worktree)).rejects.toThrow(/leads to another repository/);
  });
});

describe('SEC-10 hostile names and titles', () => {
  test.each(['$(touch pwned)`touch pwned`', '--upload-pack=touch pwned', 'two\nlines; touch pwned', 'main'])(
    '%j is not executed and does not reach the default branch',
    async (text) => {
      const { base, git, remote, branches, workspace, script } = await gitSetup();
      const main = await git(remote, 'rev-parse', 'main');
      const hostile = { identifier: text, title: text, branch_name: text };
      const ws = await workspace('one');
      const worktree = await workspace('two');

      await script('clone-or-update', ws, hostile);
      await script('worktree-from-cache', worktree, hostile);
      await writeFile(join(ws, 'new'), 'x');
      await script('commit-and-push', ws, hostile);

      expect(await git(remote, 'rev-parse', 'main')).toBe(main);
      expect(await branches()).toHaveLength(2);
      expect(await git(ws, 'log', '-1', '--format=%an <%ae>')).toBe('Baton <baton@localhost>');
      for (const folder of [base, ws, worktree]) expect(await readdir(folder)).not.toContain('pwned');
    },
  );

  test('every text becomes a valid and unique branch name', () => {
    const names = HOSTILE_TEXTS.map(branchNameOf);

    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9][A-Za-z0-9._/-]{0,120}$/);
    expect(new Set(names).size).toBe(HOSTILE_TEXTS.length);
    expect(names).not.toContain('HEAD');
  });

  test('a valid branch name is not changed', () => {
    expect(['feature/AB-1.x_y', 'baton/AB-1'].map(branchNameOf)).toEqual(['feature/AB-1.x_y', 'baton/AB-1']);
  });
});
