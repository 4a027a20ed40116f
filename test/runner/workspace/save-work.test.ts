import { chmod, chown, mkdir, readdir, readFile, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findRepositories } from '../../../runner/workspace/save-work.js';
import { pruneSaved, removePartials } from '../../../runner/workspace/saved-work.js';
import { asOrdinaryUser } from '../../support/as-ordinary-user.js';
import { EPOCH_MS } from '../../support/fake-clock.js';
import { savedWorkspace } from '../../support/saved-workspace.js';
import { tempFolder } from './temp-folder.js';

const DAY_MS = 86_400_000;
const OTHER_ACCOUNT = 65534;
const isRoot = process.geteuid?.() === 0;

describe('saveWork', () => {
  test('a clean workspace whose commits are all pushed has nothing to save', async () => {
    const { saveDir, scratchDir, save } = await savedWorkspace();

    expect(await save()).toEqual({ folder: null, notices: [] });
    expect(await readdir(saveDir)).toEqual([]);
    expect(await readdir(scratchDir)).toEqual([]);
  });

  test('the settings of a repository that is part of the repository are not obeyed', async () => {
    const { base, workspace, git, commit, save } = await savedWorkspace();
    const inner = join(workspace, 'inner');
    await git(workspace, 'init', '--quiet', inner);
    await commit(inner, 'file', 'a');
    await git(workspace, 'add', 'inner');
    await git(inner, 'config', 'filter.evil.clean', `touch '${join(base, 'pwned')}'; cat`);
    await writeFile(join(inner, '.gitattributes'), '* filter=evil');
    // Another time and the same size: now git has to look into the file.
    await writeFile(join(inner, 'file'), 'b');
    await utimes(join(inner, 'file'), 1, 1);

    const { folder } = await save();

    expect(await readdir(base)).not.toContain('pwned');
    const patch = (await readdir(folder ?? '')).find((name) => /^inner-.*\.work\.patch$/.test(name)) ?? '';
    expect(await readFile(join(folder ?? '', patch), 'utf8')).toContain('+b');
  });

  test('a workspace without git has nothing to save', async () => {
    const { workspace, save } = await savedWorkspace();
    await rm(join(workspace, '.git'), { recursive: true });

    expect((await save()).folder).toBeNull();
  });

  test('unpushed commits, staged, unstaged and new files can all be restored', async () => {
    const { workspace, saveDir, git, commit, save, fresh } = await savedWorkspace();
    await git(workspace, 'checkout', '--quiet', '-b', 'work');
    await commit(workspace, 'one', 'committed');
    await writeFile(join(workspace, 'README'), 'unstaged\n');
    await writeFile(join(workspace, 'staged'), 'staged');
    await git(workspace, 'add', 'staged');
    await writeFile(join(workspace, 'new\nfile'), Buffer.from([0, 1, 2, 255]));
    await writeFile(join(workspace, '.gitignore'), 'ignored\n');
    await writeFile(join(workspace, 'ignored'), '');

    const { folder } = await save();

    expect(folder).toBe(join(saveDir, 'AB-1@2026-01-01T00.00.00.000Z'));
    const restored = await fresh();
    await git(restored, 'fetch', '--quiet', join(folder ?? '', 'work.bundle'), 'refs/heads/work:work');
    await git(restored, 'checkout', '--quiet', 'work');
    await git(restored, 'apply', '--index', join(folder ?? '', 'work.patch'));
    for (const file of ['one', 'README', 'staged', 'new\nfile', '.gitignore']) {
      expect(await readFile(join(restored, file))).toEqual(await readFile(join(workspace, file)));
    }
    expect(await readdir(restored)).not.toContain('ignored');
  });

  test('saving changes nothing in the workspace', async () => {
    const { workspace, git, commit, save } = await savedWorkspace();
    await commit(workspace, 'one', 'x');
    await writeFile(join(workspace, 'new'), 'x');
    const before = [await git(workspace, 'status', '--porcelain'), await readFile(join(workspace, '.git/index'))];

    await save();

    expect([await git(workspace, 'status', '--porcelain'), await readFile(join(workspace, '.git/index'))]).toEqual(
      before,
    );
  });

  test('other branches, a detached HEAD and every stash are saved', async () => {
    const { workspace, git, commit, save } = await savedWorkspace();
    await git(workspace, 'checkout', '--quiet', '-b', 'side');
    await commit(workspace, 'side', 'x');
    for (const text of ['first', 'second']) {
      await writeFile(join(workspace, 'README'), text);
      await git(workspace, 'stash', '--quiet');
    }
    await git(workspace, 'checkout', '--quiet', '--detach', 'main');
    await commit(workspace, 'detached', 'x');

    const { folder } = await save();

    const heads = await git(workspace, 'bundle', 'list-heads', join(folder ?? '', 'work.bundle'));
    expect(heads.split('\n').map((line) => line.split(' ')[1])).toEqual(
      expect.arrayContaining(['refs/heads/side', 'refs/baton/HEAD', 'refs/baton/stash/0', 'refs/baton/stash/1']),
    );
  });

  test('a branch whose name is no text is saved', async () => {
    const { workspace, git, commit, save } = await savedWorkspace();
    await git(workspace, 'checkout', '--quiet', '-b', 'side');
    await commit(workspace, 'side', 'x');
    await git(workspace, 'checkout', '--quiet', 'main');
    const refs = Buffer.from(join(workspace, '.git/refs/heads/'));
    await rename(join(workspace, '.git/refs/heads/side'), Buffer.concat([refs, Buffer.from([0x61, 0xff])]));

    const { folder } = await save();

    expect(await git(workspace, 'bundle', 'list-heads', join(folder ?? '', 'work.bundle'))).toMatch(/refs\/heads\/a./);
  });

  test('a change in the second of the last commit, to a text as long as before, is saved', async () => {
    const { workspace, git, save } = await savedWorkspace();
    const write = async (text: string) => {
      await writeFile(join(workspace, 'one'), text);
      await utimes(join(workspace, 'one'), 1, 1);
    };
    await write('a');
    await git(workspace, 'add', 'one');
    await git(workspace, 'commit', '--quiet', '-m', 'one');
    await utimes(join(workspace, '.git/index'), 1, 1);
    await write('b');

    const { folder } = await save();

    expect(await readFile(join(folder ?? '', 'work.patch'), 'utf8')).toContain('+b');
  });

  test('a repository without a commit or a remote is saved whole', async () => {
    const { workspace, git, save } = await savedWorkspace();
    await rm(workspace, { recursive: true });
    await git(join(workspace, '../..'), 'init', '--quiet', workspace);
    await writeFile(join(workspace, 'new'), 'x');

    const { folder } = await save();

    expect(await readdir(folder ?? '')).toEqual(['saved.json', 'work.patch']);
  });

  test('a shallow clone is saved', async () => {
    const { base, remote, workspace, git, commit, save } = await savedWorkspace();
    await commit(remote, 'two', 'x');
    await rm(workspace, { recursive: true });
    await git(base, 'clone', '--quiet', '--depth=1', `file://${remote}`, workspace);
    await commit(workspace, 'mine', 'x');

    expect(await readdir((await save()).folder ?? '')).toEqual(['saved.json', 'work.bundle']);
  });

  test('a linked worktree saves its own HEAD, not the branches of other worktrees', async () => {
    const { base, workspace, git, commit, save } = await savedWorkspace();
    const cache = join(base, 'cache');
    await git(base, 'clone', '--quiet', workspace, cache);
    await rm(workspace, { recursive: true });
    await git(cache, 'checkout', '--quiet', '-b', 'others');
    await commit(cache, 'others', 'x');
    await git(cache, 'worktree', 'add', '--quiet', '-b', 'mine', workspace, 'origin/main');
    await commit(workspace, 'mine', 'x');

    const { folder } = await save();

    const heads = await git(cache, 'bundle', 'list-heads', join(folder ?? '', 'work.bundle'));
    expect(heads.split('\n')).toHaveLength(1);
    expect(heads).toContain('refs/baton/HEAD');
  });

  test('repositories inside the workspace are saved on their own', async () => {
    const { remote, workspace, git, commit, save } = await savedWorkspace();
    const inner = join(workspace, 'vendor/a/b/c/d/inner');
    await git(workspace, 'clone', '--quiet', remote, inner);
    await commit(inner, 'inner', 'x');
    await git(workspace, 'init', '--quiet', join(workspace, 'unborn'));
    await writeFile(join(workspace, 'outer'), 'x');

    const { folder } = await save();

    expect((await readdir(folder ?? '')).map((name) => name.replace(/-[0-9a-f]{16}\./, '.')).sort()).toEqual([
      'saved.json',
      'vendor_a_b_c_d_inner.work.bundle',
      'work.patch',
    ]);
  });

  test('a new file over its limit is left out with a notice, a changed one never', async () => {
    const { workspace, save } = await savedWorkspace();
    await writeFile(join(workspace, 'huge'), 'x'.repeat(3000));
    await writeFile(join(workspace, 'small'), 'x');
    await writeFile(join(workspace, 'README'), 'y'.repeat(3000));

    const { folder, notices } = await save({ limits: { maxNewFileBytes: 2000, maxTotalBytes: 100_000 } });

    expect(notices).toEqual([`${join(workspace, 'huge')} is over 2000 bytes and was not saved`]);
    const patch = await readFile(join(folder ?? '', 'work.patch'), 'utf8');
    expect(patch).toContain('b/small');
    expect(patch).toContain('b/README');
    expect(patch).not.toContain('b/huge');
  });

  test('changes over the total limit are not saved, and the error states that the workspace is kept', async () => {
    const { workspace, saveDir, scratchDir, save } = await savedWorkspace();
    await writeFile(join(workspace, 'README'), 'y'.repeat(3000));

    const attempt = save({ limits: { maxNewFileBytes: 2000, maxTotalBytes: 2000 } });

    await expect(attempt).rejects.toThrow(expect.objectContaining({ code: 'workspace_failed' }));
    await expect(attempt).rejects.toThrow(/the workspace is kept.*over the limit/);
    expect(await readdir(scratchDir)).toEqual([]);
    expect(await readdir(saveDir).catch(() => [])).toEqual([]);
  });

  test('a broken repository fails the save and is never skipped silently', async () => {
    const { workspace, save } = await savedWorkspace();
    await writeFile(join(workspace, '.git/HEAD'), 'garbage');

    await expect(save()).rejects.toThrow(expect.objectContaining({ code: 'workspace_failed' }));
  });

  test('a folder that the agent has closed is opened and searched', async () => {
    const { base, workspace } = await savedWorkspace();
    await mkdir(join(workspace, 'closed/inner/.git'), { recursive: true });
    await writeFile(join(workspace, 'closed/inner/.git/HEAD'), 'ref: refs/heads/main');
    if (isRoot)
      for (const name of ['closed', 'closed/inner', 'closed/inner/.git'])
        await chown(join(workspace, name), OTHER_ACCOUNT, OTHER_ACCOUNT);
    await chmod(join(workspace, 'closed'), 0o000);

    const { repositories } = await asOrdinaryUser(base, () => findRepositories(workspace));

    expect(repositories).toContain(join(workspace, 'closed/inner'));
  });

  test.runIf(isRoot)('a closed folder of another account may hide a repository, so it is an error', async () => {
    const { base, workspace } = await savedWorkspace();
    await mkdir(join(workspace, 'closed'));
    await chmod(join(workspace, 'closed'), 0o644);

    await asOrdinaryUser(base, () => expect(findRepositories(workspace)).rejects.toThrow('EPERM'));
  });

  test('a script that cannot run is a failure to save', async () => {
    const { save } = await savedWorkspace();

    await expect(save({ run: () => Promise.reject(new Error('no bash')) })).rejects.toThrow(/is kept: no bash/);
  });

  test('the configuration of the repository runs no program and hides no work', async () => {
    const { base, workspace, git, save } = await savedWorkspace();
    const trap = join(base, 'trap');
    await writeFile(trap, `#!/bin/sh\ntouch ${base}/pwned\ncat\n`);
    await chmod(trap, 0o755);
    await writeFile(join(workspace, '.gitattributes'), '* filter=evil diff=evil\n');
    await writeFile(join(workspace, 'new'), 'x');
    await mkdir(join(workspace, '.git/hooks'), { recursive: true });
    for (const hook of ['post-index-change', 'reference-transaction', 'pre-auto-gc']) {
      await writeFile(join(workspace, '.git/hooks', hook), `#!/bin/sh\ntouch ${base}/pwned\n`, { mode: 0o755 });
    }
    const settings = {
      'filter.evil.clean': trap,
      'filter.evil.smudge': trap,
      'filter.evil.required': 'true',
      'diff.external': trap,
      'diff.evil.command': trap,
      'diff.evil.textconv': trap,
      'core.pager': trap,
      'core.fsmonitor': trap,
      'core.sshCommand': trap,
      'core.excludesFile': join(base, 'ignore-all'),
    };
    await writeFile(join(base, 'ignore-all'), '*\n');
    for (const [key, value] of Object.entries(settings)) await git(workspace, 'config', key, value);

    const { folder } = await save();

    expect(await readFile(join(folder ?? '', 'work.patch'), 'utf8')).toContain('b/new');
    expect(await readdir(base)).not.toContain('pwned');
  });
});

describe('SEC-29 a repository that leads elsewhere', () => {
  test.each<[string, (git: string, secret: string) => Promise<unknown>]>([
    [
      'by a file',
      async (git, secret) => {
        await rm(git, { recursive: true });
        await writeFile(git, `gitdir: ${secret}/.git\n`);
      },
    ],
    [
      'by a link',
      async (git, secret) => {
        await rm(git, { recursive: true });
        await symlink(join(secret, '.git'), git);
      },
    ],
    ['by a common folder', (git, secret) => writeFile(join(git, 'commondir'), `${secret}/.git\n`)],
    [
      'by linked objects and references',
      async (git, secret) => {
        for (const name of ['objects', 'refs']) {
          await rm(join(git, name), { recursive: true });
          await symlink(join(secret, '.git', name), join(git, name));
        }
      },
    ],
    [
      'by borrowed objects',
      async (git, secret) => {
        await mkdir(join(git, 'objects/info'), { recursive: true });
        await writeFile(join(git, 'objects/info/alternates'), `${secret}/.git/objects\n`);
        await writeFile(join(git, 'refs/heads/theirs'), await readFile(join(secret, '.git/refs/heads/main')));
      },
    ],
  ])('%s is not saved, and its workspace is kept', async (_, change) => {
    const { base, workspace, saveDir, git, commit, save } = await savedWorkspace();
    const secret = join(base, 'private');
    await git(base, 'init', '--quiet', '--initial-branch=main', secret);
    await commit(secret, 'canary', 'CANARY');
    await commit(workspace, 'mine', 'x');
    await change(join(workspace, '.git'), secret);

    await expect(save()).rejects.toThrow(expect.objectContaining({ code: 'workspace_failed' }));

    expect(await readdir(saveDir).catch(() => [])).toEqual([]);
  });
});

describe('pruneSaved', () => {
  test('deletes saved work older than keepDays and nothing else', async () => {
    const { workspace, saveDir, save } = await savedWorkspace();
    await writeFile(join(workspace, 'new'), 'x');
    await save();
    await mkdir(join(saveDir, '.partial-AB-2@2026-01-01T00.00.00.000Z'));
    await mkdir(join(saveDir, 'notes'));
    await mkdir(join(saveDir, 'me@home'));

    await pruneSaved(saveDir, 14, EPOCH_MS + 14 * DAY_MS);
    expect(await readdir(saveDir)).toHaveLength(4);

    await pruneSaved(saveDir, 14, EPOCH_MS + 14 * DAY_MS + 1);
    expect((await readdir(saveDir)).sort()).toEqual(['me@home', 'notes']);
  });

  test('a missing folder has nothing to prune', async () => {
    await pruneSaved(join(await tempFolder(), 'saved'), 14, EPOCH_MS);
  });
});

describe('saved.json', () => {
  test('records the issue and the HEAD of each repository', async () => {
    const { remote, workspace, git, commit, save } = await savedWorkspace();
    await git(workspace, 'checkout', '--quiet', '-b', 'baton/AB-1');
    await writeFile(join(workspace, 'new'), 'x');
    await git(workspace, 'clone', '--quiet', remote, join(workspace, 'in ner'));
    await git(join(workspace, 'in ner'), 'checkout', '--quiet', '--detach');
    await commit(join(workspace, 'in ner'), 'x', 'x');
    await git(workspace, 'clone', '--quiet', remote, join(workspace, 'clean'));
    await git(workspace, 'init', '--quiet', '--initial-branch=main', join(workspace, 'unborn'));
    await writeFile(join(workspace, 'unborn/new'), 'x');

    const { folder } = await save();

    const record: unknown = JSON.parse(await readFile(join(folder ?? '', 'saved.json'), 'utf8'));
    const inner = expect.stringMatching(/^in_ner-[0-9a-f]{16}\.$/);
    expect(record).toEqual({
      version: 1,
      issue: { id: '1', identifier: 'AB-1', title: 'One' },
      workspace_key: 'AB-1',
      saved_at: '2026-01-01T00:00:00.000Z',
      repositories: [
        { ...WHOLE, bundle: false, head: await git(remote, 'rev-parse', 'main'), branch: 'baton/AB-1' },
        {
          ...{ path: 'in ner', prefix: inner, bundle: true, patch: false, branch: null },
          head: await git(join(workspace, 'in ner'), 'rev-parse', 'HEAD'),
        },
        {
          path: 'unborn',
          prefix: expect.stringMatching(/^unborn-[0-9a-f]{16}\.$/),
          bundle: false,
          patch: true,
          head: null,
          branch: 'main',
        },
      ],
      left_out: [],
    });
  });

  test('contains no control characters for the terminal of its reader', async () => {
    const { workspace, save } = await savedWorkspace();
    await writeFile(join(workspace, 'new'), 'x');

    const { folder } = await save({ issue: { id: '1', identifier: 'AB-1', title: '\u009b2J' } });

    const text = await readFile(join(folder ?? '', 'saved.json'), 'utf8');
    expect(text).not.toContain('\u009b');
    expect(JSON.parse(text)).toMatchObject({ issue: { title: '\u009b2J' } });
  });
});

const WHOLE = { path: '', prefix: '', bundle: true, patch: true };

describe('removePartials', () => {
  test('deletes half-saved folders and nothing else', async () => {
    const { workspace, saveDir, save } = await savedWorkspace();
    await writeFile(join(workspace, 'new'), 'x');
    await save();
    for (const name of ['.partial-AB-2@2026-01-01T00.00.00.000Z', '.partial-notes']) await mkdir(join(saveDir, name));

    await removePartials(saveDir);

    expect(await readdir(saveDir)).toEqual(['.partial-notes', 'AB-1@2026-01-01T00.00.00.000Z']);
  });
});

describe('findRepositories', () => {
  test('a repository whose name is no text cannot be saved, and is not passed over', async () => {
    const { workspace } = await savedWorkspace();
    const folder = Buffer.concat([Buffer.from(`${workspace}/name-`), Buffer.from([0xff])]);
    await mkdir(folder);
    await mkdir(Buffer.concat([folder, Buffer.from('/.git')]));
    await writeFile(Buffer.concat([folder, Buffer.from('/.git/HEAD')]), '');

    await expect(findRepositories(workspace)).rejects.toThrow('is not valid UTF-8: rename its folder');
  });
});
