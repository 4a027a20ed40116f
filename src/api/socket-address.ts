import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { BatonError } from '../domain/errors.js';

/** A path for `listen` and `connect`. */
export interface SocketAddress {
  readonly path: string;
  /** Close it after the listener: a closing listener removes its file through this path. */
  close(): Promise<void>;
}

/** The header of answers over the socket with the version of the daemon. */
export const VERSION_HEADER = 'baton-version';

/** A socket address has at most 107 bytes on Linux and 103 on macOS. */
const MAX_BYTES = 100;

/**
 * The daemon listens on `<state dir>/socket`. A path that is too long for a socket address is reached through the open descriptor of its
 * folder; this rejects when the folder does not exist.
 */
export async function socketAddress(stateDir: string): Promise<SocketAddress> {
  const plain = join(stateDir, 'socket');
  if (Buffer.byteLength(plain) <= MAX_BYTES) return { path: plain, close: async () => {} };
  if (process.platform !== 'linux') {
    throw new BatonError(
      'store_failed',
      `the path of the socket ${plain} is longer than ${MAX_BYTES} bytes, which this system cannot use. Choose a shorter folder with --state-dir`,
    );
  }
  const folder = await open(stateDir, constants.O_RDONLY | constants.O_DIRECTORY);
  return { path: `/proc/self/fd/${folder.fd}/socket`, close: () => folder.close() };
}
