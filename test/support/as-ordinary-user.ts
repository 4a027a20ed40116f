import { chmodSync, chownSync } from 'node:fs';

const NOBODY = 65534;

/**
 * Does something with the rights of an ordinary user, also when the tests run as root, whom no mode keeps out. `folder` is
 * handed to that user.
 */
export async function asOrdinaryUser<T>(folder: string, act: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return act();
  chownSync(folder, NOBODY, NOBODY);
  chmodSync(folder, 0o755);
  process.seteuid?.(NOBODY);
  try {
    return await act();
  } finally {
    process.seteuid?.(0);
  }
}
