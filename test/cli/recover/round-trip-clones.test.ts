import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { DIST } from '../../support/dist.js';
import { contentOf, recoverSetup } from './recover-fixture.js';

const HOOKS = join(DIST, 'hooks/scripts');

/** One commit on top of the remote, one changed and one new file. */
async function work({ workspace, commit }: Awaited<ReturnType<typeof recoverSetup>>) {
  await commit(workspace, 'mine', 'x');
  await writeFile(join(workspace, 'README'), 'changed');
  await writeFile(join(workspace, 'new'), 'x');
}

describe('workspaces of every kind are restored', () => {
  test('made by worktree-from-cache.sh', async () => {
    const setup = await recoverSetup();
    const { base, remote, workspace } = setup;
    await rm(workspace, { recursive: true });
    await mkdir(workspace);
    const env = {
      ...{ PATH: process.env.PATH ?? '', HOME: base, BATON_REPO_URL: remote },
      ...{ BATON_WORKSPACE: workspace, BATON_ISSUE_IDENTIFIER: 'AB-1' },
    };
    await promisify(execFile)('bash', [join(HOOKS, 'worktree-from-cache.sh')], { cwd: workspace, env });
    await work(setup);

    const { before, after, clone } = await setup.roundTrip();

    expect(after).toEqual(before);
    expect(await setup.branches(clone)).toEqual(['recovered/AB-1']);
  });

  test('that borrows objects from another repository', async () => {
    const setup = await recoverSetup();
    const { base, remote, workspace, git } = setup;
    await rm(workspace, { recursive: true });
    await git(base, 'clone', '--quiet', '--shared', remote, workspace);
    await work(setup);
    await writeFile(join(workspace, 'mine'), 'staged');
    await git(workspace, 'add', 'mine');
    await writeFile(join(workspace, 'mine'), 'changed again');

    const { before, after, clone } = await setup.roundTrip();

    expect(after).toEqual(before);
    expect(await git(clone, 'show', 'recovered/AB-1-staged:mine')).toBe('staged');
  });

  test('that has not all objects, and not all files', async () => {
    const setup = await recoverSetup();
    const { base, remote, workspace, git, commit } = setup;
    await git(remote, 'config', 'uploadpack.allowFilter', 'true');
    await mkdir(join(remote, 'far'));
    await commit(remote, 'far/away', 'x');
    await rm(workspace, { recursive: true });
    await git(base, 'clone', '--quiet', '--filter=blob:none', '--sparse', `file://${remote}`, workspace);
    await work(setup);

    const { before, after } = await setup.roundTrip();

    expect(after).toEqual({ ...before, 'far/away': 'file x' });
  });

  test('with a submodule and a worktree inside, each separately', async () => {
    const { base, remote, workspace, git, commit, save, fresh, call } = await recoverSetup();
    const allow = ['-c', 'protocol.file.allow=always'];
    await git(workspace, ...allow, 'submodule', '--quiet', 'add', remote, 'sub');
    await git(workspace, 'commit', '--quiet', '-m', 'submodule');
    await git(workspace, 'worktree', 'add', '--quiet', '--detach', join(workspace, 'tree'));
    await commit(join(workspace, 'sub'), 'in-sub', 'x');
    await commit(join(workspace, 'tree'), 'in-tree', 'x');
    await writeFile(join(workspace, 'sub/new'), 'x');
    const content = await Promise.all(['sub', 'tree'].map((name) => contentOf(join(workspace, name))));
    await save();
    await rm(workspace, { recursive: true });
    const clone = await fresh();

    for (const repository of ['.', 'sub', 'tree']) {
      expect(await call(clone, { issue: 'AB-1', repository })).toMatchObject({ code: 0 });
    }

    expect(await git(clone, 'ls-tree', '--name-only', 'recovered/AB-1')).toBe('.gitmodules\nREADME\nsub');
    const came = [];
    for (const number of [2, 3]) {
      await git(clone, 'worktree', 'add', '--quiet', join(base, `came-${number}`), `recovered/AB-1-${number}`);
      came.push(await contentOf(join(base, `came-${number}`)));
    }
    expect(came).toEqual(content);
  });

  test('whose objects have names of another length, only into a repository of its kind', async () => {
    const { base, workspace, git, commit, save, fresh, call } = await recoverSetup();
    await rm(workspace, { recursive: true });
    for (const name of [workspace, join(base, 'long')])
      await git(base, 'init', '--quiet', '--object-format=sha256', name);
    await commit(workspace, 'mine', 'x');
    await writeFile(join(workspace, 'new'), 'x');
    await save();

    const refused = await call(await fresh());
    const taken = await call(join(base, 'long'));

    expect(refused.err).toContain('uses the object format sha256');
    expect(taken.code).toBe(0);
    expect(await git(join(base, 'long'), 'ls-tree', '--name-only', 'recovered/AB-1')).toBe('mine\nnew');
  });
});
