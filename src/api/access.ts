import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, rename, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { BatonError, toBatonError } from '../domain/errors.js';
import { withoutBrackets } from '../domain/host.js';

/** What a request may do: everything, look, or only what everybody may see (the page itself, health). */
export type Access = 'full' | 'read' | 'public';

/** Who asks, and what follows from it. A text: it is refused before anything is routed. */
export type Admit = (request: IncomingMessage) => { readonly access: Access } | { readonly refused: string };

/** Whoever can open the socket is the daemon's own user: its folder and its mode see to that. */
export const admitOwner: Admit = () => ({ access: 'full' });

/**
 * Over TCP names and origins are looked at first. Who shows the token may do everything. Without it a request may look, unless
 * the operator has set a token of their own: then it is asked for everything.
 */
export function admitByToken(guard: Guard, token: string, isAskedForReads: boolean): Admit {
  return (request) => {
    const refused = guard.refuse(request);
    if (refused !== null) return { refused };
    if (bearsToken(request.headers.authorization, token)) return { access: 'full' };
    return { access: isAskedForReads ? 'public' : 'read' };
  };
}

/**
 * Who may ask. A page of another site can make a browser send requests here, under its own name once that name points to
 * this machine; so the names under which we answer are a fixed list, and any Origin but our own is refused.
 */
interface Guard {
  /** Why the request is refused, or `null`. */
  refuse(request: IncomingMessage): string | null;
}

export function createGuard(host: string, port: number, allowedHosts: readonly string[]): Guard {
  const own = new Set(['localhost', '127.0.0.1', '[::1]', authorityName(host)]);
  const allowed = new Set(allowedHosts.map((name) => name.trim().toLowerCase()).filter((name) => name !== ''));
  const isOurs = (authority: string): boolean => {
    const { name, port: asked } = splitAuthority(authority);
    return allowed.has(authority) || allowed.has(name) || (own.has(name) && (asked ?? '80') === String(port));
  };
  return {
    refuse(request) {
      const [given, ...more] = request.headersDistinct.host ?? [];
      const authority = given?.toLowerCase() ?? '';
      if (more.length > 0 || !isOurs(authority))
        return 'This Host is not served here. Open the address that the daemon printed, or add the name to server.allowed_hosts.';
      if (!request.url?.startsWith('/')) return 'Only paths are served here, no whole URLs.';
      const origin = request.headers.origin?.toLowerCase();
      if (origin !== undefined && origin !== `http://${authority}` && origin !== `https://${authority}`)
        return 'Requests from pages of other origins are not served here.';
      return null;
    },
  };
}

function authorityName(host: string): string {
  const bare = withoutBrackets(host).toLowerCase();
  return isIP(bare) === 6 ? `[${bare}]` : bare;
}

/** Anything that is no plain `name` or `name:port` is its own, unknown name. */
function splitAuthority(authority: string): { readonly name: string; readonly port: string | null } {
  const match = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?$/.exec(authority);
  return { name: match?.[1] ?? '', port: match?.[2] ?? null };
}

/** Is it `Bearer <token>`? Takes the same time for every wrong one. */
function bearsToken(authorization: string | undefined, token: string): boolean {
  const given = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  return given !== undefined && timingSafeEqual(digest(given), digest(token));
}

/** Of one length, whatever was sent. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

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

/** Small texts of the state directory that are nobody else's business. */
const MAX_BYTES = 4_096;

type PrivateText = { readonly text: string } | { readonly problem: string } | null;

/** `null`: not there. What others could have read, written or put in its place is a problem, not a text. Throws only on disk trouble. */
export async function readPrivateFile(path: string): Promise<PrivateText> {
  let file: FileHandle;
  try {
    // Not to wait for the other end of a FIFO.
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    if (code === 'ELOOP') return { problem: 'is a symbolic link' };
    if (code === 'EACCES') return { problem: 'cannot be read' };
    throw error;
  }
  try {
    const facts = await file.stat();
    if (!facts.isFile()) return { problem: 'is no file' };
    if (facts.uid !== process.geteuid?.()) return { problem: 'belongs to another user' };
    if ((facts.mode & 0o077) !== 0) return { problem: 'is open to other users' };
    if (facts.size > MAX_BYTES) return { problem: 'is too large' };
    return { text: await file.readFile('utf8') };
  } finally {
    await file.close();
  }
}

/** Whole or not at all, for this user only. Takes the place of whatever is there, a link itself and not what it leads to. */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  const draft = `${path}.new`;
  // Of a process that was killed.
  await rm(draft, { force: true });
  await writeFile(draft, text, { flag: 'wx', mode: 0o600 });
  await rename(draft, path);
}
