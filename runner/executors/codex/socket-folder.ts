import { chmod, lstat, mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { BatonError } from '../../../src/domain/errors.js';

/**
 * Makes the folder that Codex hides from all commands: `/tmp/codex-daemon-<uid>`, which belongs to this user and has mode 0700.
 * Neither TMPDIR nor CODEX_HOME moves it. Throws when another account has made it: then every command of Codex fails, while the
 * turns go on and cost tokens.
 */
export async function ensureSocketFolder(temporaryFolder = '/tmp'): Promise<void> {
  const uid = process.geteuid?.();
  const parent = await realpath(temporaryFolder).catch(() => null);
  if (uid === undefined || parent === null) return;
  const path = join(parent, `codex-daemon-${uid}`);
  await mkdir(path, { mode: 0o700 }).catch(() => {});
  const found = await lstat(path).catch(() => null);
  if (found === null) return;
  if (!found.isDirectory() || found.uid !== uid) {
    throw new BatonError(
      'agent_socket_folder',
      `${path} belongs to another account or is no folder, so Codex refuses to run any command: remove it (as root, if it is not yours), or let its owner do so`,
    );
  }
  await chmod(path, 0o700);
}
