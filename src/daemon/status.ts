import { chmod, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { State } from '../../orchestrator/state.js';
import { createHttpToken, storeHttpToken } from '../api/access.js';
import type { Route, StatusSource } from '../api/routes.js';
import type { Closable } from '../api/server.js';
import { socketAddress } from '../api/socket-address.js';
import { NO_TOTALS, type Totals, totalsAfter } from '../api/totals.js';
import type { ServerConfig } from '../domain/config.js';
import { BatonError, toBatonError } from '../domain/errors.js';
import type { OrchestratorEvent } from '../domain/events.js';
import { resolveSecret } from '../workflow/secrets.js';
import { OpenPage, type PageAddress } from './open-page.js';
import { listenOnPort, type PortListener } from './port-listener.js';
import { createStatusSource, type OpenedSource, type StatusOptions } from './status-source.js';
import { PersistenceWaiters } from './wait-until-persisted.js';

/**
 * Serves the status and the requests of users: always over a socket in the state directory, and over HTTP when a port is set. The modules
 * behind the routes are loaded when they are first needed; without a port, that is after the start of everything else.
 */
export class DaemonStatus {
  readonly #options: StatusOptions;
  readonly #waiters = new PersistenceWaiters();
  #totals: Totals = NO_TOTALS;
  #source: Promise<OpenedSource> | null = null;
  #opened: OpenedSource | null = null;
  #port: PortListener<PageServer> | null = null;
  readonly #openPage: OpenPage;
  #socket: Promise<Closable | null> | null = null;

  constructor(options: StatusOptions) {
    this.#options = options;
    this.#openPage = new OpenPage(options.stateDir.path, () => this.#address);
  }

  /** Null without a page. */
  get #address(): PageAddress | null {
    return this.#port?.server?.address ?? null;
  }

  /** The address of the page; null without a page. */
  get url(): string | null {
    return this.#address?.url ?? null;
  }

  /** Null without a page. */
  get page(): { readonly host: string; readonly port: number; readonly token: string } | null {
    if (this.#address === null) return null;
    const { url, token } = this.#address;
    return { host: this.#options.server.host, port: Number(new URL(url).port), token };
  }

  /** The address of the page of an issue, or of the whole page, without the token. Returns null when there is no page. */
  pageOf(identifier: string | null): string | null {
    if (this.url === null) return null;
    return identifier === null ? `${this.url}/` : `${this.url}/#/issue/${encodeURIComponent(identifier)}`;
  }

  /** Called after every decision. */
  decided(event: OrchestratorEvent, before: State, after: State): void {
    this.#totals = totalsAfter(this.#totals, before, after);
    this.#waiters.decided(after);
    // Signals of agents come by the thousand, so the text of the state may be a moment older than they are.
    if (event.type !== 'run_signalled') this.#opened?.stale();
    this.#opened?.metrics.decided(event, before, after, this.#options.resources.clock.now());
  }

  /** Throws `BatonError`. */
  async listenHttp(port: number): Promise<void> {
    const { source } = await this.#open();
    const { log, mayLackPage: mayLack = false, resources } = this.#options;
    this.#port = await listenOnPort({
      ...{ clock: resources.clock, log, mayLack },
      lacking: 'the port of the page is taken, the daemon goes on without a page',
      listen: () => serveHttp(port, source, this.#options),
    });
  }

  /** Never rejects: a daemon without a socket can still work. */
  async listenSocket(): Promise<void> {
    const { stateDir, log, allow } = this.#options;
    await this.#openPage.clear();
    this.#socket = this.#open()
      .then(async ({ source }) => {
        const { allowRoute } = await import('./allow-route.js');
        return serveSocket(source, stateDir.path, [...this.#openPage.routes, allowRoute(allow)]);
      })
      .catch((error: unknown) => {
        log.warn({ detail: toBatonError(error).message }, 'commands cannot reach this daemon: no socket');
        return null;
      });
    await this.#socket;
  }

  async close(): Promise<void> {
    const opened = await this.#source?.catch(() => null);
    opened?.source.stream.close();
    opened?.metrics.close();
    await (await this.#socket)?.close();
    await this.#port?.close();
    await this.#openPage.clear();
  }

  async #open(): Promise<OpenedSource> {
    this.#source ??= createStatusSource(this.#options, {
      totals: () => this.#totals,
      waitUntilPersisted: () => this.#waiters.waitUntilPersisted(this.#options.state()),
    });
    this.#opened = await this.#source;
    return this.#opened;
  }
}

/** Serves page and API on a port. */
async function serveHttp(
  port: number,
  source: StatusSource,
  { server, stateDir, env, redactor, log, httpToken }: StatusOptions,
): Promise<PageServer> {
  const fixedToken = ownToken(server, env);
  if (fixedToken !== null) redactor.add(fixedToken);
  const token = httpToken ?? createHttpToken();
  const { host, allowedHosts } = server;
  const { startHttp } = await import('../api/server.js');
  const http = await startHttp({ source, host, port, allowedHosts, token, fixedToken });
  redactor.add(token);
  try {
    // Not before: while another program has the port, scripts that read the file would send the token to that program.
    await storeHttpToken(stateDir.path, token);
  } catch (error) {
    await http.close();
    throw error;
  }
  log.info({ url: http.url }, 'serving status over HTTP');
  return { address: { url: http.url, token }, close: () => http.close() };
}

interface PageServer extends Closable {
  readonly address: PageAddress;
}

/** Serves the same API to commands of the same user. The holder of the state lock may replace the socket of a dead daemon. */
async function serveSocket(source: StatusSource, stateDir: string, routes: readonly Route[]): Promise<Closable> {
  const { startSocket } = await import('../api/server.js');
  const address = await socketAddress(stateDir);
  try {
    await rm(join(stateDir, 'socket'), { force: true });
    const socket = await startSocket({ source, path: address.path, routes });
    // The mode of the folder already keeps other users out; this makes it visible on the file.
    await chmod(join(stateDir, 'socket'), 0o600);
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
