import { realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { BatonError } from '../../src/domain/errors.js';
import type { Issue } from '../../src/domain/issue.js';
import type { WorkspaceOwner, WorkspaceOwners } from '../../src/domain/ports.js';
import {
  caseTwins,
  clashingTwin,
  createBookkeeping,
  deleteTrash,
  folderAt,
  isOwner,
  isSameDirectory,
  ownershipOf,
  settleFolder,
  type Workspace,
  workspaceChanged,
} from './workspace-folder.js';
import { isInside, workspaceKey } from './workspace-root.js';

/**
 * One folder per issue below the root. Every change goes record → marker → folder on the way in and folder → record → marker on
 * the way out, so a crash between any two leaves a state that the next `prepare` reads rightly: a record without
 * a folder means "make it", a marker means "half-made, make it anew". Changes are made one at a time.
 */
export interface Workspaces {
  /** Finds or makes the folder of an issue. */
  prepare(issue: Pick<Issue, 'id' | 'identifier'>): Promise<Workspace>;
  /** `after_create` ended well: from now on the folder is reused as it is. */
  confirmCreated(workspace: Workspace): Promise<void>;
  /** `after_create` failed: takes the half-made folder away, so that the next attempt runs it again. */
  abandon(workspace: Workspace): Promise<void>;
  /** Right before each spawn: still the same folder, still inside the root, and the one the process will start in. */
  verify(workspace: Workspace, cwd?: string): Promise<void>;
  /** The existing folders of an issue, under whatever identifiers it had. Forgets records whose folder is gone. */
  ownedBy(issueId: string): Promise<readonly Workspace[]>;
  /** Deletes the folder and its record. Whoever calls has stopped the run and saved its work. */
  remove(workspace: Workspace): Promise<void>;
  /** Deletes what a crash left half deleted; for the start of the daemon. */
  emptyTrash(): Promise<void>;
}

export interface WorkspacesOptions {
  /** The real path that `openWorkspaceRoot` answered. */
  readonly root: string;
  /** `Tracker.scope`. */
  readonly scope: string;
  readonly owners: WorkspaceOwners;
}

export function createWorkspaces({ root, scope, owners }: WorkspacesOptions): Workspaces {
  const notes = createBookkeeping(root);
  const oneAtATime = createQueue();

  const claim = async (issue: Pick<Issue, 'id' | 'identifier'>, key: string, path: string) => {
    const claimant = { scope, issueId: issue.id };
    const recorded = await owners.all();
    const ownership = ownershipOf(key, claimant, recorded);
    if (ownership.kind === 'other') throw ownedByAnother(path, ownership.owner);
    const found = await folderAt(path);
    const twins = caseTwins(key, claimant, recorded).map(async (owner) => ({
      owner,
      identity: await folderAt(join(root, owner.key)).catch(() => null), // whatever it is, not the folder we found
    }));
    const twin = clashingTwin(found, await Promise.all(twins));
    if (twin !== null) throw ownedByAnother(path, twin);
    if (ownership.kind === 'unrecorded') {
      await owners.put({ key, scope, issueId: issue.id, identifier: issue.identifier });
    }
    return { found, recorded: ownership.kind === 'ours' };
  };

  const takeAway = async (workspace: Workspace): Promise<string | null> => {
    const found = await folderAt(workspace.path);
    if (found !== null && !isSameDirectory(found, workspace.identity)) throw workspaceChanged(workspace.path);
    const trashed = found === null ? null : await notes.toTrash(workspace.path, workspace.key);
    await owners.remove(workspace.key);
    await notes.clearCreating(workspace.key);
    return trashed;
  };

  const remove = (workspace: Workspace) =>
    orFailed(`workspace ${workspace.path} could not be removed`, async () => {
      const trashed = await oneAtATime(() => takeAway(workspace));
      if (trashed !== null) await deleteTrash(trashed);
    });

  return {
    async prepare(issue) {
      const key = workspaceKey(issue.identifier);
      const path = join(root, key);
      return orFailed(`workspace ${path} could not be made`, async () => {
        const { workspace, trashed } = await oneAtATime(async () => {
          const { found, recorded } = await claim(issue, key, path);
          return settleFolder(notes, { key, path, found, recorded });
        });
        if (trashed !== null) await deleteTrash(trashed);
        return workspace;
      });
    },

    confirmCreated: ({ key, path }) =>
      orFailed(`workspace ${path} could not be confirmed`, () => oneAtATime(() => notes.clearCreating(key))),

    async abandon(workspace) {
      // Asked of the disk, not of the caller's copy: a workspace that was confirmed since may hold work.
      if ((await notes.creating(workspace.key)) !== null) await remove(workspace);
    },

    async verify({ path, identity }, cwd = path) {
      if (resolve(cwd) !== path) {
        throw new BatonError('invalid_workspace_cwd', `a process would start in ${cwd}, not in its workspace ${path}`);
      }
      const real = await realpath(path).catch((cause: unknown) => {
        throw workspaceChanged(path, cause);
      });
      if (!isInside(root, path) || !isInside(root, real)) {
        throw new BatonError(
          'workspace_outside_root',
          `workspace ${path} leads to ${real}, outside of ${root}: remove the symlink`,
        );
      }
      if (!isSameDirectory(await folderAt(path), identity)) throw workspaceChanged(path);
    },

    ownedBy: (issueId) =>
      orFailed(`the workspaces of issue ${issueId} could not be read`, () =>
        oneAtATime(async () => {
          const workspaces: Workspace[] = [];
          for (const { key } of (await owners.all()).filter((owner) => isOwner({ scope, issueId }, owner))) {
            const path = join(root, key);
            const identity = await folderAt(path);
            if (identity === null) {
              await owners.remove(key);
              continue;
            }
            const createdNow = (await notes.creating(key)) !== null;
            workspaces.push({ key, path, identity, createdNow, adopted: false });
          }
          return workspaces;
        }),
      ),

    remove,

    emptyTrash: () =>
      orFailed(`half-deleted workspaces below ${root} could not be deleted`, async () => {
        const results = await Promise.allSettled((await notes.trash()).map(deleteTrash));
        for (const result of results) if (result.status === 'rejected') throw result.reason;
      }),
  };
}

function ownedByAnother(path: string, owner: WorkspaceOwner): BatonError {
  return new BatonError(
    'workspace_owned_by_another',
    `workspace ${path} belongs to issue ${owner.identifier} (id ${owner.issueId} of ${owner.scope}): rename one of the two issues, or remove the folder`,
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

/** Claims of two issues must not interleave: both would find the same key free. */
function createQueue() {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(act: () => Promise<T>): Promise<T> => {
    const result = last.then(act);
    last = result.catch(() => undefined); // its caller handles it
    return result;
  };
}
