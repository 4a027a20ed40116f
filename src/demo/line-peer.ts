import type { Readable, Writable } from 'node:stream';
import { type Fields, fieldsOf, textOf } from '../domain/json.js';

/**
 * The agent's end of the app-server protocol: one JSON object per line, without a `jsonrpc` member. Requests are answered in order. Lines
 * that are not messages are ignored, as codex does.
 */
export class LinePeer {
  readonly #waiting = new Map<number, (reply: Fields) => void>();
  /** Ids start at 0, as those of codex do. */
  #nextId = 0;
  #partial = '';

  constructor(
    input: Readable,
    private readonly output: Writable,
    private readonly handle: (method: string, params: Fields) => RequestResult,
  ) {
    input.setEncoding('utf8');
    input.on('data', (text: string) => this.#read(text));
  }

  notify(method: string, params: object): void {
    this.#send({ method, params, emittedAtMs: Date.now() });
  }

  /** Resolves to the whole reply, with its `result` or its `error`. */
  request(method: string, params: object): Promise<Fields> {
    const id = this.#nextId++;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#send({ id, method, params });
    });
  }

  // Not readline, which also ends a line at U+2028; JSON may contain that character.
  #read(text: string): void {
    const lines = (this.#partial + text).split('\n');
    this.#partial = lines.pop() ?? '';
    for (const line of lines) this.#receive(line);
  }

  #receive(line: string): void {
    const message = parse(line);
    const method = textOf(message.method);
    const { id } = message;
    if (method !== null && id !== undefined) this.#answer(id, method, fieldsOf(message.params));
    else if (method === null && typeof id === 'number') {
      this.#waiting.get(id)?.(message);
      this.#waiting.delete(id);
    }
  }

  #answer(id: unknown, method: string, params: Fields): void {
    try {
      const { result, after } = this.handle(method, params);
      this.#send({ id, result });
      after?.();
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      this.#send({ id, error: { code: error.code, message: error.message } });
    }
  }

  #send(message: object): void {
    this.output.write(`${JSON.stringify(message)}\n`);
  }
}

/** The reply to a request. `after` is called when the reply is sent. */
export interface RequestResult {
  readonly result: object;
  after?(): void;
}

/** A request that is answered with an error. Codex answers nearly all refused requests with −32600. */
export class RefusedError extends Error {
  readonly code = -32600;
}

function parse(line: string): Fields {
  try {
    return fieldsOf(JSON.parse(line));
  } catch {
    return {};
  }
}
