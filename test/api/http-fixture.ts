import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { afterEach } from 'vitest';
import type { StatusSource } from '../../src/api/routes.js';
import { type HttpOptions, type HttpServer, startHttp } from '../../src/api/server.js';
import { Core } from '../support/core.js';
import { statusSource } from '../support/status-samples.js';

export const TOKEN = 'x'.repeat(43);
const open: HttpServer[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

type Started = Partial<Omit<HttpOptions, 'source'>> & { readonly source?: Partial<StatusSource>; readonly core?: Core };

/** A server on any free port, closed after the test. */
export async function start({ source = {}, core = new Core(), ...options }: Started = {}): Promise<HttpServer> {
  const served = statusSource(core, source);
  const server = await startHttp({
    ...{ host: '127.0.0.1', port: 0, allowedHosts: [], token: TOKEN, fixedToken: null },
    source: async () => served,
    onError: served.onError,
    ...options,
  });
  open.push(server);
  return server;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: what arrives has no type.
  readonly json: any;
}

type Target = { readonly port: number } | { readonly socketPath: string };

interface Request {
  readonly method?: string;
  readonly headers?: object;
  readonly body?: string | Buffer;
}

/** A request with the token. */
export function ask(server: Target, path: string, request: Request = {}): Promise<Answer> {
  return askAsStranger(server, path, { ...request, headers: { authorization: `Bearer ${TOKEN}`, ...request.headers } });
}

/** Not `fetch`: it will not send a Host or an Origin of our choice, and tidies paths. */
export function askAsStranger(server: Target, path: string, options: Request = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = options.headers as Record<string, string> | undefined;
    const sent = httpRequest({
      ...('port' in server ? { host: '127.0.0.1', port: server.port } : server),
      path,
      method: options.method ?? 'GET',
      headers: headers ?? {},
      // Every request on a connection of its own.
      agent: false,
    });
    sent.on('error', reject);
    sent.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          get json() {
            return JSON.parse(text);
          },
        }),
      );
    });
    sent.end(options.body);
  });
}
