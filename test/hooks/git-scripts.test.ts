import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { branchNames, gitSetup, HOSTILE_TEXTS } from './git-setup.js';

describe('clone-or-update.sh', () => {
  test('clones into an empty workspace, on the branch of the issue', async () => {
    const { git, workspace, script } = await gitSetup();
    const ws = await workspace('AB-1');

    await script('clone-or-update', ws);

    expect(await readFile(join(ws, 'README'), 'utf8')).toBe('hello\n');
    expect(await git(ws, 'symbolic-ref', '--short', 'HEAD')).toBe('baton/AB-1');
  });

  test('uses the branch that the tracker suggests and continues from its remote state', async () => {
    const { git, commit, seed, remote, workspace, script } = await gitSetup();
    await git(seed, 'checkout', '--quiet', '-b', 'feature/x');
    await commit(seed, 'work', 'begun');
    await git(seed, 'push', '--quiet', remote, 'feature/x');
    const ws = await workspace('AB-1');

    await script('clone-or-update', ws, { branch_name: 'feature/x' });

    expect(await git(ws, 'symbolic-ref', '--short', 'HEAD')).toBe('feature/x');
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
  test('many concurrent issues get separate worktrees of one cache', async () => {
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
    expect(
      (await readdir(join(base, '.cache/baton/repositories'))).filter((name) => name.endsWith('.git')),
    ).toHaveLength(1);
  });

  test('removing a workspace releases its branch and keeps its commits', async () => {
    const { git, commit, workspace, script } = await gitSetup();
    const ws = await workspace('AB-1');
    await script('worktree-from-cache', ws);
    await commit(ws, 'work', 'unpushed');
    await rm(ws, { recursive: true });
    await mkdir(ws);

    await script('worktree-from-cache', ws);

    expect(await readFile(join(ws, 'work'), 'utf8')).toBe('unpushed');
    expect(await git(ws, 'status', '--porcelain')).toBe('');
  });

  test('a second execution on a dirty worktree changes nothing', async () => {
    const { workspace, script } = await gitSetup();
    const ws = await workspace('AB-1');
    await script('worktree-from-cache', ws);
    await writeFile(join(ws, 'README'), 'dirty');

    await script('worktree-from-cache', ws);

    expect(await readFile(join(ws, 'README'), 'utf8')).toBe('dirty');
  });

  test('the new worktree can be committed and pushed', async () => {
    const { base, git, remote, branches, workspace, script } = await gitSetup();
    const ws = await workspace('AB-1');
    await script('worktree-from-cache', ws, {}, { BATON_CACHE_DIR: join(base, 'my cache') });
    await writeFile(join(ws, 'new'), 'x');

    await script('commit-and-push', ws);

    expect(await branches()).toEqual(['baton/AB-1', 'main']);
    expect(await git(remote, 'show', 'baton/AB-1:new')).toBe('x');
  });

  test('files and other repositories in the workspace are not changed', async () => {
    const { git, workspace, script } = await gitSetup();
    const files = await workspace('AB-1');
    await writeFile(join(files, 'precious'), '');
    const foreign = await workspace('AB-2');
    await git(foreign, 'init', '--quiet');

    await expect(script('worktree-from-cache', files)).rejects.toThrow(/neither empty nor a worktree/);
    await expect(script('worktree-from-cache', foreign)).rejects.toThrow(/not to the cache/);
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

  test('every text becomes a valid and unique branch name', async () => {
    const names = await branchNames(HOSTILE_TEXTS);

    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9][A-Za-z0-9._/-]{0,120}$/);
    expect(new Set(names).size).toBe(HOSTILE_TEXTS.length);
    expect(names).not.toContain('HEAD');
  });

  test('a valid branch name is not changed', async () => {
    expect(await branchNames(['feature/AB-1.x_y', 'baton/AB-1'])).toEqual(['feature/AB-1.x_y', 'baton/AB-1']);
  });
});
