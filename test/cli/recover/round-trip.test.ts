import { chmod, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { contentOf, recoverSetup } from './recover-fixture.js';

type Setup = Awaited<ReturnType<typeof recoverSetup>>;

/** Work that an agent leaves in its workspace. */
const WORK: { readonly [what: string]: (setup: Setup) => Promise<unknown> } = {
  'commits and changes on a branch': async ({ workspace, git, commit }) => {
    await git(workspace, 'checkout', '--quiet', '-b', 'baton/AB-1');
    await commit(workspace, 'one', '1');
    await commit(workspace, 'two', '2');
    await writeFile(join(workspace, 'one'), 'changed');
  },
  'changes only, on a commit that the remote has': ({ workspace }) => writeFile(join(workspace, 'README'), 'changed'),
  'commits only': ({ workspace, commit }) => commit(workspace, 'one', '1'),
  'a detached HEAD with commits': async ({ workspace, git, commit }) => {
    await git(workspace, 'checkout', '--quiet', '--detach');
    await commit(workspace, 'detached', 'x');
  },
  'changes that are staged': async ({ workspace, git }) => {
    await writeFile(join(workspace, 'README'), 'staged');
    await git(workspace, 'add', 'README');
  },
  'deleted and renamed files': async ({ workspace, commit }) => {
    for (const name of ['gone', 'old']) await commit(workspace, name, `${name}\n`.repeat(20));
    await rm(join(workspace, 'gone'));
    await rename(join(workspace, 'old'), join(workspace, 'renamed'));
  },
  'every file deleted': ({ workspace }) => rm(join(workspace, 'README')),
  'binary files': async ({ workspace, commit }) => {
    const bytes = Buffer.from(Array.from({ length: 4096 }, (_, index) => (index * 7919) % 256));
    await commit(workspace, 'binary', bytes.toString('latin1'));
    await writeFile(join(workspace, 'binary'), bytes);
    await writeFile(join(workspace, 'new-binary'), bytes.subarray(7));
  },
  'executable bits, and nothing but': ({ workspace }) => chmod(join(workspace, 'README'), 0o755),
  'symlinks, dangling ones and those that lead outside': async ({ workspace }) => {
    await symlink('README', join(workspace, 'link'));
    await symlink('../../outside', join(workspace, 'outside'));
    await symlink('/etc/hostname', join(workspace, 'absolute'));
  },
  'a file that became a symlink, and a folder that became a file': async ({ workspace, commit }) => {
    await mkdir(join(workspace, 'folder'));
    await commit(workspace, 'folder/inner', 'x');
    await rm(join(workspace, 'folder'), { recursive: true });
    await writeFile(join(workspace, 'folder'), 'now a file');
    await rm(join(workspace, 'README'));
    await symlink('folder', join(workspace, 'README'));
  },
  'names that are hard to write': async ({ workspace, commit }) => {
    await commit(workspace, 'tab\tand "quote"', 'x');
    for (const name of ['new\nline', 'ünïcödé 😀', "it's", 'back\\slash', ' leading', 'trailing ', '-dash', '$(x)'])
      await writeFile(join(workspace, name), name);
    await writeFile(join(workspace, 'tab\tand "quote"'), 'changed');
  },
  'names that are no text': async ({ workspace }) => {
    const folder = Buffer.concat([Buffer.from(`${workspace}/folder-`), Buffer.from([0xff])]);
    await mkdir(folder);
    await writeFile(Buffer.concat([folder, Buffer.from('/file')]), 'x');
  },
  'files without a last line break, with CRLF, with white space at the ends of lines': async ({ workspace }) => {
    await writeFile(join(workspace, 'README'), 'hello\r\nworld \t\r\n\r\n\n ');
    await writeFile(join(workspace, 'none'), 'none');
    await writeFile(join(workspace, 'empty'), '');
  },
  'an unresolved conflict': async ({ workspace, git, commit }) => {
    await git(workspace, 'checkout', '--quiet', '-b', 'other');
    await commit(workspace, 'README', 'theirs\n');
    await git(workspace, 'checkout', '--quiet', 'main');
    await commit(workspace, 'README', 'ours\n');
    await git(workspace, 'merge', 'other').catch(() => {});
  },
  'changes that the index is told not to look at': async ({ workspace, git, commit }) => {
    await commit(workspace, 'skipped', 'x');
    await git(workspace, 'update-index', '--assume-unchanged', 'README');
    await git(workspace, 'update-index', '--skip-worktree', 'skipped');
    for (const name of ['README', 'skipped']) await writeFile(join(workspace, name), 'changed');
  },
  'ignored files that were added all the same': async ({ workspace, git, commit }) => {
    await commit(workspace, '.gitignore', '*.log\n');
    await writeFile(join(workspace, 'kept.log'), 'x');
    await git(workspace, 'add', '--force', 'kept.log');
  },
  'a file that was added for later': async ({ workspace, git }) => {
    await writeFile(join(workspace, 'later'), 'x');
    await git(workspace, 'add', '--intent-to-add', 'later');
  },
  'a repository that was packed and pruned': async ({ workspace, git, commit }) => {
    await commit(workspace, 'one', '1');
    await git(workspace, 'gc', '--quiet', '--prune=now');
    await writeFile(join(workspace, 'two'), '2');
  },
  'a split index': async ({ workspace, git }) => {
    await git(workspace, 'update-index', '--split-index');
    await writeFile(join(workspace, 'new'), 'x');
  },
};

describe('make work, save it, delete the workspace, recover it: the same content', () => {
  test.each(Object.entries(WORK))('%s', async (_, work) => {
    const setup = await recoverSetup();
    await work(setup);

    const { before, after, err } = await setup.roundTrip();

    expect(err).toBe('');
    expect(after).toEqual(before);
  });

  test('a repository without a commit', async () => {
    const { base, workspace, git, roundTrip } = await recoverSetup();
    await rm(workspace, { recursive: true });
    await git(base, 'init', '--quiet', workspace);
    await writeFile(join(workspace, 'new'), 'x');

    const { before, after } = await roundTrip();

    expect(after).toEqual(before);
  });

  test('a repository without a remote comes with its whole history', async () => {
    const { base, workspace, git, commit, roundTrip } = await recoverSetup();
    await rm(workspace, { recursive: true });
    await git(base, 'init', '--quiet', workspace);
    await commit(workspace, 'one', '1');
    await commit(workspace, 'two', '2');
    await writeFile(join(workspace, 'new'), 'x');

    const { before, after, clone } = await roundTrip();

    expect(after).toEqual(before);
    expect(await git(clone, 'log', '--format=%s')).toBe('Uncommitted changes of AB-1\ntwo\none');
  });

  test('a shallow clone', async () => {
    const { base, remote, workspace, git, commit, roundTrip } = await recoverSetup();
    await commit(remote, 'two', 'x');
    await rm(workspace, { recursive: true });
    await git(base, 'clone', '--quiet', '--depth=1', `file://${remote}`, workspace);
    await commit(workspace, 'mine', 'x');
    await writeFile(join(workspace, 'new'), 'x');

    const { before, after } = await roundTrip();

    expect(after).toEqual(before);
  });

  test('a sparse checkout: excluded files are not deleted', async () => {
    const { workspace, git, commit, roundTrip } = await recoverSetup();
    for (const folder of ['in', 'out']) {
      await mkdir(join(workspace, folder));
      await commit(workspace, join(folder, 'file'), 'x');
    }
    await git(workspace, 'sparse-checkout', 'set', 'in');
    await writeFile(join(workspace, 'in/file'), 'changed');

    const { before, after } = await roundTrip();

    expect(after).toEqual({ ...before, 'out/file': 'file x' });
  });

  test('a linked worktree of a cache, into a clone without the cache', async () => {
    const { base, remote, workspace, git, commit, roundTrip } = await recoverSetup();
    const cache = join(base, 'cache.git');
    await git(base, 'clone', '--quiet', '--bare', remote, cache);
    await git(cache, 'config', 'remote.origin.fetch', '+refs/heads/*:refs/remotes/origin/*');
    await git(cache, 'fetch', '--quiet', 'origin');
    await rm(workspace, { recursive: true });
    await git(cache, 'worktree', 'add', '--quiet', '-b', 'mine', workspace, 'origin/main');
    await commit(workspace, 'mine', 'x');
    await writeFile(join(workspace, 'new'), 'x');

    const { before, after, clone } = await roundTrip();

    expect(after).toEqual(before);
    expect(await git(clone, 'log', '--format=%s')).toBe('Uncommitted changes of AB-1\nmine\nREADME');
  });

  test('branches, stashes, tags and staged versions of files that changed again', async () => {
    const { workspace, git, commit, roundTrip, branches } = await recoverSetup();
    await git(workspace, 'checkout', '--quiet', '-b', 'side/one');
    await commit(workspace, 'side', 'x');
    await git(workspace, 'checkout', '--quiet', '--detach', 'main');
    await commit(workspace, 'tagged', 'x');
    await git(workspace, 'tag', '-a', '-m', 'v1', 'v1');
    await git(workspace, 'checkout', '--quiet', 'main');
    for (const text of ['first', 'second']) {
      await writeFile(join(workspace, 'README'), text);
      await writeFile(join(workspace, 'untracked'), text);
      await git(workspace, 'stash', '--quiet', '--include-untracked');
    }
    await writeFile(join(workspace, 'README'), 'staged');
    await git(workspace, 'add', 'README');
    await writeFile(join(workspace, 'README'), 'changed again');

    const { before, after, clone } = await roundTrip();

    expect(after).toEqual(before);
    expect(await branches(clone)).toEqual([
      'recovered/AB-1',
      'recovered/AB-1-branches/side/one',
      'recovered/AB-1-staged',
      'recovered/AB-1-stash/0',
      'recovered/AB-1-stash/1',
      'recovered/AB-1-tags/v1',
    ]);
    expect(await git(clone, 'show', 'recovered/AB-1-staged:README')).toBe('staged');
    expect(await git(clone, 'show', 'recovered/AB-1-branches/side/one:side')).toBe('x');
    expect(await git(clone, 'show', 'recovered/AB-1-tags/v1:tagged')).toBe('x');
    await git(clone, 'checkout', '--quiet', 'main');
    await git(clone, 'stash', 'apply', '--quiet', 'recovered/AB-1-stash/1');
    expect(await contentOf(clone)).toEqual({ README: 'file first', untracked: 'file first' });
  });

  test('files that git ignores are not saved, and a file over the limit is named', async () => {
    const { workspace, git, save, fresh, call } = await recoverSetup();
    await writeFile(join(workspace, '.gitignore'), 'ignored\n');
    await writeFile(join(workspace, 'ignored'), 'x');
    await writeFile(join(workspace, 'huge'), 'x'.repeat(3000));

    await save({ limits: { maxNewFileBytes: 2000, maxTotalBytes: 100_000 } });
    const clone = await fresh();
    const { out } = await call(clone);

    expect(out).toContain(`Not saved: ${join(workspace, 'huge')} is over 2000 bytes`);
    await git(clone, 'checkout', '--quiet', 'recovered/AB-1');
    expect(Object.keys(await contentOf(clone))).toEqual(['.gitignore', 'README']);
  });
});
