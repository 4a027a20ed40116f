import type { Logger } from 'pino';
import type { State } from '../../orchestrator/state.js';
import type { ServerConfig, Workflow } from '../domain/config.js';
import { toBatonError } from '../domain/errors.js';
import type { OrchestratorEvent } from '../domain/events.js';
import type { Dispatch } from '../domain/ports.js';
import type { Redactor } from '../logging/redact.js';
import type { StateDir } from '../state-dir.js';
import type { Closable, HttpServer } from '../api/server.js';
import { SafeKeeping } from '../status/safe-keeping.js';
import { NO_TOTALS, type Totals, totalsAfter } from '../api/totals.js';
import type { WorkflowFile } from '../status/workflow-facts.js';
import { serveHttp, serveSocket } from './listen.js';
import type { Parts } from './resources.js';
import { createStatusSource, type OpenedSource } from './status-source.js';

export interface StatusParts {
  readonly server: ServerConfig;
  readonly stateDir: StateDir;
  readonly version: string;
  readonly env: NodeJS.ProcessEnv;
  readonly parts: Pick<Parts, 'clock' | 'store' | 'activity' | 'capabilities'>;
  readonly redactor: Redactor;
  readonly log: Logger;
  readonly dispatch: Dispatch;
  state(): State;
  /** In force now. */
  workflow(): Workflow;
  workflowFile(): WorkflowFile;
}

/**
 * What people see of the daemon and can ask of it: over a socket in the state directory, always, and over HTTP where a port is set. The
 * server is loaded when it is first needed: without a port that is when everything else has begun.
 */
export class DaemonStatus {
  readonly #options: StatusParts;
  readonly #safe = new SafeKeeping();
  #totals: Totals = NO_TOTALS;
  #source: Promise<OpenedSource> | null = null;
  #opened: OpenedSource | null = null;
  #http: HttpServer | null = null;
  #socket: Promise<Closable | null> | null = null;

  constructor(options: StatusParts) {
    this.#options = options;
  }

  /** Where the page is; `null`: nowhere. */
  get url(): string | null {
    return this.#http?.url ?? null;
  }

  /** The page of an issue, or the whole; without the token. `null`: there is none. */
  pageOf(identifier: string | null): string | null {
    if (this.url === null) return null;
    return identifier === null ? `${this.url}/` : `${this.url}/#/issue/${encodeURIComponent(identifier)}`;
  }

  /** After every decision. */
  decided(event: OrchestratorEvent, before: State, after: State): void {
    this.#totals = totalsAfter(this.#totals, before, after);
    this.#safe.decided(after);
    // What agents say a thousand times a second may be a moment old.
    if (event.type !== 'run_signalled') this.#opened?.stale();
    this.#opened?.metrics.decided(event, before, after, this.#options.parts.clock.now());
  }

  /** Throws `BatonError`. */
  async listenHttp(port: number): Promise<void> {
    const { source } = await this.#open();
    this.#http = await serveHttp(port, source, this.#options);
  }

  /** Never rejects: a daemon that cannot be asked can still work. */
  async listenSocket(): Promise<void> {
    const { stateDir, server, env, log } = this.#options;
    this.#socket = this.#open()
      .then(({ source }) => serveSocket(source, { stateDir: stateDir.path, server, env, url: () => this.url }))
      .catch((error: unknown) => {
        log.warn({ detail: toBatonError(error).message }, 'commands cannot reach this daemon: no socket');
        return null;
      });
    await this.#socket;
  }

  async close(): Promise<void> {
    const opened = await this.#source?.catch(() => null);
    opened?.source.feed.close();
    opened?.metrics.close();
    await (await this.#socket)?.close();
    await this.#http?.close();
  }

  async #open(): Promise<OpenedSource> {
    this.#source ??= createStatusSource(this.#options, {
      totals: () => this.#totals,
      stored: () => this.#safe.stored(this.#options.state()),
    });
    this.#opened = await this.#source;
    return this.#opened;
  }
}
