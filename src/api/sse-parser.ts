import { createParser } from 'eventsource-parser';

/** One event of a stream of server-sent events. */
export interface SseEvent {
  readonly event: string;
  /** By which the stream can be resumed; `null` when this event has none. */
  readonly id: string | null;
  readonly data: string;
}

const MAX_EVENT_CHARS = 64 * 1024 * 1024;

/** Reads a stream of server-sent events from decoded chunks, which may be cut anywhere. */
export class SseParser {
  readonly #events: SseEvent[] = [];
  #retryMs: number | null = null;
  readonly #parser = createParser({
    onEvent: ({ event = 'message', id = null, data }) => this.#events.push({ event, id, data }),
    onRetry: (ms) => {
      this.#retryMs = ms;
    },
    // Unknown fields are skipped, as the specification says.
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') throw error;
    },
    maxBufferSize: MAX_EVENT_CHARS,
  });

  /** How long to wait before the next try, if the stream named a time. */
  get retryMs(): number | null {
    return this.#retryMs;
  }

  /** The events that end in this chunk. Throws when an event grows without end. */
  push(chunk: string): SseEvent[] {
    this.#parser.feed(chunk);
    return this.#events.splice(0);
  }
}
