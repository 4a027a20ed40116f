import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, rename, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { BatonError, toBatonError } from '../domain/errors.js';
import { withoutBrackets } from '../domain/host.js';

/** The rights of a request: all, or only what needs no token (the empty page, health, the proof). */
export type Access = 'full' | 'public';

/** Decides the access of a request, or answers it before routing. */
export type Admit = (
  request: IncomingMessage,
) => { readonly access: Access } | { readonly refused: string } | { readonly redirect: string };

/** Only the daemon's own user can open the socket, because of its folder and its mode. */
export const admitOwner: Admit = () => ({ access: 'full' });

/** Over TCP, host and origin are checked first. Any of the tokens gives full access. */
export function admitByToken(guard: Guard, tokens: readonly string[]): Admit {
  return (request) => {
    const refused = guard.refuse(request);
    if (refused !== null) return { refused };
    // The browser keeps the fragment of the address, and so the token.
    if (request.url === '/' && guard.home !== null && !guard.leadsHere(request)) return { redirect: guard.home };
    return { access: bearsOneOf(tokens, request) ? 'full' : 'public' };
  };
}

export function bearsOneOf(tokens: readonly string[], { headers }: IncomingMessage): boolean {
  return tokens.some((token) => bearsToken(headers.authorization, token));
}

/**
 * Protects against pages of other sites: a page can make a browser send requests here, and can point its own name to this machine (DNS
 * rebinding). So only a fixed list of host names is served, and any other origin is refused.
 */
interface Guard {
  /** The reason to refuse the request, or `null`. */
  refuse(request: IncomingMessage): string | null;
  /**
   * Whether the host of an admitted request leads to this server only. `localhost` may lead to another loopback address, where every account
   * can listen on our port and pass requests on to us.
   */
  leadsHere(request: IncomingMessage): boolean;
  /** The address of the page on loopback, for requests that name another one. */
  readonly home: string | null;
}

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'];

/** `address`: where the server listens. */
export function createGuard(
  { host, address, port }: { readonly host: string; readonly address: string; readonly port: number },
  allowedHosts: readonly string[],
): Guard {
  const reached = loopbackNameOf(address);
  const own = new Set([...LOOPBACK_NAMES, authorityName(host)]);
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
        return 'This host name is not allowed. Open the address that the daemon printed, or add the name to server.allowed_hosts.';
      if (!request.url?.startsWith('/')) return 'The request target must be a path, not a URL.';
      const origin = request.headers.origin?.toLowerCase();
      if (origin !== undefined && origin !== `http://${authority}` && origin !== `https://${authority}`)
        return 'Requests from other origins are not allowed.';
      return null;
    },
    home: reached === null ? null : `http://${reached}:${port}/`,
    leadsHere({ headers }) {
      const authority = headers.host?.toLowerCase() ?? '';
      const { name } = splitAuthority(authority);
      const isElsewhere = LOOPBACK_NAMES.includes(name) && name !== reached && address !== '::';
      return !isElsewhere || allowed.has(authority) || allowed.has(name);
    },
  };
}

/** The loopback address on which a server at this address is reached; null when there is none. */
function loopbackNameOf(address: string): string | null {
  const name = authorityName(address === '0.0.0.0' || address === '::' ? '127.0.0.1' : address);
  return LOOPBACK_NAMES.includes(name) ? name : null;
}

function authorityName(host: string): string {
  const bare = withoutBrackets(host).toLowerCase();
  return isIP(bare) === 6 ? `[${bare}]` : bare;
}

/** An authority that is not `name` or `name:port` has an empty name, which is never allowed. */
function splitAuthority(authority: string): { readonly name: string; readonly port: string | null } {
  const match = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?$/.exec(authority);
  return { name: match?.[1] ?? '', port: match?.[2] ?? null };
}

/** Compares in constant time. */
function bearsToken(authorization: string | undefined, token: string): boolean {
  const given = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  return given !== undefined && timingSafeEqual(digest(given), digest(token));
}

/** Gives both sides of the comparison the same length. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

const TOKEN_BYTES = 32;

/** The token of this start of the daemon. A token that leaks is worthless after the next start. */
export function createHttpToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

/** Stores the token in `http-token` of the state directory, for scripts of the same user. Throws `BatonError`. */
export async function storeHttpToken(stateDir: string, token: string): Promise<void> {
  const path = join(stateDir, 'http-token');
  try {
    await writePrivateFile(path, `${token}\n`);
  } catch (error) {
    const { message } = toBatonError(error);
    const text = `cannot store the token of the HTTP server in ${path}: ${message}. Remove that file, or choose another --state-dir`;
    throw new BatonError('store_failed', text, { path }, { cause: error });
  }
}

/** Private files of the state directory are small. */
const MAX_BYTES = 4_096;

type PrivateText = { readonly text: string } | { readonly problem: string } | null;

/** `null`: there is no file. A file that other users could have read, written or replaced is a problem. Throws only on disk errors. */
export async function readPrivateFile(path: string): Promise<PrivateText> {
  let file: FileHandle;
  try {
    // O_NONBLOCK: opening a FIFO must not wait for its writer.
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
    if (!facts.isFile()) return { problem: 'is not a regular file' };
    if (facts.uid !== process.geteuid?.()) return { problem: 'belongs to another user' };
    if ((facts.mode & 0o077) !== 0) return { problem: 'is open to other users' };
    if (facts.size > MAX_BYTES) return { problem: 'is too large' };
    return { text: await file.readFile('utf8') };
  } finally {
    await file.close();
  }
}

/** Writes atomically, readable only by this user. Replaces a symbolic link itself, not its target. */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  const draft = `${path}.new`;
  // May be left by a process that was killed.
  await rm(draft, { force: true });
  await writeFile(draft, text, { flag: 'wx', mode: 0o600 });
  await rename(draft, path);
}
