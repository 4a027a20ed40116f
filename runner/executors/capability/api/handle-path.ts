import { existsSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';

const HANDLES = '/proc/self/fd';
export const canWalkHandles = existsSync(HANDLES);

/** A path to what a handle has open, whatever becomes of its name; the name itself where there is no /proc. */
export function handlePath(handle: FileHandle, name: string): string {
  return canWalkHandles ? `${HANDLES}/${handle.fd}` : name;
}
