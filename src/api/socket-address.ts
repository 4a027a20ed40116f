import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { BatonError } from '../domain/errors.js';

/** Where to listen or to connect, as the system takes it. */
export interface SocketAddress {
  readonly path: string;
  /** Only when nobody listens or connects by this path any more: a listener removes its file by it when it closes. */
  close(): Promise<void>;
}

/** The address of a socket holds 107 bytes on Linux and 103 on macOS. */
const MAX_BYTES = 100;

/**
 * The daemon of a state directory listens on `<state dir>/socket`. Where that is longer than the address of a socket can be, the folder is
 * opened and the way leads over its descriptor. Rejects as `open` does where there is no such folder then.
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
