import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
import type { Access } from './access.js';
import { type CapabilitySource, capabilityRoutes } from '../status/capability-routes.js';
import { type ControlSource, controlRoutes } from '../status/control-routes.js';
import type { PageFiles } from '../status/page-files.js';
import { pageRoutes } from './page-routes.js';
import { type ReadSource, readRoutes } from '../status/read-routes.js';
import { type Answer, type Route, type RouteContext, refusal } from './route.js';

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
  const send = (c: RouteContext, answer: Answer) => {
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
