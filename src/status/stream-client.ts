import type { ServerResponse } from 'node:http';

/** Who does not read is dropped: it comes back and is told what it has missed. */
const MAX_WAITING_BYTES = 4_000_000;

export interface StreamEvent {
  readonly event: string;
  /** `null`: nobody can ask for what came after it. */
  readonly id: string | null;
  /** JSON text on one line. */
  readonly json: string;
}

/** One reader of the stream: server-sent events over a response that stays open. */
export class StreamClient {
  readonly #response: ServerResponse;
  /** What a reader begins with may be large: it is not behind because it has not read that yet. */
  #allowance = 0;

  constructor(response: ServerResponse) {
    this.#response = response;
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      // A proxy that collects the answer would show nothing until it ends.
      'x-accel-buffering': 'no',
    });
    response.write('retry: 2000\n\n');
  }

  onClose(listener: () => void): void {
    this.#response.once('close', listener);
  }

  /** What everybody is told first. */
  begin(events: readonly StreamEvent[]): void {
    this.#allowance = Number.POSITIVE_INFINITY;
    for (const event of events) this.send(event);
    this.#allowance = this.#response.writableLength;
  }

  send({ event, id, json }: StreamEvent): void {
    this.#write(`event: ${event}\n${id === null ? '' : `id: ${id}\n`}data: ${json}\n\n`);
  }

  ping(): void {
    this.#write(': ping\n\n');
  }

  /** In order: what was sent before arrives. */
  end(): void {
    this.#response.end();
  }

  #write(text: string): void {
    if (this.#response.destroyed || this.#response.writableEnded) return;
    if (this.#response.writableLength > MAX_WAITING_BYTES + this.#allowance) this.#response.destroy();
    else this.#response.write(text);
  }
}
