import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { BatonError, toBatonError } from '../domain/errors.js';
import { readPrivateFile, writePrivateFile } from './private-file.js';

const TOKEN_BYTES = 32;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/**
 * What a request that changes something must show: 32 random bytes in `http-token` of the state directory, which nobody but its
 * user can read. It stays the same from daemon to daemon, so that scripts can keep it. One that others could have read or put
 * there is worth nothing any more, and is replaced; `onReplaced` hears why. Throws `BatonError`.
 */
export async function openHttpToken(stateDir: string, onReplaced: (why: string) => void = () => {}): Promise<string> {
  const path = join(stateDir, 'http-token');
  try {
    const found = await readPrivateFile(path);
    const kept = tokenOf(found);
    if (kept !== null) return kept;
    if (found !== null) onReplaced(`${path} ${'problem' in found ? found.problem : 'holds no token'}`);
    const token = randomBytes(TOKEN_BYTES).toString('base64url');
    await writePrivateFile(path, `${token}\n`);
    return token;
  } catch (error) {
    const { message } = toBatonError(error);
    const text = `the token of the HTTP server cannot be kept in ${path}: ${message}. Remove what is there, or choose another --state-dir`;
    throw new BatonError('store_failed', text, { path }, { cause: error });
  }
}

function tokenOf(found: Awaited<ReturnType<typeof readPrivateFile>>): string | null {
  const text = found !== null && 'text' in found ? found.text.trim() : '';
  return TOKEN.test(text) ? text : null;
}
