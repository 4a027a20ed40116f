import type { WorkspaceOwner } from '../../src/domain/ports.js';
import type { DirectoryIdentity } from '../contain/process.js';
import { isSameDirectory } from './workspace-folder.js';

/** The issue that needs a folder. */
interface Claimant {
  readonly scope: string;
  readonly issueId: string;
}

type Ownership =
  | { readonly kind: 'unrecorded' }
  | { readonly kind: 'ours' }
  | { readonly kind: 'other'; readonly owner: WorkspaceOwner };

/** Who owns a folder. The same id in another scope (another project or tracker) is another issue. */
export function ownershipOf(key: string, claimant: Claimant, owners: readonly WorkspaceOwner[]): Ownership {
  const owner = owners.find((candidate) => candidate.key === key);
  if (owner === undefined) return { kind: 'unrecorded' };
  return isOwner(claimant, owner) ? { kind: 'ours' } : { kind: 'other', owner };
}

/** The records of other issues whose key differs from `key` only in case. On some disks they name the same folder. */
export function caseTwins(key: string, claimant: Claimant, owners: readonly WorkspaceOwner[]): WorkspaceOwner[] {
  return owners.filter(
    (owner) => owner.key !== key && owner.key.toLowerCase() === key.toLowerCase() && !isOwner(claimant, owner),
  );
}

/** The twin that has the folder found under our key. Returns null when the disk distinguishes case. */
export function clashingTwin(
  found: DirectoryIdentity | null,
  twins: readonly { readonly owner: WorkspaceOwner; readonly identity: DirectoryIdentity | null }[],
): WorkspaceOwner | null {
  return twins.find(({ identity }) => isSameDirectory(found, identity))?.owner ?? null;
}

export function isOwner(claimant: Claimant, owner: WorkspaceOwner): boolean {
  return owner.scope === claimant.scope && owner.issueId === claimant.issueId;
}
