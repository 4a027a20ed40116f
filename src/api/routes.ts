import { createReadStream } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';
import type { HttpBindings } from '@hono/node-server';
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
import { type PageFiles, pageRoutes } from './page-files.js';
import { answerRequestShape, type IssueView, messageRequestShape, type Stats, type Timeline } from './schemas.js';
import { type Feed, StreamClient } from './stream.js';

/** What the routes ask the daemon. */
export interface StatusSource extends ReadSource {
  readonly control: ControlSource;
  /** `/api/capability/…`; `null`: there is nothing of it. */
  readonly capabilities: CapabilitySource | null;
  readonly page: PageFiles;
  /** The last hand on every JSON text before it leaves: secrets masked, control characters escaped. */
  clean(json: string): string;
  onError(error: unknown): void;
}

type App = Hono<{ Bindings: HttpBindings }>;

/** `isOwner`: asked over the socket; `more`: routes that only this way of asking has. */
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
    return send(c, refusal(405, 'method_not_allowed', `${c.req.method} is not possible here, only ${allow}.`));
  };
  const routes = [
    ...more,
    ...readRoutes(source, isOwner),
    ...controlRoutes(source.control),
    ...(source.capabilities ? capabilityRoutes(source.capabilities) : []),
    ...pageRoutes(source.page),
  ];
  for (const { method, path, needs = method === 'GET' ? 'read' : 'full', answer } of routes) {
    app.on(method, path, async (c) => {
      if (isEnough(accessOf(c), needs)) return send(c, await answer(c));
      c.header('www-authenticate', 'Bearer');
      return send(c, needs === 'full' ? NEEDS_TOKEN : NEEDS_TOKEN_TO_READ);
    });
  }
  const methodsOf = new Map<string, Set<string>>();
  for (const { method, path } of routes) methodsOf.set(path, (methodsOf.get(path) ?? new Set()).add(method));
  for (const [path, methods] of methodsOf) app.all(path, (c) => refuse(c, [...methods].sort()));
  app.notFound((c) => send(c, refusal(404, 'not_found', 'There is nothing here. docs/http.md lists what there is.')));
  app.onError((error, c) => {
    source.onError(error);
    return send(c, refusal(500, 'internal_error', 'Baton failed to answer. The log says why.'));
  });
  return app;
}

const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8' };
const RANK: { readonly [access in Access]: number } = { public: 0, read: 1, full: 2 };

function isEnough(has: Access, needs: Access): boolean {
  return RANK[has] >= RANK[needs];
}

const HOW =
  'send Authorization: Bearer <token>. `baton open` prints the address of the page with it; for scripts it is in the file http-token of the state directory, or what server.token says';
const NEEDS_TOKEN = refusal(401, 'unauthorized', `This changes something and needs the token: ${HOW}.`);
const NEEDS_TOKEN_TO_READ = refusal(401, 'unauthorized', `server.token is set, so that looking needs it too: ${HOW}.`);

/** What can be looked at. Nothing here changes anything. */
interface ReadSource {
  /** `GET /api/v1/state`, cleaned: those who ask at the same time share it. */
  stateText(): string;
  /** `null`: no such issue is known. */
  issue(name: string): Promise<IssueView | null>;
  /** `null`: no such run of that issue. */
  timeline(name: string, runId: string | null): Promise<Timeline | null>;
  /** Where the transcript of a run lies; `null`: no such run of that issue, or nothing was written down. */
  transcript(name: string, runId: string | null): Promise<string | null>;
  stats(days: number): Promise<Stats>;
  readonly feed: Feed;
  /** In the format of Prometheus. */
  metrics(): Promise<{ readonly text: string; readonly type: string }>;
  /** Why the daemon cannot work yet or now; `null`: it can. */
  notReady(): string | null;
}

/** `isOwner`: over the socket, where the daemon's own user asks. */
function readRoutes(source: ReadSource, isOwner: boolean): readonly Route[] {
  const reads = (path: string, answer: Route['answer']): Route => ({ method: 'GET', path, answer });
  return [
    { ...reads('/healthz', () => OK), needs: 'public' },
    {
      ...reads('/readyz', () => {
        const reason = source.notReady();
        return reason === null ? OK : refusal(503, 'not_ready', reason);
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
    reads('/api/v1/events', (c) => stream(c, source.feed, isOwner)),
    ...ISSUE_PATHS.flatMap((path) => issueRoutes(path, source)),
  ];
}

/** The first is for issues whose name is a word of the API. */
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

const MAX_DAYS = 400;
const OK: ApiResponse = { status: 200, body: { status: 'ok' } };
const BAD_DAYS = refusal(400, 'INVALID_REQUEST', `days must be a whole number from 1 to ${MAX_DAYS}.`);
const TOO_MANY = refusal(
  503,
  'too_many_streams',
  'Too many readers follow the stream. Close some pages, or ask for /api/v1/state.',
);

function unknownIssue(name: string): ApiResponse {
  const message = `No issue ${name} is claimed, among the candidates of the last poll, or known from earlier runs.`;
  return refusal(404, 'issue_not_found', message);
}

function unknownRun(name: string): ApiResponse {
  return refusal(404, 'run_not_found', `Nothing was written down of such a run of ${name}.`);
}

function stream(c: RouteContext, feed: Feed, isOwner: boolean): ApiResponse {
  if (c.req.method === 'HEAD') return { status: 200, text: '', headers: { 'content-type': 'text/event-stream' } };
  if (feed.isFull(isOwner)) return TOO_MANY;
  const client = new StreamClient(c.env.outgoing as ConstructorParameters<typeof StreamClient>[0]);
  const issue = c.req.query('issue') ?? null;
  feed.join(client, {
    issue: issue === '' ? null : issue,
    lastEventId: c.req.header('last-event-id') ?? null,
    isOwner,
  });
  return 'sent';
}

/** Masked when it was written. */
function sendFile(c: RouteContext, path: string): ApiResponse {
  const { outgoing } = c.env;
  if (c.req.method === 'HEAD') return { status: 200, text: '', headers: JSON_LINES };
  outgoing.writeHead(200, JSON_LINES);
  // Whoever breaks off closes the file too.
  pipeline(createReadStream(path), outgoing, () => {});
  return 'sent';
}

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };
const JSON_LINES = { 'content-type': 'application/x-ndjson; charset=utf-8' };

/** What can be asked of the daemon. */
interface ControlSource {
  state(): State;
  now(): Instant;
  readonly dispatch: Dispatch;
  /** Settles once everything so far is stored; `false`: it could not be. */
  stored(): Promise<boolean>;
}

/** What people ask for. Each is looked at against the state of this moment, and what makes no sense is refused with its reason. */
function controlRoutes(source: ControlSource): readonly Route[] {
  const changes = (path: string, answer: Route['answer']): Route => ({ method: 'POST', path, answer });
  const accept = async (event: OrchestratorEvent, message: string): Promise<ApiResponse> => {
    source.dispatch(event);
    const isSafe = await source.stored();
    return { status: 202, body: { accepted: true, message: isSafe ? message : `${message} ${NOT_SAFE}` } };
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
      const refused = otherType(c);
      if (refused === null) source.dispatch({ type: 'refresh_requested' });
      return refused ?? { status: 202, body: { ...answer, requested_at: isoTime(source.now().wallMs) } };
    }),
    changes('/api/v1/pause', (c) => otherType(c) ?? accept({ type: 'pause_requested' }, PAUSED)),
    changes('/api/v1/resume', (c) => otherType(c) ?? accept({ type: 'resume_requested' }, RESUMED)),
    ...ISSUE_PATHS.flatMap((path) => [
      changes(`${path}/stop`, (c) => otherType(c) ?? act(c, { kind: 'stop' })),
      changes(`${path}/retry`, (c) => otherType(c) ?? act(c, { kind: 'retry' })),
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

const PAUSED = 'Nothing new is started until you resume; what runs goes on.';
const RESUMED = 'New work is started again.';
const NOT_SAFE = 'It could not be stored yet: should Baton be killed before it can be, it is forgotten.';

async function bodyOf<T>(c: RouteContext, shape: z.ZodType<T>): Promise<{ value: T } | { refused: ApiResponse }> {
  const body = await readJsonBody(c.env.incoming, c.env.outgoing);
  if ('refused' in body) return body;
  const parsed = shape.safeParse(body.value);
  if (parsed.success) return { value: parsed.data };
  const [first] = parsed.error.issues;
  const where = first?.path.length ? `${first.path.join('.')}: ` : '';
  return {
    refused: refusal(400, 'INVALID_REQUEST', `The body is not usable: ${where}${first?.message ?? 'unknown'}.`),
  };
}

function otherType(c: RouteContext): ApiResponse | null {
  return refuseOtherType(c.env.incoming);
}

/** What `/api/capability/…` asks the daemon. */
export interface CapabilitySource {
  /** What is at work now. */
  stats(): Json;
  /** Looks into the folders again, and says what there is. */
  refresh(): Promise<Json>;
  /** Makes the folder of an executor from what somebody sent. Throws `BatonError`: `INVALID_REQUEST` when that is no good. */
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
  /** What a request must be allowed. Without it: to look for GET, everything for POST. */
  readonly needs?: Access;
  answer(c: RouteContext): ApiResponse | Promise<ApiResponse>;
}

export type RouteContext = Context<{ Bindings: HttpBindings }>;

/** JSON, a text of its own type, or nothing more to say because the route has answered by itself. */
export type ApiResponse =
  | { readonly status: ContentfulStatusCode; readonly body: Json }
  | {
      readonly status: ContentfulStatusCode;
      readonly text: string | Buffer;
      readonly headers: { readonly [name: string]: string };
    }
  | 'sent';

type Refusal = Extract<ApiResponse, { readonly body: Json }>;

/** `params`: the facts of the message, for programs. */
export function refusal(
  status: ContentfulStatusCode,
  code: string,
  message: string,
  params: JsonObject | null = null,
): Refusal {
  return { status, body: { error: { code, message, ...(params && { params }) } } };
}

const MAX_BODY_BYTES = 64 * 1024;
/** More than this is not even taken off the wire to answer in peace. */
const MAX_DISCARDED_BYTES = 1024 * 1024;

type JsonBody = { readonly value: unknown } | { readonly refused: Refusal };

/** The body of a request as JSON, or why it is none. How long it may take is a limit of the server: then the socket is gone. */
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

/** For a route that takes no body: that of another type, as forms of a page send it, is refused all the same. */
function refuseOtherType(request: IncomingMessage): Refusal | null {
  const { headers } = request;
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  return (hasBody || headers['content-type'] !== undefined) && !isJson(request) ? WRONG_TYPE : null;
}

function isJson({ headers }: IncomingMessage): boolean {
  return /^application\/json\s*(?:;|$)/i.test(headers['content-type'] ?? '');
}

/**
 * What is too large is read on for a while and dropped: a connection that is closed on a client that still sends is reset, and
 * its answer with it.
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
  'Only JSON is read here: send Content-Type: application/json.',
);
const TOO_LARGE = refusal(413, 'too_large', `A body has at most ${MAX_BODY_BYTES} bytes here.`);
const NOT_JSON = refusal(400, 'bad_request', 'The body is not valid JSON in UTF-8.');
