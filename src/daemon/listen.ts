import { chmod, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServerConfig } from '../domain/config.js';
import { BatonError } from '../domain/errors.js';
import { type Closable, type HttpServer, startHttp, startSocket } from '../api/server.js';
import { openHttpToken } from '../status/http-token.js';
import type { Route } from '../api/route.js';
import type { StatusSource } from '../api/routes.js';
import { socketAddress } from '../api/socket-address.js';
import { resolveSecret } from '../workflow/provider-secrets.js';
import type { StatusParts } from './status.js';

/** Page and API on a port. */
export async function serveHttp(port: number, source: StatusSource, options: StatusParts): Promise<HttpServer> {
  const { server, stateDir, env, redactor, log } = options;
  const own = ownToken(server, env);
  const token =
    own ??
    (await openHttpToken(stateDir.path, (detail) => log.warn({ detail }, 'HTTP token was replaced by a new one')));
  redactor.add(token);
  const { host, allowedHosts } = server;
  const http = await startHttp({ source, host, port, allowedHosts, token, isOwnToken: own !== null });
  log.info({ url: http.url }, 'serving status over HTTP');
  return http;
}

export interface SocketParts {
  readonly stateDir: string;
  readonly server: ServerConfig;
  readonly env: NodeJS.ProcessEnv;
  /** Where the page is by now. */
  url(): string | null;
}

/** The same API for commands of the same user. Whoever holds the lock of the state directory may replace what a dead daemon left. */
export async function serveSocket(source: StatusSource, parts: SocketParts): Promise<Closable> {
  const address = await socketAddress(parts.stateDir);
  try {
    await rm(join(parts.stateDir, 'socket'), { force: true });
    const socket = await startSocket({ source, path: address.path, routes: [pageRoute(parts)] });
    // The folder keeps others out already, from the first moment on; this is for who looks at the file.
    await chmod(join(parts.stateDir, 'socket'), 0o600);
    return {
      async close() {
        await socket.close();
        await address.close();
      },
    };
  } catch (error) {
    await address.close();
    throw error;
  }
}

/** For `baton open`. Over the socket only: it tells the token. */
function pageRoute({ stateDir, server, env, url }: SocketParts): Route {
  return {
    method: 'GET',
    path: '/api/v1/page',
    needs: 'full',
    answer: async () => {
      const address = url();
      const token = address === null ? '' : (ownToken(server, env) ?? (await openHttpToken(stateDir)));
      // As a text: in JSON answers the token is masked like any other secret.
      const text = `${JSON.stringify({ url: address, token })}\n`;
      return { status: 200, text, headers: { 'content-type': 'application/json; charset=utf-8' } };
    },
  };
}

function ownToken({ token }: ServerConfig, env: NodeJS.ProcessEnv): string | null {
  if (token === null) return null;
  const value = resolveSecret(token, env)?.trim() ?? '';
  if (TOKEN.test(value)) return value;
  const message =
    value === ''
      ? `server.token is ${token}, and that variable is not set. Set it, or take server.token out of WORKFLOW.md.`
      : 'server.token must have 16 to 512 characters of ASCII without blanks: fewer can be guessed, and others cannot be sent. Take a random one: openssl rand -hex 32.';
  throw new BatonError('invalid_workflow_config', message);
}

const TOKEN = /^[\x21-\x7e]{16,512}$/;
