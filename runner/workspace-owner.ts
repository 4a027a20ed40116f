import type { WorkspaceOwner } from '../src/domain/ports.js';
import type { DirectoryIdentity } from './contain/process.js';

/** Who asks for a folder. */
export interface Claimant {
  readonly scope: string;
  readonly issueId: string;
}

export type Ownership =
  | { readonly kind: 'unrecorded' }
  | { readonly kind: 'ours' }
  | { readonly kind: 'other'; readonly owner: WorkspaceOwner };

/** Whose a folder is. The same id in another scope (another project, another tracker) is another issue. */
export function ownershipOf(key: string, claimant: Claimant, owners: readonly WorkspaceOwner[]): Ownership {
  const owner = owners.find((candidate) => candidate.key === key);
  if (owner === undefined) return { kind: 'unrecorded' };
  return isOwner(claimant, owner) ? { kind: 'ours' } : { kind: 'other', owner };
}

/** Records of other issues whose key differs from `key` only in case: on some disks they name the same folder. */
export function caseTwins(key: string, claimant: Claimant, owners: readonly WorkspaceOwner[]): WorkspaceOwner[] {
  return owners.filter(
    (owner) => owner.key !== key && owner.key.toLowerCase() === key.toLowerCase() && !isOwner(claimant, owner),
  );
}

/** The twin that really has the folder found under our key, if any: the disk does not tell the two names apart. */
export function clashingTwin(
  found: DirectoryIdentity | null,
  twins: readonly { readonly owner: WorkspaceOwner; readonly identity: DirectoryIdentity | null }[],
): WorkspaceOwner | null {
  return twins.find(({ identity }) => isSameDirectory(found, identity))?.owner ?? null;
}

export function isSameDirectory(one: DirectoryIdentity | null, other: DirectoryIdentity | null): boolean {
  return one !== null && other !== null && one.dev === other.dev && one.ino === other.ino;
}

export function isOwner(claimant: Claimant, owner: WorkspaceOwner): boolean {
  return owner.scope === claimant.scope && owner.issueId === claimant.issueId;
}
