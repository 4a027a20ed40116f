import { spawnSync } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { recoverSetup } from './recover-fixture.js';

/** One commit and one new file, saved. */
async function savedSetup() {
  const setup = await recoverSetup();
  await setup.commit(setup.workspace, 'one', '1');
  await writeFile(join(setup.workspace, 'new'), 'x');
  const { folder } = await setup.save();
  return { ...setup, folder: folder ?? '', clone: await setup.fresh() };
}

describe('baton recover reports missing data', () => {
  test('an issue without saved work: the saved issues, or a similar one', async () => {
    const { clone, call } = await savedSetup();

    const near = await call(clone, { issue: 'AB1' });
    const far = await call(clone, { issue: 'something else' });
    const listed = await call(clone, { issue: 'something else', list: true });

    expect(near).toEqual({
      code: 1,
      out: '',
      err: 'baton: recover_failed: nothing was saved of AB1; did you mean AB-1?\n',
    });
    expect(far.err).toMatch(/nothing was saved of something else; there is saved work of AB-1\n$/);
    expect(listed).toEqual(far);
  });

  test('no saved work', async () => {
    const { base, saveDir, call } = await recoverSetup();
    await mkdir(saveDir, { recursive: true });

    const { code, err } = await call(base);

    expect(code).toBe(1);
    expect(err).toMatch(/nothing was saved of AB-1: \S+ is empty\. .*keep_days/);
  });

  test('an unknown name of saved work', async () => {
    const { clone, call } = await savedSetup();

    const { code, err } = await call(clone, { issue: 'AB-1', saved: 'AB-1@2020' });

    expect(code).toBe(1);
    expect(err).toContain('nothing was saved as AB-1@2020; there are: AB-1@2026-01-01T00.00.00.000Z');
  });

  test('a missing workflow, a workflow without a daemon, and a wrong state directory', async () => {
    const { clone, call } = await savedSetup();

    const missing = await call(clone, { issue: 'AB-1', stateDir: undefined });
    await writeFile(join(clone, 'WORKFLOW.md'), 'broken: [');
    const unused = await call(clone, { issue: 'AB-1', stateDir: undefined });
    const wrong = await call(clone, { issue: 'AB-1', stateDir: 'nowhere' });

    expect(missing).toMatchObject({ code: 2, err: expect.stringContaining('missing_workflow_file: there is no WORK') });
    expect(unused).toMatchObject({ code: 1, err: expect.stringContaining('no daemon has run with WORKFLOW.md') });
    expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('there is no state directory') });
  });

  test('a folder without a repository, no folder at all, and a system without git', async () => {
    const { base, clone, call } = await savedSetup();
    await mkdir(join(base, 'bin'));

    const none = await call(base);
    const nowhere = await call(base, { issue: 'AB-1', into: 'nowhere' });
    const gitless = await call(clone, { issue: 'AB-1' }, { PATH: join(base, 'bin') });

    expect(none).toMatchObject({ code: 2, err: expect.stringContaining('is not in a git repository. Go to a clone') });
    expect(nowhere).toMatchObject({ code: 2, err: expect.stringContaining('nowhere is no folder') });
    expect(gitless).toMatchObject({ code: 2, err: expect.stringContaining('git could not be started') });
  });

  test('a commit that the repository does not have, and where to get it', async () => {
    const { base, remote, workspace, git, commit, save, fresh, call, branches } = await recoverSetup();
    const clone = await fresh();
    await commit(remote, 'newer', 'x');
    await git(workspace, 'pull', '--quiet');
    await commit(workspace, 'mine', 'x');
    await save();
    const needed = await git(remote, 'rev-parse', 'main');

    const { code, err } = await call(clone);
    await git(base, 'clone', '--quiet', '--depth=1', `file://${clone}`, 'shallow');
    const shallow = await call(join(base, 'shallow'));
    const untouched = await branches(clone);
    await git(clone, 'fetch', '--quiet', '--all');
    const then = await call(clone);

    expect(code).toBe(1);
    expect(err).toContain(`builds on commit ${needed}, which ${clone} does not have. Fetch it there (git fetch --all)`);
    expect(shallow.err).toContain('git fetch --unshallow');
    expect(untouched).toEqual(['']);
    expect(then.code).toBe(0);
  });

  test('changes alone on a commit that the repository does not have', async () => {
    const { remote, workspace, git, commit, save, fresh, call } = await recoverSetup();
    const clone = await fresh();
    await commit(remote, 'newer', 'x');
    await git(workspace, 'pull', '--quiet');
    await writeFile(join(workspace, 'new'), 'x');
    await save();

    expect(await call(clone)).toMatchObject({ code: 1, err: expect.stringContaining('builds on commit') });
  });

  test('history that a shallow clone without a remote never had', async () => {
    const { base, remote, workspace, git, commit, save, fresh, call } = await recoverSetup();
    await commit(remote, 'two', 'x');
    await rm(workspace, { recursive: true });
    await git(base, 'clone', '--quiet', '--depth=1', `file://${remote}`, workspace);
    await git(workspace, 'remote', 'remove', 'origin');
    await commit(workspace, 'mine', 'x');
    await save();
    await git(base, 'init', '--quiet', 'other');

    const other = await call(join(base, 'other'));
    const clone = await call(await fresh());

    expect(other).toMatchObject({
      code: 1,
      err: expect.stringContaining('lacks objects that the saved work builds on'),
    });
    expect(clone.code).toBe(0);
  });
});

describe('baton recover refuses damaged data', () => {
  test.each([
    ['cut off', async (bundle: string) => truncate(bundle, (await readFile(bundle)).length - 30)],
    ['cut off in its header', (bundle: string) => truncate(bundle, 30)],
    ['empty', (bundle: string) => truncate(bundle, 0)],
    ['something else', (bundle: string) => writeFile(bundle, 'hello\n\nworld')],
    [
      'with a changed byte',
      async (bundle: string) => {
        const bytes = await readFile(bundle);
        bytes.writeUInt8(bytes.readUInt8(bytes.length - 40) ^ 1, bytes.length - 40);
        await writeFile(bundle, bytes);
      },
    ],
  ])('a bundle that is %s', async (_, damage) => {
    const { clone, folder, call, branches } = await savedSetup();
    await damage(join(folder, 'work.bundle'));

    const { code, out, err } = await call(clone);

    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/^baton: recover_failed: .*work\.bundle is (?:damaged|no complete git bundle)/);
    expect(await branches(clone)).toEqual(['']);
  });

  test('saved work with a damaged record can be recovered', async () => {
    const { clone, folder, call } = await savedSetup();
    await writeFile(join(folder, 'saved.json'), '{"version":1,"repositories":[{"prefix":"../../');

    expect((await call(clone)).code).toBe(0);
  });
});

describe('data of an agent is harmless', () => {
  test.each(['../outside', '.git/hooks/post-checkout', '/absolute', 'link/inside'])(
    'a patch to %s is not applied',
    async (path) => {
      const { clone, folder, git, call, branches } = await savedSetup();
      const link = 'diff --git a/link b/link\nnew file mode 120000\n--- /dev/null\n+++ b/link\n@@ -0,0 +1 @@\n+/etc\n';
      const file = `diff --git a/${path} b/${path}\nnew file mode 100755\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+x\n`;
      await writeFile(join(folder, 'work.patch'), `${path.startsWith('link') ? link : ''}${file}`);

      const { code } = await call(clone);

      expect(code).toBe(1);
      expect(await branches(clone)).toEqual(['recovered/AB-1']);
      expect(await git(clone, 'ls-tree', '-r', '--name-only', 'recovered/AB-1')).toBe('README\none');
    },
  );

  test('objects that git would reject over a network are rejected from a bundle', async () => {
    const { workspace, git, save, fresh, call } = await recoverSetup();
    const blob = await git(workspace, 'rev-parse', 'HEAD:README');
    const inner = treeOf(workspace, `100755 blob ${blob}\tpost-checkout\n`);
    const tree = treeOf(workspace, `040000 tree ${inner}\t.git\n`);
    const evil = await git(workspace, 'commit-tree', tree, '-p', 'HEAD', '-m', 'evil');
    await git(workspace, 'update-ref', 'refs/heads/evil', evil);
    await save();

    const { code, err } = await call(await fresh());

    expect(code).toBe(1);
    expect(err).toMatch(/git rejects its content: .*hasDotgit/);
  });

  test('no hook, filter or helper runs', async () => {
    const { base, clone, git, workspace, save, call } = await savedSetup();
    const trap = join(base, 'trap');
    await writeFile(trap, `#!/bin/sh\ntouch ${base}/pwned\ncat\n`);
    await chmod(trap, 0o755);
    await writeFile(join(workspace, '.gitattributes'), '* filter=evil diff=evil merge=evil\n');
    await save({ nowMs: Date.UTC(2027, 0) });
    for (const hook of ['reference-transaction', 'post-index-change', 'applypatch-msg', 'pre-auto-gc', 'post-commit']) {
      await writeFile(join(clone, '.git/hooks', hook), `#!/bin/sh\ntouch ${base}/pwned\n`, { mode: 0o755 });
    }
    for (const key of [
      'filter.evil.clean',
      'filter.evil.smudge',
      'diff.evil.textconv',
      'diff.external',
      'core.fsmonitor',
    ])
      await git(clone, 'config', key, trap);

    expect((await call(clone)).code).toBe(0);
    expect(await readdir(base)).not.toContain('pwned');
  });

  test('text of issues and names of branches cannot move the cursor', async () => {
    const { workspace, clone, git, commit, save, call } = await savedSetup();
    await git(workspace, 'checkout', '--quiet', '-b', 'evil\u202ebranch');
    await commit(workspace, 'evil', 'x');
    const issue = { id: '2', identifier: '../x\u001b[2J\n.lock', title: 'a\u001b[31m\nb' };
    await save({ nowMs: Date.UTC(2027, 0), issue });

    const listed = await call(clone, { list: true });
    const { code, out } = await call(clone, { issue: '2' });

    expect(code).toBe(0);
    for (const control of ['\u001b', '\u202e']) expect(listed.out + out).not.toContain(control);
    expect(out).toContain('\\u001b[2J\\n.lock (a\\u001b[31m\\nb)');
    expect(out).toContain('recovered/x-2J ');
    expect(await git(clone, 'log', '-1', '--format=%s', 'recovered/x-2J')).not.toContain('\u001b');
  });
});

/** A tree with any names at all. */
function treeOf(cwd: string, entries: string): string {
  return spawnSync('git', ['mktree'], { cwd, input: entries, encoding: 'utf8' }).stdout.trim();
}
