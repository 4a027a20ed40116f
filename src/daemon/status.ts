import { chmod, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { State } from '../../orchestrator/state.js';
import { createHttpToken, storeHttpToken } from '../api/access.js';
import type { Metrics } from '../api/metrics.js';
import { type Closable, type LateRoutes, type SocketOptions, startHttp, startSocket } from '../api/server.js';
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

type Decision = Parameters<Metrics['decided']>;

/** When the modules behind the routes are loaded at the latest: after the first agents have been started, which they would slow down. */
const LOAD_AFTER_MS = 1_000;

/** Serves the status and the requests of users: always over a socket in the state directory, and over HTTP when a port is set. */
export class DaemonStatus {
  readonly #options: StatusOptions;
  readonly #startedAtMs: number;
  readonly #waiters = new PersistenceWaiters();
  #totals: Totals = NO_TOTALS;
  #source: Promise<OpenedSource> | null = null;
  #opened: OpenedSource | null = null;
  /** Decisions before the metrics are loaded; null from then on. */
  #uncounted: Decision[] | null = [];
  #cancelLoad = () => {};
  #port: PortListener<PageServer> | null = null;
  readonly #openPage: OpenPage;
  #socket: Promise<Closable | null> | null = null;

  constructor(options: StatusOptions) {
    this.#options = options;
    this.#startedAtMs = options.resources.clock.now().wallMs;
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
    const decision: Decision = [event, before, after, this.#options.resources.clock.now()];
    this.#uncounted?.push(decision);
    this.#opened?.metrics.decided(...decision);
  }

  /** Throws `BatonError`. */
  async listenHttp(port: number): Promise<void> {
    const { log, mayLackPage: mayLack = false, resources } = this.#options;
    this.#port = await listenOnPort({
      ...{ clock: resources.clock, log, mayLack },
      lacking: 'the port of the page is taken, the daemon goes on without a page',
      listen: () => serveHttp(port, this.#routes(), this.#options),
    });
  }

  /** Never rejects: a daemon without a socket can still work. */
  async listenSocket(): Promise<void> {
    const { stateDir, version, log, allow, resources } = this.#options;
    await this.#openPage.clear();
    const routes = async () => {
      const { allowRoute } = await import('./allow-route.js');
      return [...this.#openPage.routes, allowRoute(allow)];
    };
    this.#socket = serveSocket(stateDir.path, { ...this.#routes(), version, routes }).catch((error: unknown) => {
      log.warn({ detail: toBatonError(error).message }, 'commands cannot reach this daemon: no socket');
      return null;
    });
    // Without a request, too: an update of Baton may remove the files while the daemon runs.
    this.#cancelLoad = resources.clock.after(LOAD_AFTER_MS, () => {
      for (const load of [() => this.#open(), routes]) load().catch(this.#onError);
    });
    await this.#socket;
  }

  async close(): Promise<void> {
    this.#cancelLoad();
    const opened = await this.#source?.catch(() => null);
    opened?.source.stream.close();
    opened?.metrics.close();
    await (await this.#socket)?.close();
    await this.#port?.close();
    await this.#openPage.clear();
  }

  async #open(): Promise<OpenedSource> {
    this.#source ??= createStatusSource(this.#options, {
      startedAtMs: this.#startedAtMs,
      totals: () => this.#totals,
      waitUntilPersisted: () => this.#waiters.waitUntilPersisted(this.#options.state()),
    });
    try {
      this.#opened = await this.#source;
      for (const decision of this.#uncounted ?? []) this.#opened.metrics.decided(...decision);
      return this.#opened;
    } finally {
      this.#uncounted = null;
    }
  }

  #routes(): LateRoutes {
    return { source: async () => (await this.#open()).source, onError: this.#onError };
  }

  readonly #onError = (error: unknown) => this.#options.log.error({ err: error }, 'status could not be served');
}

/** Serves page and API on a port. */
async function serveHttp(
  port: number,
  routes: LateRoutes,
  { server, stateDir, env, redactor, log, httpToken }: StatusOptions,
): Promise<PageServer> {
  const fixedToken = ownToken(server, env);
  if (fixedToken !== null) redactor.add(fixedToken);
  const token = httpToken ?? createHttpToken();
  const { host, allowedHosts } = server;
  const http = await startHttp({ ...routes, host, port, allowedHosts, token, fixedToken });
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
async function serveSocket(stateDir: string, routes: Omit<SocketOptions, 'path'>): Promise<Closable> {
  const address = await socketAddress(stateDir);
  try {
    await rm(join(stateDir, 'socket'), { force: true });
    const socket = await startSocket({ ...routes, path: address.path });
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
