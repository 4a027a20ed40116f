import { chmod, mkdir, realpath, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { freeDiskMb, openWorkspaceRoot } from '../../../runner/workspace/workspace-root.js';
import { asOrdinaryUser } from '../../support/as-ordinary-user.js';
import { tempFolder } from './temp-folder.js';

async function places() {
  const base = await tempFolder();
  const home = join(base, 'home');
  const workflowDir = join(base, 'home/project');
  await mkdir(workflowDir, { recursive: true });
  const open = (root: string) => openWorkspaceRoot({ root, workflowDir, home });
  return { base, home, workflowDir, open };
}

const refused = (reason: string) =>
  expect.objectContaining({ code: 'invalid_workspace_root', message: expect.stringContaining(reason) });

describe('SEC-6 openWorkspaceRoot', () => {
  test('makes the root and its parents for the owner only', async () => {
    const { home, open } = await places();

    const root = await open(join(home, 'data/baton/workspaces'));

    expect(root).toBe(join(home, 'data/baton/workspaces'));
    for (const made of [root, join(home, 'data/baton'), join(home, 'data')]) {
      expect((await stat(made)).mode & 0o777).toBe(0o700);
    }
  });

  test('an existing folder is used unchanged, and a second start changes nothing', async () => {
    const { home, open } = await places();
    await mkdir(join(home, 'ws'), { mode: 0o755 });
    await writeFile(join(home, 'ws/file'), 'kept');

    await open(join(home, 'ws'));

    expect(await open(join(home, 'ws/'))).toBe(join(home, 'ws'));
    expect((await stat(join(home, 'ws'))).mode & 0o777).toBe(0o755);
  });

  test('answers the real path of a root behind a symlink', async () => {
    const { base, home, open } = await places();
    await mkdir(join(base, 'disk'));
    await symlink(join(base, 'disk'), join(home, 'link'));

    expect(await open(join(home, 'link/ws'))).toBe(await realpath(join(base, 'disk/ws')));
  });

  test('a root inside the project is allowed', async () => {
    const { workflowDir, open } = await places();

    expect(await open(join(workflowDir, '.workspaces'))).toBe(join(workflowDir, '.workspaces'));
  });

  test('refuses the root of the file system', async () => {
    const { open } = await places();

    await expect(open('/')).rejects.toThrow(refused('root of the file system'));
  });

  test('refuses the home directory and its parents', async () => {
    const { base, home, open } = await places();

    await expect(open(home)).rejects.toThrow(refused('home directory'));
    await expect(open(`${home}/x/..`)).rejects.toThrow(refused('home directory'));
    await expect(open(base)).rejects.toThrow(refused('home directory'));
  });

  test('refuses the folder of WORKFLOW.md and its parents', async () => {
    const { base, workflowDir } = await places();
    const elsewhere = join(base, 'elsewhere');

    for (const root of [workflowDir, join(base, 'home')]) {
      await expect(openWorkspaceRoot({ root, workflowDir, home: elsewhere })).rejects.toThrow(refused('WORKFLOW.md'));
    }
  });

  test('refuses a symlink to a refused place, and creates nothing there', async () => {
    const { base, home, workflowDir, open } = await places();
    await symlink('/', join(base, 'slash'));
    await symlink(home, join(base, 'h'));
    await symlink(workflowDir, join(base, 'p'));

    for (const name of ['slash', 'h', 'p']) await expect(open(join(base, name))).rejects.toThrow(refused(''));
  });

  test('refuses a folder that everybody can write, sticky or not', async () => {
    const { base, open } = await places();
    for (const [name, mode] of [
      ['open', 0o777],
      ['sticky', 0o1777],
    ] as const) {
      await mkdir(join(base, name));
      await chmod(join(base, name), mode);

      await expect(open(join(base, name))).rejects.toThrow(refused('every user'));
    }
    await expect(open(tmpdir())).rejects.toThrow(refused(''));
  });

  test('refuses a file, a path through a file, a dangling symlink and a loop of symlinks', async () => {
    const { base, open } = await places();
    await writeFile(join(base, 'file'), '');
    await symlink(join(base, 'nowhere'), join(base, 'dangling'));
    await symlink(join(base, 'loop'), join(base, 'loop'));

    await expect(open(join(base, 'file'))).rejects.toThrow(refused('not a directory'));
    await expect(open(join(base, 'file/ws'))).rejects.toThrow(refused('has a file in its path'));
    await expect(open(join(base, 'dangling'))).rejects.toThrow(refused(''));
    await expect(open(join(base, 'loop'))).rejects.toThrow(refused('loop of symlinks'));
  });

  test('refuses a folder that this user cannot write', async () => {
    const { base, open } = await places();

    await asOrdinaryUser(base, async () => {
      await mkdir(join(base, 'locked'), { mode: 0o500 });
      await expect(open(join(base, 'locked/ws'))).rejects.toThrow(refused('cannot be written'));
      // access(2) asks for the real user, which root stays even with another's rights.
      if (process.getuid?.() === 0) return;
      await expect(open(join(base, 'locked'))).rejects.toThrow(refused('cannot be written'));
    });
  });

  test('names the folder in the path that this user cannot enter', async () => {
    const { base, open } = await places();

    await asOrdinaryUser(base, async () => {
      await mkdir(join(base, 'closed'), { mode: 0o600 });
      await expect(open(join(base, 'closed/in/ws'))).rejects.toThrow(
        refused(`lies in ${join(base, 'closed')}, which this user cannot enter`),
      );
    });
  });

  test('every refusal has advice', async () => {
    const { home, open } = await places();

    await expect(open(home)).rejects.toThrow(/choose a folder of its own/);
  });
});

describe('freeDiskMb', () => {
  test('returns the free space of an existing folder', async () => {
    expect(await freeDiskMb(tmpdir())).toBeGreaterThan(0);
  });

  test('returns null when the free space cannot be read', async () => {
    expect(await freeDiskMb('/nonexistent/folder')).toBeNull();
  });
});
