import type { HttpBindings } from '@hono/node-server';
import { Hono } from 'hono';
import type { Json } from '../domain/json.js';
import { bearsToken } from './bearer-token.js';
import { type CapabilitySource, capabilityRoutes } from './capability-routes.js';
import { type Answer, type Route, type RouteContext, refusal } from './route.js';

/** What the routes ask the daemon. Each is called once per request and must be quick. */
export interface StatusSource {
  /** `GET /api/v1/state`. */
  snapshot(): Json;
  /** `GET /api/v1/<identifier>`; `null`: no such issue is known. */
  issue(identifier: string): Json | null;
  /** `GET /readyz`: why the daemon cannot work yet or now; `null`: it can. */
  notReady(): string | null;
  /** `/api/capability/…`; `null`: there is nothing of it. */
  readonly capabilities: CapabilitySource | null;
  /** Whoever changes something shows it. */
  readonly token: string;
  /** The last hand on every JSON text before it leaves: secrets masked, control characters escaped. */
  clean(json: string): string;
  onError(error: unknown): void;
}

export function createRoutes(source: StatusSource): Hono<{ Bindings: HttpBindings }> {
  const app = new Hono<{ Bindings: HttpBindings }>();
  const send = (c: RouteContext, { status, body }: Answer) =>
    c.body(`${source.clean(JSON.stringify(body))}\n`, status, { 'content-type': 'application/json; charset=utf-8' });
  const refuse = (c: RouteContext, allow: string) => {
    c.header('allow', allow);
    const message = `${c.req.method} is not possible here, only ${allow.split(',')[0]}.`;
    return send(c, refusal(405, 'method_not_allowed', message));
  };
  app.get('/', (c) => c.text(source.capabilities ? `${INDEX}${CAPABILITY_INDEX}` : INDEX));
  app.all('/', (c) => refuse(c, READS));
  const routes = [...statusRoutes(source), ...(source.capabilities ? capabilityRoutes(source.capabilities) : [])];
  for (const { method, path, answer } of routes) {
    app.on(method, path, async (c) => {
      if (method === 'GET' || bearsToken(c.req.header('authorization'), source.token)) return send(c, await answer(c));
      c.header('www-authenticate', 'Bearer');
      return send(c, UNAUTHORIZED);
    });
    app.all(path, (c) => refuse(c, method === 'GET' ? READS : method));
  }
  app.notFound((c) => send(c, refusal(404, 'not_found', 'There is nothing here. GET / lists what there is.')));
  app.onError((error, c) => {
    source.onError(error);
    return send(c, refusal(500, 'internal_error', 'Baton failed to answer. The log says why.'));
  });
  return app;
}

function statusRoutes(source: StatusSource): readonly Route[] {
  const reads = (path: string, answer: Route['answer']): Route => ({ method: 'GET', path, answer });
  return [
    reads('/healthz', () => ({ status: 200, body: { status: 'ok' } })),
    reads('/readyz', () => {
      const reason = source.notReady();
      return reason === null ? { status: 200, body: { status: 'ok' } } : refusal(503, 'not_ready', reason);
    }),
    reads('/api/v1/state', () => ({ status: 200, body: source.snapshot() })),
    reads('/api/v1/:identifier', (c) => {
      const identifier = c.req.param('identifier') ?? '';
      const found = source.issue(identifier);
      if (found !== null) return { status: 200, body: found };
      const message = `No issue ${identifier} is claimed or among the candidates of the last poll.`;
      return refusal(404, 'issue_not_found', message);
    }),
  ];
}

const READS = 'GET, HEAD';

const UNAUTHORIZED = refusal(
  401,
  'unauthorized',
  'This changes something and needs the token: send Authorization: Bearer <token>, with the content of the file http-token in the state directory of the daemon.',
);

const INDEX = `Baton

GET  /api/v1/state                      what runs, asks, waits, is parked or could start, and why nothing happens when nothing happens
GET  /api/v1/<identifier>               one issue, with every rule that lets it run or keeps it from running
GET  /healthz                           200 while the daemon is alive
GET  /readyz                            200 once the tracker has been read and nothing is on hold, else 503 with the reason
`;

const CAPABILITY_INDEX = `GET  /api/capability/stats              capabilities that are at work
POST /api/capability/refresh            look again for executors and capabilities
POST /api/capability/executors/create   make the folder of a new executor

POST needs Authorization: Bearer <token>, with the content of http-token in the state directory.
`;
