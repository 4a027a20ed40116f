import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { Json } from '../../src/domain/json.js';

export interface ServiceCall {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: what arrives has no type.
  readonly body: any;
}

export interface Services {
  readonly url: string;
  readonly calls: readonly ServiceCall[];
}

/** Gateway, tools, sandbox and agents behind one loopback address, following their protocol. An agent takes two polls; the tool `slow` never answers. */
export async function startServices(): Promise<Services> {
  const calls: ServiceCall[] = [];
  let polls = 0;
  const answers: { readonly [route: string]: (call: ServiceCall) => [number, Json] | null } = {
    'POST /v1/chat/completions': ({ body }) => [
      200,
      {
        id: 'c',
        model: `${body.model}-used`,
        choices: [{ index: 0, message: { role: 'assistant', content: `plan for ${body.messages[0].content}` } }],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      },
    ],
    'GET /v1/tools/owners/schema': () => [200, { type: 'object', required: ['files'] }],
    'POST /v1/tools/owners/invoke': ({ body }) => [
      200,
      { output: { files: ['a.ts', 'b.ts'], asked: body.args }, duration_ms: 1 },
    ],
    'GET /v1/tools/slow/schema': () => [200, {}],
    'POST /v1/tools/slow/invoke': () => null,
    'POST /v1/sandbox/sessions': () => [200, { id: 'session-1' }],
    'POST /v1/sandbox/sessions/session-1/exec': ({ body }) => [
      200,
      {
        exec_id: 'e',
        exit_code: 0,
        stdout: `ran ${body.code} on ${body.stdin}`,
        stderr: '',
        duration_ms: 3,
        oom: false,
        killed_reason: '',
      },
    ],
    'DELETE /v1/sandbox/sessions/session-1': () => [200, {}],
    'POST /v1/agents/critic/run': () => [202, { run_id: 'r1' }],
    'GET /v1/agents/critic/runs/r1': () =>
      ++polls < 2
        ? [200, { status: 'running' }]
        : [200, { status: 'completed', output: 'fine', stop_reason: 'approved' }],
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const { method = '', url: path = '', headers } = request;
      const call = { method, path, headers, body: text === '' ? null : JSON.parse(text) };
      calls.push(call);
      const answer = answers[`${method} ${path}`];
      const [status, body] = answer ? (answer(call) ?? []) : [404, { error: { message: `no ${method} ${path}` } }];
      if (status === undefined) return; // It never answers.
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls };
}
