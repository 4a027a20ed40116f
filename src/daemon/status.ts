import { chmod, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Logger } from 'pino';
import type { State } from '../../orchestrator/state.js';
import { scaffoldExecutor } from '../../runner/executors/capability/scaffold-executor.js';
import { openHttpToken } from '../api/access.js';
import { listCapabilities } from '../api/capability-listing.js';
import type { CapabilitySource, Route, StatusSource } from '../api/routes.js';
import { type Closable, type HttpServer, startHttp, startSocket } from '../api/server.js';
import type { WorkflowFile } from '../api/snapshot.js';
import { socketAddress } from '../api/socket-address.js';
import { NO_TOTALS, type Totals, totalsAfter } from '../api/totals.js';
import type { CapabilityIndex } from '../domain/capabilities.js';
import type { ServerConfig } from '../domain/config.js';
import { BatonError, toBatonError } from '../domain/errors.js';
import type { Dispatch, OrchestratorEvent } from '../domain/events.js';
import { type Fields, fieldsOf, type JsonObject } from '../domain/json.js';
import type { Workflow } from '../domain/workflow.js';
import type { Redactor } from '../logging/redact.js';
import type { StateDir } from '../state-dir.js';
import { resolveSecret } from '../workflow/provider-secrets.js';
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

/** Page and API on a port. */
async function serveHttp(port: number, source: StatusSource, options: StatusParts): Promise<HttpServer> {
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

interface SocketParts {
  readonly stateDir: string;
  readonly server: ServerConfig;
  readonly env: NodeJS.ProcessEnv;
  /** Where the page is by now. */
  url(): string | null;
}

/** The same API for commands of the same user. Whoever holds the lock of the state directory may replace what a dead daemon left. */
async function serveSocket(source: StatusSource, parts: SocketParts): Promise<Closable> {
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

/** The part of the capability manager that can be asked from outside. */
interface CapabilityFinder {
  stats(): JsonObject;
  refresh(projectDir: string): Promise<CapabilityIndex>;
}

/** What `/api/capability/…` can do. `projectDir`: the folder of WORKFLOW.md. */
export function capabilityApi(capabilities: CapabilityFinder, projectDir: () => string): CapabilitySource {
  return {
    stats: () => capabilities.stats(),
    refresh: async () => listCapabilities(await capabilities.refresh(projectDir())),
    async create(request) {
      const wanted = parseRequest(request);
      const project = projectDir();
      const { dir } = await scaffoldExecutor({ ...wanted, dir: join(project, '.baton', 'capabilities') });
      return { name: wanted.name, path: relative(project, dir) };
    },
  };
}

type Wanted = Omit<Parameters<typeof scaffoldExecutor>[0], 'dir'>;

/** Only shapes: what a name may look like is for the scaffold to say. */
function parseRequest(request: unknown): Wanted {
  const fields = fieldsOf(request);
  if (fields !== request) throw invalid('the body must be an object with name and supportedTypes');
  const { name, supportedTypes } = fields;
  if (typeof name !== 'string') throw invalid('name must be a text');
  if (!isTexts(supportedTypes)) throw invalid('supportedTypes must be a list of texts');
  return {
    ...{ name, supportedTypes },
    ...optional(fields, 'version'),
    ...optional(fields, 'description'),
    ...optional(fields, 'entryPoint'),
  };
}

function optional<K extends 'version' | 'description' | 'entryPoint'>(fields: Fields, key: K): { [key in K]?: string } {
  const value = fields[key];
  if (value === undefined || value === null) return {};
  if (typeof value !== 'string') throw invalid(`${key} must be a text`);
  return { [key]: value } as { [key in K]?: string };
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

function invalid(message: string): BatonError {
  return new BatonError('INVALID_REQUEST', message);
}

const LIMIT_MS = 5_000;

interface Waiting {
  readonly seq: number;
  settle(isSafe: boolean): void;
}

/** Who is told "accepted" wants it to outlive a kill in the next moment: waits until what was ordered so far is stored. */
class SafeKeeping {
  readonly #waiting = new Set<Waiting>();

  /** After every decision. */
  decided({ persist }: State): void {
    for (const waiting of this.#waiting) if (persist.settledSeq >= waiting.seq) waiting.settle(!persist.broken);
  }

  /** `false`: it could not be stored, or not in time. */
  stored({ persist }: State): Promise<boolean> {
    if (persist.settledSeq >= persist.orderedSeq) return Promise.resolve(!persist.broken);
    return new Promise((resolve) => {
      const settle = (isSafe: boolean) => {
        clearTimeout(late);
        this.#waiting.delete(waiting);
        resolve(isSafe);
      };
      const waiting: Waiting = { seq: persist.orderedSeq, settle };
      const late = setTimeout(() => settle(false), LIMIT_MS).unref();
      this.#waiting.add(waiting);
    });
  }
}
