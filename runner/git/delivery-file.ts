import { writeFile } from 'node:fs/promises';
import type { KnownSecrets } from '../../src/domain/find-secrets.js';
import { DEFAULT_RULES, type PathRule } from './protected-paths.js';
import type { HeldPush } from './review-push.js';

/** What the daemon tells the scripts about a push, in a file that it writes anew before every hook. */
export interface Delivery {
  /** The rendered `delivery.branch`; null for the default. */
  readonly branch: string | null;
  readonly rules: readonly PathRule[];
  /** The digest of the hold that a person approved. */
  readonly approved: string | null;
  /** Where a push that waits for a person is reported; null when nobody reads it. */
  readonly holdFile: string | null;
  /** Prints of the secrets that the daemon knows. */
  readonly secrets: KnownSecrets | null;
}

/** Without a file, as in a script that a person starts, the defaults hold. */
export async function readDelivery(
  path: string,
  read: (path: string, encoding: 'utf8') => Promise<string>,
): Promise<Delivery> {
  if (path === '') return { branch: null, rules: DEFAULT_RULES, approved: null, holdFile: null, secrets: null };
  return JSON.parse(await read(path, 'utf8')) as Delivery;
}

/** The exit code of a script whose push waits for a person. */
export const HELD = 75;

/** The first hold of a hook counts. */
export async function writeHeldPush(path: string | null, hold: HeldPush): Promise<void> {
  if (path === null) return;
  await writeFile(path, JSON.stringify(hold), { mode: 0o600, flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
}
