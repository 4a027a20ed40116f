import { type Context, Hono } from 'hono';
import type { Json } from '../domain/json.js';

/** What the routes ask the daemon. Each is called once per request and must be quick. */
export interface StatusSource {
  /** `GET /api/v1/state`. */
  snapshot(): Json;
  /** `GET /api/v1/<identifier>`; `null`: no such issue is known. */
  issue(identifier: string): Json | null;
  /** `GET /readyz`: why the daemon cannot work yet or now; `null`: it can. */
  notReady(): string | null;
  /** The last hand on every JSON text before it leaves: secrets masked, control characters escaped. */
  clean(json: string): string;
  onError(error: unknown): void;
}

/** Read only: nothing that arrives here changes anything. */
export function createRoutes(source: StatusSource): Hono {
  const app = new Hono();
  const send = (c: Context, value: Json, status: 200 | 404 | 405 | 500 | 503 = 200) =>
    c.body(`${source.clean(JSON.stringify(value))}\n`, status, { 'content-type': 'application/json; charset=utf-8' });
  const routes: { readonly [path: string]: (c: Context) => Response } = {
    '/': (c) => c.text(INDEX),
    '/healthz': (c) => send(c, { status: 'ok' }),
    '/readyz': (c) => {
      const reason = source.notReady();
      return reason === null ? send(c, { status: 'ok' }) : send(c, errorBody('not_ready', reason), 503);
    },
    '/api/v1/state': (c) => send(c, source.snapshot()),
    '/api/v1/:identifier': (c) => {
      const identifier = c.req.param('identifier') ?? '';
      const found = source.issue(identifier);
      if (found !== null) return send(c, found);
      const message = `No issue ${identifier} is claimed or among the candidates of the last poll.`;
      return send(c, errorBody('issue_not_found', message), 404);
    },
  };
  for (const [path, handler] of Object.entries(routes)) {
    app.get(path, handler);
    app.all(path, (c) => {
      c.header('allow', 'GET, HEAD');
      return send(c, errorBody('method_not_allowed', `${c.req.method} is not possible here, only GET.`), 405);
    });
  }
  app.notFound((c) => send(c, errorBody('not_found', 'There is nothing here. GET / lists what there is.'), 404));
  app.onError((error, c) => {
    source.onError(error);
    return send(c, errorBody('internal_error', 'Baton failed to answer. The log says why.'), 500);
  });
  return app;
}

export function errorBody(code: string, message: string): Json {
  return { error: { code, message } };
}

const INDEX = `Baton

GET /api/v1/state         what runs, asks, waits, is parked or could start, and why nothing happens when nothing happens
GET /api/v1/<identifier>  one issue, with every rule that lets it run or keeps it from running
GET /healthz              200 while the daemon is alive
GET /readyz               200 once the tracker has been read and nothing is on hold, else 503 with the reason
`;
