import { execFileSync } from 'node:child_process';
import { chmod, link, lstat, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createBookkeeping } from '../../../runner/workspace/bookkeeping.js';
import { settleFolder } from '../../../runner/workspace/workspace-folder.js';
import { distinctName } from '../../../runner/workspace/workspace-path.js';
import { openWorkspaceRoot } from '../../../runner/workspace/workspace-root.js';
import { createWorkspaces } from '../../../runner/workspace/workspaces.js';
import { tempFolder } from './temp-folder.js';

const A = { id: 'a', identifier: 'AB-1' };
const failsWith = (code: string) => expect.objectContaining({ code });

const SCOPE = 'tracker/project';
const identity = (id: string, identifier: string) => ({ id, identifier });
const hashed = (identifier: string) => distinctName(identifier);

/** `restart()` is a new daemon on the same disk. */
async function setUp() {
  const base = await tempFolder();
  const root = await openWorkspaceRoot({
    root: join(base, 'ws'),
    workflowDir: join(base, 'repo'),
    home: join(base, 'home'),
  });
  const restart = (scope = SCOPE) => createWorkspaces({ root, scope });
  const records = createBookkeeping(root);
  const forget = () => rm(join(root, '.baton'), { recursive: true });
  return { base, root, records, forget, restart, workspaces: restart() };
}

const entries = async (root: string) => (await readdir(root)).filter((name) => name !== '.baton').sort();

describe('prepare', () => {
  test('S2-05 S2-07 makes a missing folder for the owner only and records whose it is', async () => {
    const { root, records, workspaces } = await setUp();

    const workspace = await workspaces.prepare(A);

    expect(workspace).toMatchObject({ key: 'AB-1', path: join(root, 'AB-1'), createdNow: true, adopted: false });
    expect((await lstat(workspace.path)).mode & 0o777).toBe(0o700);
    expect(await records.owners()).toEqual([
      { key: 'AB-1', scope: 'tracker/project', issueId: 'a', identifier: 'AB-1' },
    ]);
  });

  test('S2-03 S2-04 S2-08 a confirmed folder is reused with its content', async () => {
    const { restart, workspaces } = await setUp();
    const first = await workspaces.prepare(A);
    await workspaces.confirmCreated(first);
    await writeFile(join(first.path, 'dirty'), 'work');

    const second = await restart().prepare(A);

    expect(second).toEqual({ ...first, createdNow: false });
    expect(await readFile(join(second.path, 'dirty'), 'utf8')).toBe('work');
  });

  test('the folder of a user in place of a half-made one is kept, even with the same inode number', async () => {
    const { restart, workspaces } = await setUp();
    const halfMade = await workspaces.prepare(A);
    const before = await lstat(halfMade.path);
    do {
      await rm(halfMade.path, { recursive: true });
      await mkdir(halfMade.path);
    } while ((await lstat(halfMade.path)).birthtimeMs === before.birthtimeMs);
    await writeFile(join(halfMade.path, 'precious'), 'x');

    const workspace = await restart().prepare(A);

    expect(workspace).toMatchObject({ createdNow: false, adopted: true });
    expect(await entries(workspace.path)).toEqual(['precious']);
  });

  test('SEC-1 nothing is ever created outside the root', async () => {
    const { base, root, workspaces } = await setUp();
    const before = await readdir(base);

    for (const identifier of ['../../x', '/abs', '../AB-1', 'a\\..\\b']) {
      await workspaces.prepare({ id: identifier, identifier });
    }
    for (const identifier of ['', '.', '..', 'a\0']) {
      await expect(workspaces.prepare({ id: 'x', identifier })).rejects.toThrow(failsWith('unsafe_identifier'));
    }

    expect(await readdir(base)).toEqual(before);
    expect(await entries(root)).toHaveLength(4);
  });

  test('S2-05 S2-26 the folder has the identifier as its name, with every unsafe character replaced by _', async () => {
    const { root, workspaces } = await setUp();

    await workspaces.prepare(identity('1', 'acme/app#7'));
    await workspaces.prepare(identity('2', 'ünï'));

    expect(await entries(root)).toEqual(['_n_', 'acme_app_7']);
  });

  test.each([
    ['A/B', 'A_B'],
    ['A_B', 'A/B'],
  ])('S2-28 SEC-2 %s works in the plain folder, and %s, which came later, in one with a hash', async (one, other) => {
    const { root, restart, workspaces } = await setUp();

    await workspaces.prepare(identity('1', one));
    const second = await workspaces.prepare(identity('2', other));

    expect(await entries(root)).toEqual(['A_B', hashed(other)]);
    expect((await restart().prepare(identity('2', other))).path).toBe(second.path);
  });

  test('SEC-2 an identifier that spells the hashed name of another gets a folder of its own', async () => {
    const { root, workspaces } = await setUp();
    await workspaces.prepare(identity('1', 'A_B'));
    await workspaces.prepare(identity('2', 'A/B'));

    await workspaces.prepare(identity('3', hashed('A/B')));

    expect(await entries(root)).toEqual(['A_B', hashed('A/B'), hashed(hashed('A/B'))].sort());
  });

  test('SEC-2 an issue whose names were all taken on purpose beforehand still gets a folder of its own', async () => {
    const { root, workspaces } = await setUp();
    await workspaces.prepare(identity('1', 'A_B'));
    await workspaces.prepare(identity('2', hashed('A/B')));

    await workspaces.prepare(identity('3', 'A/B'));

    expect(await entries(root)).toHaveLength(3);
  });

  test('issues that want one name at the same time get different folders', async () => {
    const { root, workspaces } = await setUp();

    await Promise.all(['A/B', 'A_B', 'A B', 'A:B'].map((one) => workspaces.prepare(identity(one, one))));

    expect(await entries(root)).toHaveLength(4);
  });

  test('the same id and identifier in another tracker is another issue, for any number of trackers', async () => {
    const { root, restart } = await setUp();

    for (const scope of ['one', 'two', 'three', 'four', 'one', 'three']) await restart(scope).prepare(A);

    expect(await entries(root)).toHaveLength(4);
    expect((await restart('two').ownedBy('a')).map(({ key }) => key)).toEqual([hashed('AB-1')]);
    expect((await restart('two').owners()).map(({ issueId }) => issueId)).toEqual(['a']);
  });

  test('SEC-3 on a disk that ignores case, AB-1 and ab-1 have one record, so the later one gets a hash', async () => {
    const { root, workspaces } = await setUp();
    await workspaces.prepare(A);
    await link(join(root, '.baton/owners/AB-1.json'), join(root, '.baton/owners/ab-1.json')); // as such a disk shows it

    await workspaces.prepare(identity('b', 'ab-1'));

    expect(await entries(root)).toEqual(['AB-1', hashed('ab-1')]);
  });

  test('an issue that is renamed gets a new folder, and its old one again when it is renamed back', async () => {
    const { workspaces } = await setUp();

    const old = await workspaces.prepare(A);
    const renamed = await workspaces.prepare(identity('a', 'NEW-7'));
    const other = await workspaces.prepare(identity('b', 'AB-1'));

    expect([renamed.key, other.key]).toEqual(['NEW-7', hashed('AB-1')]);
    expect((await workspaces.prepare(A)).path).toBe(old.path);
  });

  test('a folder that an earlier version named with a hash is found again', async () => {
    const { root, workspaces } = await setUp();
    const key = hashed('A/B');
    await mkdir(join(root, key, 'work'), { recursive: true });
    const record = { key, scope: SCOPE, issueId: '1', identifier: 'A/B' };
    await workspaces.takeOver([record, { ...record, key: 'gone' }]);

    expect(await workspaces.prepare(identity('1', 'A/B'))).toMatchObject({ key, createdNow: false, adopted: false });
    expect(await workspaces.owners()).toEqual([record]);
  });

  test('records of an earlier version never replace those beside the workspaces', async () => {
    const { workspaces } = await setUp();
    await workspaces.prepare(A);

    await workspaces.takeOver([{ key: 'AB-1', scope: SCOPE, issueId: 'other', identifier: 'AB-1' }]);

    expect(await workspaces.owners()).toMatchObject([{ issueId: 'a' }]);
  });

  test.each([
    ['A/B', 'A_B'],
    ['A_B', 'A/B'],
  ])('when all records are lost, %s and %s still find their own folders', async (one, other) => {
    const { forget, restart, workspaces } = await setUp();
    const made = [await workspaces.prepare(identity('1', one)), await workspaces.prepare(identity('2', other))];
    for (const workspace of made) await workspaces.confirmCreated(workspace);
    await forget();

    const again = restart();
    const found = [await again.prepare(identity('2', other)), await again.prepare(identity('1', one))];

    expect(found.map(({ key, adopted }) => [key, adopted])).toEqual(made.toReversed().map(({ key }) => [key, true]));
  });

  test('pathOf names the folder of an issue and makes nothing', async () => {
    const { root, workspaces } = await setUp();

    expect(await workspaces.pathOf(A)).toBe(join(root, 'AB-1'));
    expect(await readdir(root)).toEqual([]);
    await workspaces.prepare(identity('b', 'AB-1'));
    expect(await workspaces.pathOf(A)).toBe(join(root, hashed('AB-1')));
  });

  test.each([
    ['is damaged', (path: string) => writeFile(path, '{"scope":')],
    ['lacks a field', (path: string) => writeFile(path, '{"scope":"s","issueId":1}')],
    ['is a link', (path: string) => symlink('/dev/zero', path)],
    ['is a named pipe', async (path: string) => void execFileSync('mkfifo', [path])],
    ['is far too large', (path: string) => writeFile(path, ' '.repeat(2_000_000))],
  ])('a record that %s counts as missing: the folder is adopted with a warning', async (_, damage) => {
    const { root, workspaces } = await setUp();
    await workspaces.confirmCreated(await workspaces.prepare(A));
    const record = join(root, '.baton/owners/AB-1.json');
    await rm(record);
    await damage(record);

    expect(await workspaces.owners()).toEqual([]);
    expect(await workspaces.prepare(A)).toMatchObject({ createdNow: false, adopted: true });
    expect(await workspaces.owners()).toHaveLength(1);
  });

  test('SEC-1 a record never names a folder outside of the root', async () => {
    const { root, workspaces } = await setUp();
    await workspaces.prepare(A);
    const record = await readFile(join(root, '.baton/owners/AB-1.json'));
    for (const name of ['..', '.', '.baton', 'a b']) await writeFile(join(root, `.baton/owners/${name}.json`), record);

    expect((await workspaces.ownedBy('a')).map(({ key }) => key)).toEqual(['AB-1']);
  });

  test('S2-09 SEC-4 a symlink or a file in its place is refused, untouched and unrecorded', async () => {
    const { base, root, records, workspaces } = await setUp();
    await mkdir(join(base, 'outside'));
    await symlink(join(base, 'outside'), join(root, 'AB-1'));
    await writeFile(join(root, 'AB-2'), 'mine');

    await expect(workspaces.prepare(A)).rejects.toThrow(failsWith('workspace_not_a_directory'));
    await expect(workspaces.prepare({ id: 'b', identifier: 'AB-2' })).rejects.toThrow(/is a file/);

    expect((await lstat(join(root, 'AB-1'))).isSymbolicLink()).toBe(true);
    expect(await readFile(join(root, 'AB-2'), 'utf8')).toBe('mine');
    expect(await records.owners()).toEqual([]);
  });

  test('an unrecorded folder is adopted once, with its content, and after_create does not run', async () => {
    const { root, workspaces } = await setUp();
    await mkdir(join(root, 'AB-1/src'), { recursive: true });

    expect(await workspaces.prepare(A)).toMatchObject({ createdNow: false, adopted: true });
    expect(await workspaces.prepare(A)).toMatchObject({ createdNow: false, adopted: false });
    expect(await readdir(join(root, 'AB-1'))).toEqual(['src']);
  });

  test('an unwritable place is workspace_failed with the cause', async () => {
    const { root, workspaces } = await setUp();
    await rm(root, { recursive: true });

    await expect(workspaces.prepare(A)).rejects.toThrow(failsWith('workspace_failed'));
  });

  test('when the owner cannot be recorded, no folder is made', async () => {
    const { root, workspaces } = await setUp();
    await mkdir(join(root, '.baton'));
    await writeFile(join(root, '.baton/owners'), 'in the way');

    await expect(workspaces.prepare(A)).rejects.toThrow(failsWith('workspace_failed'));
    expect(await entries(root)).toEqual([]);
  });

  test('one failed claim does not hold up the next', async () => {
    const { workspaces } = await setUp();

    const [failed, fine] = await Promise.allSettled([
      workspaces.prepare({ id: 'x', identifier: '..' }),
      workspaces.prepare(A),
    ]);

    expect([failed?.status, fine?.status]).toEqual(['rejected', 'fulfilled']);
  });
});

describe('half-made folders', () => {
  test('S2-11 a crash before after_create ended: the folder is made anew and after_create is due again', async () => {
    const { restart, workspaces } = await setUp();
    const first = await workspaces.prepare(A);
    await writeFile(join(first.path, 'half'), 'a clone that was cut off');

    const second = await restart().prepare(A);

    expect(second.createdNow).toBe(true);
    expect(await readdir(second.path)).toEqual([]);
  });

  test('the crash is seen even when the record of the owner is lost', async () => {
    const { records, restart, workspaces } = await setUp();
    await writeFile(join((await workspaces.prepare(A)).path, 'half'), '');
    await records.removeOwner('AB-1');

    expect(await restart().prepare(A)).toMatchObject({ createdNow: true, adopted: false });
  });

  test('a crash between record and folder: the folder is simply made', async () => {
    const { records, workspaces } = await setUp();
    await records.putOwner({ key: 'AB-1', scope: SCOPE, issueId: 'a', identifier: 'AB-1' });

    expect(await workspaces.prepare(A)).toMatchObject({ createdNow: true, adopted: false });
  });

  test.each([
    ['empty: it is the one that was just made', [], true],
    ['not empty: it is not ours to delete', ['precious'], false],
  ])('a crash between folder and its identity, and the folder is %s', async (_, files, createdNow) => {
    const { root, restart, workspaces } = await setUp();
    const { path } = await workspaces.prepare(A);
    await writeFile(join(root, '.baton/creating/AB-1'), '');
    for (const file of files) await writeFile(join(path, file), '');

    const again = await restart().prepare(A);

    expect(again).toMatchObject({ createdNow, adopted: !createdNow });
    expect(await readdir(path)).toEqual(files);
  });

  test('the record is written before the mark, the mark before the folder, and a folder that appears in between is not ours', async () => {
    const { root, records, restart, workspaces } = await setUp();
    await mkdir(join(root, '.baton'));
    await writeFile(join(root, '.baton/creating'), 'in the way');
    await expect(workspaces.prepare(A)).rejects.toThrow(failsWith('workspace_failed'));
    expect(await records.owner('AB-1')).toMatchObject({ issueId: 'a' });
    expect(await entries(root)).toEqual([]);

    await rm(join(root, '.baton/creating'));
    const path = join(root, 'AB-1');
    await mkdir(join(path, 'precious'), { recursive: true });
    const made = settleFolder(records, { key: 'AB-1', path, found: null, recorded: true });
    await expect(made).rejects.toThrow(/EEXIST/);

    expect(await readdir(join(root, '.baton/creating'))).toEqual(['AB-1']);
    expect(await restart().prepare(A)).toMatchObject({ createdNow: false, adopted: true });
    expect(await readdir(path)).toEqual(['precious']);
  });

  test('the folder of a user in place of a half-made one is adopted, not deleted', async () => {
    const { base, root, restart, workspaces } = await setUp();
    const { path } = await workspaces.prepare(A);
    await rename(path, join(base, 'moved-away'));
    await mkdir(join(root, 'AB-1/precious'), { recursive: true });

    const again = await restart().prepare(A);

    expect(again).toMatchObject({ createdNow: false, adopted: true });
    expect(await readdir(path)).toEqual(['precious']);
  });

  test('S2-12 a failed after_create removes the half-made folder and its record, and the next attempt runs it again', async () => {
    const { root, records, workspaces } = await setUp();
    const workspace = await workspaces.prepare(A);
    await writeFile(join(workspace.path, 'half'), '');

    await workspaces.abandon(workspace);

    expect(await entries(root)).toEqual([]);
    expect(await records.owners()).toEqual([]);
    expect(await workspaces.prepare(A)).toMatchObject({ createdNow: true, adopted: false });
  });

  test('a workspace that was confirmed or reused is never abandoned', async () => {
    const { workspaces } = await setUp();
    const made = await workspaces.prepare(A);
    await workspaces.confirmCreated(made);
    await writeFile(join(made.path, 'work'), '');

    await workspaces.abandon(made);
    await workspaces.abandon(await workspaces.prepare(A));

    expect(await readdir(made.path)).toEqual(['work']);
  });
});

describe('verify', () => {
  test('passes repeatedly while nothing changes', async () => {
    const { workspaces } = await setUp();
    const workspace = await workspaces.prepare(A);

    await workspaces.verify(workspace);
    await workspaces.verify(workspace, `${workspace.path}/../AB-1/`);
  });

  test('S2-22 S2-23 another working directory is refused', async () => {
    const { root, workspaces } = await setUp();
    const workspace = await workspaces.prepare(A);

    for (const cwd of [root, join(workspace.path, 'sub'), '.', `${workspace.path}x`]) {
      await expect(workspaces.verify(workspace, cwd)).rejects.toThrow(failsWith('invalid_workspace_cwd'));
    }
  });

  test('SEC-4 a folder swapped for another is found by its identity', async () => {
    const { base, workspaces } = await setUp();
    const workspace = await workspaces.prepare(A);
    await rename(workspace.path, join(base, 'old'));
    await mkdir(workspace.path);

    await expect(workspaces.verify(workspace)).rejects.toThrow(failsWith('workspace_changed'));
  });

  test('SEC-4 S2-25 a symlink in its place is refused, whatever its target is', async () => {
    const { base, workspaces } = await setUp();
    const workspace = await workspaces.prepare(A);
    const other = await workspaces.prepare({ id: 'b', identifier: 'AB-2' });
    await rename(workspace.path, join(base, 'old'));

    await symlink(join(base, 'old'), workspace.path);
    await expect(workspaces.verify(workspace)).rejects.toThrow(failsWith('workspace_outside_root'));
    await rm(workspace.path);
    await symlink(other.path, workspace.path);
    await expect(workspaces.verify(workspace)).rejects.toThrow(failsWith('workspace_not_a_directory'));
  });

  test('a root that became a symlink to elsewhere is refused', async () => {
    const { base, root, workspaces } = await setUp();
    const workspace = await workspaces.prepare(A);
    await rename(root, join(base, 'moved'));
    await symlink(join(base, 'moved'), root);

    await expect(workspaces.verify(workspace)).rejects.toThrow(failsWith('workspace_outside_root'));
  });

  test('a folder that is gone is refused', async () => {
    const { workspaces } = await setUp();
    const workspace = await workspaces.prepare(A);
    await rm(workspace.path, { recursive: true });

    await expect(workspaces.verify(workspace)).rejects.toThrow(failsWith('workspace_changed'));
  });
});

describe('remove', () => {
  test('SEC-5 deletes the folder and its record; the targets of its symlinks stay', async () => {
    const { base, root, records, workspaces } = await setUp();
    await mkdir(join(base, 'outside/deep'), { recursive: true });
    const workspace = await workspaces.prepare(A);
    await symlink(join(base, 'outside'), join(workspace.path, 'link'));
    await mkdir(join(workspace.path, 'sub'));
    await symlink('../../../outside/deep', join(workspace.path, 'sub/link'));

    await workspaces.remove(workspace);

    expect(await entries(root)).toEqual([]);
    expect(await readdir(join(root, '.baton/trash'))).toEqual([]);
    expect(await readdir(join(base, 'outside'))).toEqual(['deep']);
    expect(await records.owners()).toEqual([]);
  });

  test('deletes what Baton keeps for git in it', async () => {
    const { root, workspaces } = await setUp();
    const workspace = await workspaces.prepare(A);
    const folder = join(root, '.baton/git/workspaces', workspace.key);
    await mkdir(join(folder, 'objects'), { recursive: true });

    await workspaces.remove(workspace);

    expect(await readdir(join(root, '.baton/git/workspaces'))).toEqual([]);
  });

  test('folders too deep to be named by a path are deleted too', async () => {
    const { root, workspaces } = await setUp();
    const workspace = await workspaces.prepare(A);
    const nest = `for n in {1..60}; do mkdir ${'d'.repeat(200)}; cd -P ${'d'.repeat(200)}; done; touch file`;
    execFileSync('bash', ['-c', nest], { cwd: workspace.path });

    await workspaces.remove(workspace);

    expect(await readdir(join(root, '.baton/trash'))).toEqual([]);
  });

  test('read-only folders, as package caches make them, are deleted too', async () => {
    const { root, workspaces } = await setUp();
    const workspace = await workspaces.prepare(A);
    await mkdir(join(workspace.path, 'cache/pkg'), { recursive: true });
    await writeFile(join(workspace.path, 'cache/pkg/file'), '');
    await chmod(join(workspace.path, 'cache/pkg'), 0o555);
    await chmod(join(workspace.path, 'cache'), 0o500);

    await workspaces.remove(workspace);

    expect(await readdir(join(root, '.baton/trash'))).toEqual([]);
  });

  test('a folder that was swapped meanwhile is not deleted', async () => {
    const { base, workspaces } = await setUp();
    const workspace = await workspaces.prepare(A);
    await rename(workspace.path, join(base, 'old'));
    await mkdir(join(workspace.path, 'precious'), { recursive: true });

    await expect(workspaces.remove(workspace)).rejects.toThrow(failsWith('workspace_changed'));

    expect(await readdir(workspace.path)).toEqual(['precious']);
  });

  test('a folder that is already gone only loses its record', async () => {
    const { records, workspaces } = await setUp();
    const workspace = await workspaces.prepare(A);
    await rm(workspace.path, { recursive: true });

    await workspaces.remove(workspace);

    expect(await records.owners()).toEqual([]);
  });

  test('a failed removal throws and keeps folder and record', async () => {
    const { root, records, workspaces } = await setUp();
    const workspace = await workspaces.prepare(A);
    await rm(join(root, '.baton/trash'), { recursive: true });
    await writeFile(join(root, '.baton/trash'), 'in the way');

    await expect(workspaces.remove(workspace)).rejects.toThrow(failsWith('workspace_failed'));

    expect(await entries(root)).toEqual(['AB-1']);
    expect(await records.owners()).toHaveLength(1);
  });

  test('a folder that a crash has left half deleted is never used as a workspace and is deleted at the next start', async () => {
    const { root, restart, workspaces } = await setUp();
    await workspaces.confirmCreated(await workspaces.prepare(A));
    await mkdir(join(root, '.baton/trash'), { recursive: true });
    await rename(join(root, 'AB-1'), join(root, '.baton/trash/AB-1.crashed'));

    const again = await restart().prepare(A);
    await restart().emptyTrash();

    expect(again.createdNow).toBe(true);
    expect(await readdir(join(root, '.baton/trash'))).toEqual([]);
  });
});

describe('ownedBy', () => {
  test('finds the folders of an issue under all its identifiers, and no others', async () => {
    const { workspaces } = await setUp();
    await workspaces.confirmCreated(await workspaces.prepare(A));
    await workspaces.prepare({ id: 'a', identifier: 'NEW-7' });
    await workspaces.prepare({ id: 'b', identifier: 'AB-2' });

    const found = await workspaces.ownedBy('a');

    expect(found.map(({ key, createdNow }) => [key, createdNow])).toEqual([
      ['AB-1', false],
      ['NEW-7', true],
    ]);
  });

  test('a folder without a record is not found, so it is not removed', async () => {
    const { root, workspaces } = await setUp();
    await mkdir(join(root, 'AB-1'));

    expect(await workspaces.ownedBy('a')).toEqual([]);
  });

  test('a record whose folder is gone is forgotten', async () => {
    const { records, workspaces } = await setUp();
    await rm((await workspaces.prepare(A)).path, { recursive: true });

    expect(await workspaces.ownedBy('a')).toEqual([]);
    expect(await records.owners()).toEqual([]);
  });
});
