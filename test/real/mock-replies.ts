import type { ServerResponse } from 'node:http';

/** An item of a conversation in the Responses API, as far as these tests look at it. */
export interface Item {
  readonly type: string;
  readonly role?: string;
  readonly content?: readonly { readonly text?: string }[];
  readonly name?: string;
  readonly arguments?: string;
  readonly output?: unknown;
}

export type Reply =
  | { readonly kind: 'item'; readonly item: object }
  | {
      readonly kind: 'error';
      readonly status: number;
      readonly body: object;
      readonly headers?: { readonly [name: string]: string };
    }
  | { readonly kind: 'hang' };

let calls = 0;

/** The last message of a turn. */
export function say(text: string): Reply {
  const content = [{ type: 'output_text', text }];
  return { kind: 'item', item: { type: 'message', role: 'assistant', id: `msg_${++calls}`, content } };
}

export function call(name: string, args: object): Reply {
  const callId = `call_${++calls}`;
  return {
    kind: 'item',
    item: { type: 'function_call', id: `fc_${callId}`, call_id: callId, name, arguments: JSON.stringify(args) },
  };
}

/** A shell command, in the sandbox unless `more` asks for something else. */
export function run(cmd: string, more: object = {}): Reply {
  return call('exec_command', { cmd, ...more });
}

export function moveIssue(state: string, comment?: string): Reply {
  return call('update_issue', { state, ...(comment === undefined ? {} : { comment }) });
}

/** Starts a response and never finishes it. */
export const hang: Reply = { kind: 'hang' };

export const unauthorized: Reply = {
  kind: 'error',
  status: 401,
  body: { error: { message: 'Incorrect API key provided', type: 'invalid_request_error', code: 'invalid_api_key' } },
};

/** The quota is spent until then. */
export function usageLimit(resetsAtS: number): Reply {
  const error = { type: 'usage_limit_reached', message: 'The usage limit has been reached', plan_type: 'plus' };
  return {
    kind: 'error',
    status: 429,
    body: { error: { ...error, resets_at: resetsAtS } },
    headers: {
      'x-codex-primary-used-percent': '100',
      'x-codex-primary-window-minutes': '300',
      'x-codex-primary-reset-at': String(resetsAtS),
    },
  };
}

export function respond(response: ServerResponse, reply: Reply): void {
  if (reply.kind === 'error') {
    response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
    response.end(JSON.stringify(reply.body));
    return;
  }
  const id = `resp_${++calls}`;
  const send = (event: { readonly type: string; readonly [key: string]: unknown }) =>
    response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  send({ type: 'response.created', response: { id } });
  if (reply.kind === 'hang') return;
  send({ type: 'response.output_item.done', output_index: 0, item: reply.item });
  const usage = {
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 10,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 110,
  };
  send({ type: 'response.completed', response: { id, usage } });
  response.end();
}
