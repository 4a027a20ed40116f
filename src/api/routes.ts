import { createReadStream } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { type Context, Hono } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { z } from 'zod';
import type { State } from '../../orchestrator/state.js';
import type { Instant } from '../domain/clock.js';
import { toBatonError } from '../domain/errors.js';
import type { Dispatch, OrchestratorEvent } from '../domain/events.js';
import type { Json, JsonObject } from '../domain/json.js';
import { isoTime } from '../text/format-time.js';
import type { Access } from './access.js';
import { type Action, decideAction, refreshAnswer } from './actions.js';
import type { PageFile, PageFiles } from './page-files.js';
import { createProver, isNonce, type Prover } from './proof.js';
import { NEEDS_TOKEN, type Refusal, refusal } from './refusal.js';
import { answerRequestShape, type IssueView, messageRequestShape, type Stats, type Timeline } from './schemas.js';
import { type StateStream, StreamClient } from './stream.js';

/** The data behind the routes. */
export interface StatusSource extends ReadSource {
  readonly control: ControlSource;
  /** `/api/capability/…`; `null`: these routes do not exist. */
  readonly capabilities: CapabilitySource | null;
  readonly page: PageFiles;
  /** Applied to every JSON answer: masks secrets and escapes control characters. */
  clean(json: string): string;
  onError(error: unknown): void;
}

type App = Hono<{ Bindings: HttpBindings }>;

/** `isOwner`: requests come over the socket. `more`: further routes. */
export function createRoutes(
  source: StatusSource,
  accessOf: (c: RouteContext) => Access,
  { isOwner, more }: { readonly isOwner: boolean; readonly more: readonly Route[] },
): App {
  const app: App = new Hono<{ Bindings: HttpBindings }>();
  const send = (c: RouteContext, answer: ApiResponse) => {
    if (answer === 'sent') return RESPONSE_ALREADY_SENT;
    if ('body' in answer) return c.body(`${source.clean(JSON.stringify(answer.body))}\n`, answer.status, JSON_HEADERS);
    const { text, status, headers } = answer;
    return c.body(typeof text === 'string' ? text : new Uint8Array(text), status, { ...headers });
  };
  const refuse = (c: RouteContext, methods: readonly string[]) => {
    const allow = methods.map((method) => (method === 'GET' ? 'GET, HEAD' : method)).join(', ');
    c.header('allow', allow);
    return send(c, refusal(405, 'method_not_allowed', `${c.req.method} is not allowed here; allowed: ${allow}.`));
  };
  const routes = [
    ...more,
    ...readRoutes(source, accessOf, isOwner),
    ...controlRoutes(source.control),
    ...(source.capabilities ? capabilityRoutes(source.capabilities) : []),
    ...pageRoutes(source.page),
  ];
  for (const { method, path, needs = 'full', answer } of routes) {
    app.on(method, path, async (c) => {
      if (needs === 'public' || accessOf(c) === 'full') return send(c, await answer(c));
      c.header('www-authenticate', 'Bearer');
      return send(c, NEEDS_TOKEN);
    });
  }
  const methodsOf = new Map<string, Set<string>>();
  for (const { method, path } of routes) methodsOf.set(path, (methodsOf.get(path) ?? new Set()).add(method));
  for (const [path, methods] of methodsOf) app.all(path, (c) => refuse(c, [...methods].sort()));
  app.notFound((c) => send(c, refusal(404, 'not_found', 'No such path. docs/http.md lists all paths.')));
  app.onError((error, c) => {
    source.onError(error);
    return send(c, refusal(500, 'internal_error', 'The request failed. The log has the reason.'));
  });
  return app;
}

/** Answers admitted requests. */
export function createListener(
  ...of: Parameters<typeof createRoutes>
): (to: IncomingMessage, by: ServerResponse) => void {
  const listener = getRequestListener(createRoutes(...of).fetch, {
    // Keeps Node's own Request and Response for the clients of trackers.
    overrideGlobalObjects: false,
    autoCleanupIncoming: false,
    errorHandler: () => new Response(`${JSON.stringify(BAD_REQUEST.body)}\n`, { status: 400, headers: JSON_HEADERS }),
  });
  return (request, response) => void listener(request, response);
}

const BAD_REQUEST = refusal(400, 'bad_request', 'The request is malformed.');
const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8' };

/** Reading only. */
interface ReadSource {
  /** `GET /api/v1/state`, cleaned. Requests at the same time share it. */
  stateText(): string;
  /** `null`: the issue is unknown. */
  issue(name: string): Promise<IssueView | null>;
  /** `null`: the issue has no such run. */
  timeline(name: string, runId: string | null): Promise<Timeline | null>;
  /** The path of the transcript of a run; `null`: the issue has no such run, or it has no transcript. */
  transcript(name: string, runId: string | null): Promise<string | null>;
  stats(days: number): Promise<Stats>;
  readonly stream: StateStream;
  /** In the format of Prometheus. */
  metrics(): Promise<{ readonly text: string; readonly type: string }>;
  /** Why the daemon is not ready; `null`: it is. */
  notReady(): string | null;
}

function readRoutes(source: ReadSource, accessOf: (c: RouteContext) => Access, isOwner: boolean): readonly Route[] {
  const reads = (path: string, answer: Route['answer']): Route => ({ method: 'GET', path, answer });
  return [
    { ...reads('/healthz', () => OK), needs: 'public' },
    {
      ...reads('/readyz', (c) => {
        const reason = source.notReady();
        // The reason may quote the tracker or an agent.
        return reason === null ? OK : refusal(503, 'not_ready', accessOf(c) === 'full' ? reason : NOT_READY);
      }),
      needs: 'public',
    },
    reads('/metrics', async () => {
      const { text, type } = await source.metrics();
      return { status: 200, text, headers: { 'content-type': type } };
    }),
    reads('/api/v1/state', () => ({ status: 200, text: source.stateText(), headers: JSON_TYPE })),
    reads('/api/v1/stats', async (c) => {
      const days = Number(c.req.query('days') ?? 30);
      if (!Number.isSafeInteger(days) || days < 1 || days > MAX_DAYS) return BAD_DAYS;
      return { status: 200, body: (await source.stats(days)) as Json };
    }),
    reads('/api/v1/events', (c) => joinStream(c, source.stream, isOwner)),
    ...ISSUE_PATHS.flatMap((path) => issueRoutes(path, source)),
  ];
}

/** The first is for issues whose identifier is a path of the API. */
const ISSUE_PATHS = ['/api/v1/issues/:identifier', '/api/v1/:identifier'];

function issueRoutes(path: string, source: ReadSource): Route[] {
  const reads = (more: string, answer: (name: string, c: RouteContext) => Promise<ApiResponse>): Route => ({
    method: 'GET',
    path: `${path}${more}`,
    answer: (c) => answer(c.req.param('identifier') ?? '', c),
  });
  return [
    reads('', async (name) => {
      const found = await source.issue(name);
      return found === null ? unknownIssue(name) : { status: 200, body: found as Json };
    }),
    reads('/timeline', async (name, c) => {
      const found = await source.timeline(name, c.req.query('run') ?? null);
      return found === null ? unknownRun(name) : { status: 200, body: found as Json };
    }),
    reads('/transcript', async (name, c) => {
      const path = await source.transcript(name, c.req.query('run') ?? null);
      return path === null ? unknownRun(name) : sendFile(c, path);
    }),
  ];
}

const NOT_READY = 'The daemon is not ready. A request with the token gets the reason.';
const MAX_DAYS = 400;
const OK: ApiResponse = { status: 200, body: { status: 'ok' } };
const BAD_DAYS = refusal(400, 'INVALID_REQUEST', `days must be a whole number from 1 to ${MAX_DAYS}.`);
const TOO_MANY = refusal(
  503,
  'too_many_streams',
  'The stream has too many readers. Close some pages, or read /api/v1/state.',
);

function unknownIssue(name: string): ApiResponse {
  const message = `No issue ${name} is claimed, among the candidates of the last poll, or known from earlier runs.`;
  return refusal(404, 'issue_not_found', message);
}

function unknownRun(name: string): ApiResponse {
  return refusal(404, 'run_not_found', `${name} has no such run, or the run has no transcript.`);
}

function joinStream(c: RouteContext, stream: StateStream, isOwner: boolean): ApiResponse {
  if (c.req.method === 'HEAD') return { status: 200, text: '', headers: { 'content-type': 'text/event-stream' } };
  if (stream.isFull(isOwner)) return TOO_MANY;
  const client = new StreamClient(c.env.outgoing as ConstructorParameters<typeof StreamClient>[0]);
  const issue = c.req.query('issue') ?? null;
  stream.join(client, {
    issue: issue === '' ? null : issue,
    lastEventId: c.req.header('last-event-id') ?? null,
    isOwner,
  });
  return 'sent';
}

/** A transcript is masked when it is written. */
function sendFile(c: RouteContext, path: string): ApiResponse {
  const { outgoing } = c.env;
  if (c.req.method === 'HEAD') return { status: 200, text: '', headers: JSON_LINES };
  outgoing.writeHead(200, JSON_LINES);
  // Also closes the file when the client disconnects.
  pipeline(createReadStream(path), outgoing, () => {});
  return 'sent';
}

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };
const JSON_LINES = { 'content-type': 'application/x-ndjson; charset=utf-8' };

/** Changing the state of the daemon. */
interface ControlSource {
  state(): State;
  now(): Instant;
  readonly dispatch: Dispatch;
  /** Resolves once everything ordered so far is stored; `false` when that failed. */
  waitUntilPersisted(): Promise<boolean>;
}

/** Requests of users. Each is checked against the current state, and accepted only after it is stored. */
function controlRoutes(source: ControlSource): readonly Route[] {
  const changes = (path: string, answer: Route['answer']): Route => ({ method: 'POST', path, answer });
  const accept = async (event: OrchestratorEvent, message: string): Promise<ApiResponse> => {
    source.dispatch(event);
    const isPersisted = await source.waitUntilPersisted();
    return { status: 202, body: { accepted: true, message: isPersisted ? message : `${message} ${NOT_SAFE}` } };
  };
  const act = (c: RouteContext, action: Action): ApiResponse | Promise<ApiResponse> => {
    const decided = decideAction(source.state(), c.req.param('identifier') ?? '', action);
    return 'event' in decided
      ? accept(decided.event, decided.message)
      : refusal(decided.status, decided.code, decided.message, decided.params as JsonObject);
  };
  return [
    changes('/api/v1/refresh', (c) => {
      const answer = refreshAnswer(source.state(), source.now());
      const refused = wrongType(c);
      if (refused === null) source.dispatch({ type: 'refresh_requested' });
      return refused ?? { status: 202, body: { ...answer, requested_at: isoTime(source.now().wallMs) } };
    }),
    changes('/api/v1/pause', (c) => wrongType(c) ?? accept({ type: 'pause_requested' }, PAUSED)),
    changes('/api/v1/resume', (c) => wrongType(c) ?? accept({ type: 'resume_requested' }, RESUMED)),
    ...ISSUE_PATHS.flatMap((path) => [
      changes(`${path}/stop`, (c) => wrongType(c) ?? act(c, { kind: 'stop' })),
      changes(`${path}/retry`, (c) => wrongType(c) ?? act(c, { kind: 'retry' })),
      changes(`${path}/answer`, async (c) => {
        const body = await bodyOf(c, answerRequestShape);
        return 'refused' in body ? body.refused : act(c, { kind: 'answer', request: body.value });
      }),
      changes(`${path}/message`, async (c) => {
        const body = await bodyOf(c, messageRequestShape);
        return 'refused' in body ? body.refused : act(c, { kind: 'message', text: body.value.text });
      }),
    ]),
  ];
}

const PAUSED = 'No new runs start until you resume. Current runs go on.';
const RESUMED = 'New runs start again.';
const NOT_SAFE = 'It could not be stored yet. If Baton is killed before that, the request is lost.';

export async function bodyOf<T>(
  c: RouteContext,
  shape: z.ZodType<T>,
): Promise<{ value: T } | { refused: ApiResponse }> {
  const body = await readJsonBody(c.env.incoming, c.env.outgoing);
  if ('refused' in body) return body;
  const parsed = shape.safeParse(body.value);
  if (parsed.success) return { value: parsed.data };
  const [first] = parsed.error.issues;
  const where = first?.path.length ? `${first.path.join('.')}: ` : '';
  return {
    refused: refusal(400, 'INVALID_REQUEST', `The body is invalid: ${where}${first?.message ?? 'unknown'}.`),
  };
}

function wrongType(c: RouteContext): ApiResponse | null {
  return refuseOtherType(c.env.incoming);
}

/** The data behind `/api/capability/…`. */
export interface CapabilitySource {
  /** Current executions. */
  stats(): Json;
  /** Reads the folders again and lists what they contain. */
  refresh(): Promise<Json>;
  /** Creates the folder of an executor. Throws `BatonError` with `INVALID_REQUEST` for an invalid request. */
  create(request: unknown): Promise<Json>;
}

function capabilityRoutes(source: CapabilitySource): readonly Route[] {
  return [
    { method: 'GET', path: `${BASE}/stats`, answer: () => ({ status: 200, body: source.stats() }) },
    {
      method: 'POST',
      path: `${BASE}/refresh`,
      answer: async (c) => refuseOtherType(c.env.incoming) ?? { status: 200, body: await source.refresh() },
    },
    { method: 'POST', path: `${BASE}/executors/create`, answer: (c) => create(c, source) },
    {
      method: 'POST',
      path: `${BASE}/download-executor`,
      answer: (c) => refuseOtherType(c.env.incoming) ?? NO_MARKETPLACE,
    },
  ];
}

const BASE = '/api/capability';

const NO_MARKETPLACE = refusal(
  501,
  'not_available',
  'Baton has no marketplace to download executors from. Copy the folder of the executor to .baton/capabilities/executors/ beside WORKFLOW.md, and refresh.',
);

async function create(c: RouteContext, source: CapabilitySource): Promise<ApiResponse> {
  const body = await readJsonBody(c.env.incoming, c.env.outgoing);
  if ('refused' in body) return body.refused;
  try {
    return { status: 201, body: await source.create(body.value) };
  } catch (error) {
    const { code, message } = toBatonError(error);
    if (code !== 'INVALID_REQUEST') throw error;
    return refusal(400, code, message);
  }
}

export interface Route {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** The access that a request needs. Default: `full`. */
  readonly needs?: Access;
  answer(c: RouteContext): ApiResponse | Promise<ApiResponse>;
}

export type RouteContext = Context<{ Bindings: HttpBindings }>;

/** JSON, a text of another type, or `sent` when the route has answered itself. */
export type ApiResponse =
  | { readonly status: ContentfulStatusCode; readonly body: Json }
  | {
      readonly status: ContentfulStatusCode;
      readonly text: string | Buffer;
      readonly headers: { readonly [name: string]: string };
    }
  | 'sent';

const MAX_BODY_BYTES = 64 * 1024;
/** A larger body is not read to its end before the answer. */
const MAX_DISCARDED_BYTES = 1024 * 1024;

type JsonBody = { readonly value: unknown } | { readonly refused: Refusal };

/** The body of a request as JSON, or a refusal. The server limits the time by closing the socket. */
async function readJsonBody(request: IncomingMessage, response: ServerResponse): Promise<JsonBody> {
  if (!isJson(request)) return { refused: WRONG_TYPE };
  if (Number(request.headers['content-length'] ?? 0) > MAX_DISCARDED_BYTES) return { refused: TOO_LARGE };
  if (request.headers.expect !== undefined) response.writeContinue();
  const bytes = await readUpTo(request, MAX_BODY_BYTES);
  if (bytes === 'too_large') return { refused: TOO_LARGE };
  if (bytes === 'gone') return { refused: NOT_JSON };
  try {
    return { value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) };
  } catch {
    return { refused: NOT_JSON };
  }
}

/** For routes without a body: forms of other pages send a body of another type, which is refused. */
function refuseOtherType(request: IncomingMessage): Refusal | null {
  const { headers } = request;
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  return (hasBody || headers['content-type'] !== undefined) && !isJson(request) ? WRONG_TYPE : null;
}

function isJson({ headers }: IncomingMessage): boolean {
  return /^application\/json\s*(?:;|$)/i.test(headers['content-type'] ?? '');
}

/**
 * A body that is too large is read to its end and dropped, up to a limit: closing the connection while the client sends would reset it and
 * lose the answer.
 */
async function readUpTo(request: IncomingMessage, maxBytes: number): Promise<Buffer | 'too_large' | 'gone'> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      bytes += (chunk as Buffer).length;
      if (bytes > MAX_DISCARDED_BYTES) return 'too_large';
      if (bytes <= maxBytes) chunks.push(chunk as Buffer);
    }
  } catch {
    return 'gone';
  }
  return bytes > maxBytes ? 'too_large' : Buffer.concat(chunks);
}

const WRONG_TYPE = refusal(
  415,
  'unsupported_media_type',
  'The body must be JSON. Send Content-Type: application/json.',
);
const TOO_LARGE = refusal(413, 'too_large', `The body may have at most ${MAX_BODY_BYTES} bytes.`);
const NOT_JSON = refusal(400, 'bad_request', 'The body is not valid JSON in UTF-8.');

/** The page may only talk to this server. */
const PAGE_POLICY = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/**
 * Proves that this server knows its tokens, before a client sends one of them. `leadsHere`: for other hosts a program on another address could
 * pass on the proof.
 */
export function proofRoute(tokens: readonly string[], leadsHere: (request: IncomingMessage) => boolean): Route {
  let provers: Promise<readonly Prover[]> | null = null;
  return {
    method: 'GET',
    path: '/api/v1/proof',
    needs: 'public',
    answer: async (c) => {
      const nonce = c.req.query('nonce') ?? '';
      if (!isNonce(nonce)) return BAD_NONCE;
      if (!leadsHere(c.env.incoming as IncomingMessage)) return WRONG_HOST;
      provers ??= Promise.all(tokens.map(createProver));
      // The guard has checked that this host is ours.
      const host = c.req.header('host') ?? '';
      const proofs = await Promise.all((await provers).map((prove) => prove(host, nonce)));
      return { status: 200, body: { proofs } };
    },
  };
}

const WRONG_HOST = refusal(
  421,
  'misdirected',
  'This name may lead to a program of another account. Use the address that `baton open` prints.',
);
const BAD_NONCE = refusal(400, 'INVALID_REQUEST', 'nonce must have 32 hexadecimal digits.');

/** The page is public: it has no data and requests everything from the API. */
function pageRoutes(files: PageFiles): readonly Route[] {
  const routes = [...files].map(([path, file]): Route => {
    return { method: 'GET', path, needs: 'public', answer: () => fileAnswer(path, file) };
  });
  return files.has('/') ? routes : [{ method: 'GET', path: '/', needs: 'public', answer: () => NOT_BUILT }];
}

function fileAnswer(path: string, { type, bytes }: PageFile): ApiResponse {
  // The names of assets contain a hash of their content.
  const caching = path === '/' ? 'no-cache' : 'public, max-age=31536000, immutable';
  return {
    status: 200,
    text: bytes,
    headers: { 'content-type': type, 'content-security-policy': PAGE_POLICY, 'cache-control': caching },
  };
}

const NOT_BUILT = refusal(503, 'not_built', 'The page is not built. Run npm run build. The API works without it.');
