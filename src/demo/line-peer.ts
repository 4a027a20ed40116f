import type { Readable, Writable } from 'node:stream';
import { type Fields, fieldsOf, textOf } from '../domain/fields.js';

/**
 * One end of the app-server protocol: one JSON object per line, no `jsonrpc` member. Requests are answered in the order in
 * which they come; a line that is no message is passed over, as codex does.
 */
export class LinePeer {
  readonly #waiting = new Map<number, (reply: Fields) => void>();
  /** Ids start at 0, as with the real one. */
  #nextId = 0;
  #rest = '';

  constructor(
    input: Readable,
    private readonly output: Writable,
    private readonly handle: (method: string, params: Fields) => Handled,
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

  // Not readline: that ends a line at U+2028 too, which JSON leaves as it is.
  #read(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#take(line);
  }

  #take(line: string): void {
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

/** The reply to a request, and what is to be done once it is sent. */
export interface Handled {
  readonly result: object;
  after?(): void;
}

/** A request that is answered with an error. −32600 is what codex says to nearly everything that it does not want. */
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
