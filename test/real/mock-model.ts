import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Item, type Reply, respond, say } from './mock-replies.js';

/** A request of codex to its model. */
export interface ModelRequest {
  /** The issue that the thread is about; `null` when no script knows it. */
  readonly issue: string | null;
  readonly apiKey: string | null;
  readonly tools: readonly string[];
  readonly input: readonly Item[];
}

/**
 * A model service on loopback with scripted replies. Each issue has its own script, one reply per request, and
 * is known by its identifier in the text, so that several issues can run at once. A `refusal` comes before all scripts and uses
 * up none of their replies, as a service does that lets nobody in.
 */
export class MockModel {
  readonly requests: ModelRequest[] = [];
  readonly refused: ModelRequest[] = [];
  /** Requests without a scripted reply: an error of the test or of the product. */
  readonly unscripted: ModelRequest[] = [];
  refusal: (() => Reply) | null = null;
  readonly #scripts = new Map<string, Reply[]>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: Error) => response.destroy(error));
    });
  }

  static async start(): Promise<MockModel> {
    const model = new MockModel();
    await new Promise<void>((resolve) => model.#server.listen(0, '127.0.0.1', resolve));
    return model;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  script(issue: string, ...replies: Reply[]): void {
    this.#scripts.set(issue, [...(this.#scripts.get(issue) ?? []), ...replies]);
  }

  requestsOf(issue: string): readonly ModelRequest[] {
    return this.requests.filter((request) => request.issue === issue);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(message);
    if (message.method !== 'POST' || message.url !== '/v1/responses') {
      response.writeHead(404).end();
      return;
    }
    const request = this.#parse(body, message.headers.authorization);
    if (this.refusal) {
      this.refused.push(request);
      return respond(response, this.refusal());
    }
    this.requests.push(request);
    const reply = this.#scripts.get(request.issue ?? '')?.shift();
    if (!reply) this.unscripted.push(request);
    await respond(response, reply ?? say('Nothing was written for this request.'));
  }

  #parse(body: string, authorization: string | undefined): ModelRequest {
    const { input, tools } = JSON.parse(body) as { input: Item[]; tools: { name?: string; type: string }[] };
    const text = input.map(textOf).join('\n');
    const isNamed = (identifier: string) => new RegExp(`(?<![\\w-])${identifier}(?![\\w-])`).test(text);
    return {
      issue: [...this.#scripts.keys()].find(isNamed) ?? null,
      apiKey: authorization?.replace(/^Bearer /, '') ?? null,
      tools: tools.map(({ name, type }) => name ?? type),
      input,
    };
  }
}

/** Everything that people and we said to the model in this item. */
export function textOf(item: Item): string {
  return item.type === 'message' ? (item.content ?? []).map(({ text }) => text ?? '').join('\n') : '';
}

/** The results of the model's tool calls, oldest first. */
export function toolOutputs(request: ModelRequest | undefined): string[] {
  const outputs = (request?.input ?? []).filter(({ type }) => type === 'function_call_output');
  return outputs.map(({ output }) => plainText(output));
}

function plainText(output: unknown): string {
  return typeof output === 'string' ? output : JSON.stringify(output);
}

async function bodyOf(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
