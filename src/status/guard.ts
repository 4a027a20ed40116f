import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

/**
 * Who may ask. A page of another site can make a browser send requests here, under its own name once that name points to
 * this machine; so the names under which we answer are a fixed list, and any Origin but our own is refused.
 */
export interface Guard {
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

export function isLoopback(host: string): boolean {
  const bare = withoutBrackets(host).toLowerCase();
  if (isIP(bare) === 4) return bare.startsWith('127.');
  return bare === '::1' || bare === 'localhost';
}

export function withoutBrackets(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1');
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
