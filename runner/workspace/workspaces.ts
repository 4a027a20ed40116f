import { lstatSync, realpathSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { BatonError } from '../../src/domain/errors.js';
import type { Issue } from '../../src/domain/issue.js';
import type { WorkspaceOwner } from '../../src/domain/ports.js';
import { pinDirectory } from '../contain/hidden-directories.js';
import type { HiddenDirectory } from '../contain/process.js';
import { workspaceFolder } from '../git/workspace-git.js';
import { createBookkeeping, deleteTrash } from './bookkeeping.js';
import { folderAt, isSameDirectory, settleFolder, type Workspace, workspaceChanged } from './workspace-folder.js';
import { isInside, workspaceKeys } from './workspace-path.js';

/**
 * One folder per issue below the root. A workspace is made in the order owner record → mark → folder and removed in the order
 * folder → owner record → mark, so that the next `prepare` can continue after a crash at any point: a record without a folder means
 * "make it", a mark means "half made, make it again". Changes are made one at a time.
 */
export interface Workspaces {
  /** Finds or makes the folder of an issue. */
  prepare(issue: Pick<Issue, 'id' | 'identifier'>): Promise<Workspace>;
  /** The folder that an issue has, or would get now. Makes nothing. */
  pathOf(issue: Pick<Issue, 'id' | 'identifier'>): Promise<string>;
  /** `after_create` has ended well: from now on the folder is reused. */
  confirmCreated(workspace: Workspace): Promise<void>;
  /** `after_create` has failed: removes the half-made folder, so that the next attempt runs the hook again. */
  abandon(workspace: Workspace): Promise<void>;
  /** Called right before each spawn: the folder must be the same one, inside the root, and the working directory of the process. */
  verify(workspace: Workspace, cwd?: string): Promise<void>;
  /** Baton's own folder beside the workspaces. Hooks see it, agents and steps do not. */
  ownFolder(): Promise<HiddenDirectory>;
  /** A new folder for the files of one hook, which the caller removes. Hooks see it, agents and steps do not. */
  makeHookFolder(name: string): Promise<string>;
  /** Removes the folders of hooks that a killed daemon has left. Called at the start of the daemon, before any hook. */
  removeHookFolders(): Promise<void>;
  /** The owners of all folders that belong to issues of this tracker. */
  owners(): Promise<readonly WorkspaceOwner[]>;
  /** Adds records that an earlier version kept in the store, of folders that still exist. */
  takeOver(records: readonly WorkspaceOwner[]): Promise<void>;
  /** The existing folders of an issue, also under its earlier identifiers. Removes records whose folder is gone. */
  ownedBy(issueId: string): Promise<readonly Workspace[]>;
  /** Deletes the folder and its record. The caller has stopped the run and saved its work. */
  remove(workspace: Workspace): Promise<void>;
  /** Deletes folders that a crash has left half deleted. Called at the start of the daemon. */
  emptyTrash(): Promise<void>;
}

export interface WorkspacesOptions {
  /** The real path that `openWorkspaceRoot` returned. */
  readonly root: string;
  /** `Tracker.scope`. */
  readonly scope: string;
}

export function createWorkspaces({ root, scope }: WorkspacesOptions): Workspaces {
  const bookkeeping = createBookkeeping(root);
  const oneAtATime = createQueue();

  /** The same id in another scope (another project or tracker) is another issue. */
  const isOwn = (owner: WorkspaceOwner | null, issueId: string) => owner?.scope === scope && owner.issueId === issueId;

  /** The folder that the issue owns already, else a free one. */
  const choose = async ({ id, identifier }: Pick<Issue, 'id' | 'identifier'>) => {
    const { plain, hashed } = workspaceKeys({ scope, issueId: id, identifier });
    const owners = new Map<string, WorkspaceOwner | null>();
    for (const key of plain === null ? hashed : [plain, ...hashed]) owners.set(key, await bookkeeping.owner(key));
    for (const [key, owner] of owners) if (isOwn(owner, id)) return { key, path: join(root, key), recorded: true };
    const isFree = (key: string | null) => key !== null && owners.get(key) === null;
    // Without records, a folder with a hash of this identifier in its name most probably belongs to this issue.
    for (const key of hashed)
      if (isFree(key) && isFolder(join(root, key))) return { key, path: join(root, key), recorded: false };
    for (const [key] of owners) if (isFree(key)) return { key, path: join(root, key), recorded: false };
    throw ownedByAnother(root, [...owners.values()]);
  };

  const claim = async (issue: Pick<Issue, 'id' | 'identifier'>) => {
    const { key, path, recorded } = await choose(issue);
    const found = folderAt(path);
    if (!recorded) await bookkeeping.putOwner({ key, scope, issueId: issue.id, identifier: issue.identifier });
    return { key, path, found, recorded };
  };

  const detach = async (workspace: Workspace): Promise<string | null> => {
    const found = folderAt(workspace.path);
    if (found !== null && !isSameDirectory(found, workspace.identity)) throw workspaceChanged(workspace.path);
    const trashed = found === null ? null : await bookkeeping.toTrash(workspace.path, workspace.key);
    await rm(workspaceFolder(workspace.path), { recursive: true, force: true });
    await bookkeeping.removeOwner(workspace.key);
    await bookkeeping.clearCreating(workspace.key);
    return trashed;
  };

  const remove = (workspace: Workspace) =>
    orFailed(`workspace ${workspace.path} could not be removed`, async () => {
      const trashed = await oneAtATime(() => detach(workspace));
      if (trashed !== null) await deleteTrash(trashed);
    });

  return {
    prepare: (issue) =>
      orFailed(`the workspace of ${issue.identifier} below ${root} could not be made`, async () => {
        const { workspace, trashed } = await oneAtATime(async () => settleFolder(bookkeeping, await claim(issue)));
        if (trashed !== null) await deleteTrash(trashed);
        return workspace;
      }),

    pathOf: (issue) =>
      orFailed(`the workspace of ${issue.identifier} could not be looked up`, async () => (await choose(issue)).path),

    confirmCreated: ({ key, path }) =>
      orFailed(`workspace ${path} could not be confirmed`, () => oneAtATime(() => bookkeeping.clearCreating(key))),

    async abandon(workspace) {
      // Read from the disk, not from the caller's copy: a workspace that was confirmed since may contain work.
      if ((await bookkeeping.creating(workspace.key)) !== null) await remove(workspace);
    },

    async verify({ path, identity }, cwd = path) {
      if (resolve(cwd) !== path) {
        throw new BatonError('invalid_workspace_cwd', `a process would start in ${cwd}, not in its workspace ${path}`);
      }
      const real = realPathOf(path);
      if (!isInside(root, path) || !isInside(root, real)) {
        throw new BatonError(
          'workspace_outside_root',
          `workspace ${path} leads to ${real}, outside of ${root}: remove the symlink`,
        );
      }
      if (!isSameDirectory(folderAt(path), identity)) throw workspaceChanged(path);
    },

    ownFolder: () => orFailed(`${root} could not be read`, async () => pinDirectory(await bookkeeping.folder())),

    makeHookFolder: (name) =>
      orFailed(`no folder for a hook could be made below ${root}`, () => bookkeeping.hookFolder(name)),

    removeHookFolders: () =>
      orFailed(`left folders of hooks below ${root} could not be removed`, () => bookkeeping.removeHookFolders()),

    owners: () =>
      orFailed(`the owners of the workspaces below ${root} could not be read`, async () =>
        (await bookkeeping.owners()).filter((owner) => owner.scope === scope),
      ),

    takeOver: (records) =>
      orFailed(`the owners of the workspaces below ${root} could not be recorded`, () =>
        oneAtATime(async () => {
          for (const record of records) {
            if (isFolder(join(root, record.key)) && (await bookkeeping.owner(record.key)) === null)
              await bookkeeping.putOwner(record);
          }
        }),
      ),

    ownedBy: (issueId) =>
      orFailed(`the workspaces of issue ${issueId} could not be read`, () =>
        oneAtATime(async () => {
          const workspaces: Workspace[] = [];
          for (const { key } of (await bookkeeping.owners()).filter((owner) => isOwn(owner, issueId))) {
            const path = join(root, key);
            const identity = folderAt(path);
            if (identity === null) {
              await bookkeeping.removeOwner(key);
              continue;
            }
            const createdNow = (await bookkeeping.creating(key)) !== null;
            workspaces.push({ key, path, identity, createdNow, adopted: false });
          }
          return workspaces;
        }),
      ),

    remove,

    emptyTrash: () =>
      orFailed(`half-deleted workspaces below ${root} could not be deleted`, async () => {
        const results = await Promise.allSettled((await bookkeeping.trash()).map(deleteTrash));
        for (const result of results) if (result.status === 'rejected') throw result.reason;
      }),
  };
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function realPathOf(path: string): string {
  try {
    return realpathSync.native(path);
  } catch (cause) {
    throw workspaceChanged(path, cause);
  }
}

function ownedByAnother(root: string, owners: readonly (WorkspaceOwner | null)[]): BatonError {
  const [owner] = owners;
  return new BatonError(
    'workspace_owned_by_another',
    `every folder below ${root} that this issue can have belongs to another one, the first to issue ${owner?.identifier} (id ${owner?.issueId} of ${owner?.scope}): rename one of the issues, or remove the folder`,
    { owner },
  );
}

async function orFailed<T>(what: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof BatonError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new BatonError('workspace_failed', `${what}: ${reason}`, {}, { cause: error });
  }
}

/** Claims of two issues must not interleave: both would see the same key as free. */
function createQueue() {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(act: () => Promise<T>): Promise<T> => {
    const result = last.then(act);
    last = result.catch(() => undefined); // its caller handles it
    return result;
  };
}
