import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { EPOCH_MS } from '../../support/fake-clock.js';
import { contentOf, recoverSetup } from './recover-fixture.js';

const HOUR_MS = 3_600_000;

/** One commit and one new file, saved. */
async function savedSetup() {
  const setup = await recoverSetup();
  await setup.commit(setup.workspace, 'one', '1');
  await writeFile(join(setup.workspace, 'new'), 'x');
  const { folder } = await setup.save();
  return { ...setup, folder: folder ?? '', clone: await setup.fresh() };
}

describe('baton recover', () => {
  test('prints what it created and the next command', async () => {
    const { clone, call } = await savedSetup();

    const { code, out, err } = await call(clone);

    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toBe(`AB-1 (One), saved 2026-01-01 00:00 UTC. New branches:
  recovered/AB-1  1 commit, and the uncommitted changes as one more: 1 file changed, 1 insertion(+)
Nothing else was changed: no file, no index, no other branch. An agent wrote this, so review it before you run it.
Next:
  git log --stat HEAD..recovered/AB-1
  git switch recovered/AB-1
  git reset HEAD~   # then: turns the changes back into uncommitted ones
`);
  });

  test('changes neither files nor index nor other branches, and keeps the saved work', async () => {
    const { clone, git, folder, call } = await savedSetup();
    await writeFile(join(clone, 'README'), 'mine, half done');
    await writeFile(join(clone, 'staged'), 'mine');
    await git(clone, 'add', 'staged');
    const look = async () => [
      await contentOf(clone),
      await readFile(join(clone, '.git/index'), 'latin1'),
      await readFile(join(clone, '.git/HEAD'), 'utf8'),
      await git(clone, 'for-each-ref', 'refs/remotes', 'refs/tags', 'refs/heads/main'),
      await contentOf(folder),
    ];
    const before = await look();

    await call(clone);

    expect(await look()).toEqual(before);
  });

  test('never overwrites: a second recovery gets another branch', async () => {
    const { clone, git, call, branches } = await savedSetup();

    await call(clone);
    await git(clone, 'branch', 'recovered/AB-1-2/in-the-way', 'main');
    const { out } = await call(clone);

    expect(await branches(clone)).toEqual(['recovered/AB-1', 'recovered/AB-1-2/in-the-way', 'recovered/AB-1-3']);
    expect(out).toContain('recovered/AB-1-3  1 commit, and');
  });

  test('a branch named recovered is reported as an obstacle', async () => {
    const { clone, git, call } = await savedSetup();
    await git(clone, 'branch', 'recovered');

    const { code, err } = await call(clone);

    expect(code).toBe(1);
    expect(err).toMatch(/^baton: recover_failed: the branch named recovered in .* is in the way/);
  });

  test.each(['AB-1', 'ab-1', '1'])('%s finds the newest of the issue, --saved an earlier one', async (issue) => {
    const { workspace, clone, git, save, call } = await savedSetup();
    await writeFile(join(workspace, 'new'), 'newer');
    await save({ nowMs: EPOCH_MS + HOUR_MS });

    await call(clone, { issue });
    await call(clone, { issue, saved: 'AB-1@2026-01-01T00.00.00.000Z' });

    expect(await git(clone, 'show', 'recovered/AB-1:new')).toBe('newer');
    expect(await git(clone, 'show', 'recovered/AB-1-2:new')).toBe('x');
  });

  test('--into: another repository, from a folder without one; also a bare one and a linked worktree', async () => {
    const { base, remote, clone, git, call } = await savedSetup();
    await git(base, 'clone', '--quiet', '--bare', remote, 'bare.git');
    await git(clone, 'worktree', 'add', '--quiet', '--detach', join(base, 'linked'));

    const results = [];
    for (const into of ['fresh', 'bare.git', 'linked']) results.push(await call(base, { issue: 'AB-1', into }));

    expect(results.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(results[0]?.out).toContain('  git -C fresh switch recovered/AB-1\n');
    expect(await git(join(base, 'bare.git'), 'show', 'recovered/AB-1:new')).toBe('x');
    expect(await git(clone, 'show', 'recovered/AB-1-2:new')).toBe('x');
  });

  test('from a folder inside the repository everything is restored, not only that folder', async () => {
    const { clone, git, call } = await savedSetup();
    await mkdir(join(clone, 'deep/inside'), { recursive: true });

    await call(join(clone, 'deep/inside'));

    expect(await git(clone, 'show', 'recovered/AB-1:new')).toBe('x');
  });

  test('repositories inside the workspace are listed, each with its command', async () => {
    const { base, remote, workspace, git, commit, save, fresh, call } = await recoverSetup();
    await git(base, 'clone', '--quiet', remote, join(workspace, 'vendor/a b'));
    await commit(join(workspace, 'vendor/a b'), 'inner', 'x');
    await writeFile(join(workspace, 'outer'), 'x');
    await save();
    const clone = await fresh();

    const { out } = await call(clone);
    const inner = await call(clone, { issue: 'AB-1', repository: 'vendor/a b/' });
    const wrong = await call(clone, { issue: 'AB-1', repository: 'vendor' });

    expect(out).toContain(`recover AB-1 --state-dir ${join(base, 'state')} --repository 'vendor/a b'\n`);
    expect(inner.out).toContain(', from vendor/a b in the workspace. New');
    expect(await git(clone, 'ls-tree', '--name-only', 'recovered/AB-1')).toBe('README\nouter');
    expect(await git(clone, 'ls-tree', '--name-only', 'recovered/AB-1-2')).toBe('README\ninner');
    expect(wrong.err).toContain('contains no repository vendor; it contains ., vendor/a b');
  });

  test('the command for a repository works when the identifier looks like a flag', async () => {
    const { base, remote, workspace, git, commit, save, fresh, call } = await recoverSetup();
    await git(base, 'clone', '--quiet', remote, join(workspace, 'inner'));
    await commit(join(workspace, 'inner'), 'inner', 'x');
    await writeFile(join(workspace, 'outer'), 'x');
    await save({ issue: { id: '1', identifier: '-rf', title: 'One' } });
    const clone = await fresh();

    const { out } = await call(clone, { issue: '-rf' });
    const [, saved = ''] = /baton recover --saved (\S+) --state-dir \S+ --repository inner\n/.exec(out) ?? [];
    const inner = await call(clone, { issue: undefined, saved, repository: 'inner' });

    expect(inner).toMatchObject({ code: 0, out: expect.stringContaining(', from inner in the workspace. New') });
  });

  test('one of several repositories in a workspace must be chosen; a single one is chosen by default', async () => {
    const { base, remote, workspace, git, commit, save, fresh, call } = await recoverSetup();
    await rm(join(workspace, '.git'), { recursive: true });
    for (const name of ['a', 'b']) {
      await git(base, 'clone', '--quiet', remote, join(workspace, name));
      await commit(join(workspace, name), name, 'x');
    }
    await save();
    await rm(join(workspace, 'a'), { recursive: true });
    await save({ nowMs: EPOCH_MS - HOUR_MS });
    const clone = await fresh();

    const several = await call(clone);
    const only = await call(clone, { issue: 'AB-1', saved: '2025-12-31T23.00.00.000Z' });

    expect(several).toMatchObject({
      code: 1,
      err: expect.stringContaining('were saved: a, b. Choose one with --repo'),
    });
    expect(only.code).toBe(0);
  });

  test('the restored repository passes git fsck', async () => {
    const { clone, git, call } = await savedSetup();

    await call(clone);

    expect(await git(clone, 'fsck', '--strict')).toBe('');
  });
});

describe('baton recover --list', () => {
  test('shows all issues or one, the newest first, with time, size and repositories', async () => {
    const { clone, workspace, save, call } = await savedSetup();
    await writeFile(join(workspace, 'new'), 'newer');
    await save({ nowMs: EPOCH_MS + HOUR_MS });

    const all = await call(clone, { list: true });
    const one = await call(clone, { list: true, issue: 'ab-1' });

    expect(all.out.replace(/\d+ bytes|[\d.]+ kB/g, 'SIZE').replace(/at [0-9a-f]{8}/g, 'at HEAD')).toBe(`AB-1  One
  2026-01-01 01:00 UTC  SIZE  --saved AB-1@2026-01-01T01.00.00.000Z
      .  unpushed commits and uncommitted changes on main at HEAD
  2026-01-01 00:00 UTC  SIZE  --saved AB-1@2026-01-01T00.00.00.000Z
      .  unpushed commits and uncommitted changes on main at HEAD

To restore the newest of an issue: baton recover <issue>; an earlier one: add --saved with its name.
`);
    expect(one.out).toBe(all.out);
  });

  test('unfinished and foreign folders are not shown; an empty list is a success', async () => {
    const { base, saveDir, fresh, call } = await recoverSetup();
    await mkdir(join(saveDir, '.partial-AB-2@2026-01-01T00.00.00.000Z'), { recursive: true });
    await mkdir(join(saveDir, 'notes'));
    await writeFile(join(saveDir, 'AB-3@2026-01-01T00.00.00.000Z'), '');

    expect(await call(await fresh(), { list: true })).toEqual({
      code: 0,
      out: `Nothing is saved in ${join(base, 'state/saved')}.\n`,
      err: '',
    });
  });
});

describe('work saved by an older Baton, without saved.json', () => {
  test('HEAD is read from the bundle', async () => {
    const { clone, git, folder, call } = await savedSetup();
    await rm(join(folder, 'saved.json'));

    const list = await call(clone, { list: true });
    const { code } = await call(clone);

    expect(list.out).toContain('unpushed commits and uncommitted changes at ');
    expect(code).toBe(0);
    expect(await git(clone, 'ls-tree', '--name-only', 'recovered/AB-1')).toBe('README\nnew\none');
  });

  test('a patch alone is applied to a commit that it fits', async () => {
    const { workspace, remote, git, commit, save, fresh, call } = await recoverSetup();
    await writeFile(join(workspace, 'README'), 'changed');
    await rm(join((await save()).folder ?? '', 'saved.json'));
    const clone = await fresh();
    await commit(clone, 'README', 'something else\n');

    const { code, out } = await call(clone);

    expect(code).toBe(0);
    expect(out).toContain('recovered/AB-1  uncommitted changes: 1 file changed');
    expect(await git(clone, 'rev-parse', 'recovered/AB-1~')).toBe(await git(remote, 'rev-parse', 'main'));
  });

  test('a patch that fits no commit is left to the user, and the rest is restored', async () => {
    const { clone, folder, call, branches } = await savedSetup();
    await writeFile(join(folder, 'work.patch'), '--- a/x\n+++ b/x\n@@ -1 +1 @@\n-gone\n+new\n');

    const { code, out } = await call(clone);

    expect(code).toBe(1);
    expect(out).toContain(`apply --3way ${join(folder, 'work.patch')}`);
    expect(await branches(clone)).toEqual(['recovered/AB-1']);
  });
});
