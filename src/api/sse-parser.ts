/** One event of a stream of server-sent events. */
export interface SseEvent {
  readonly event: string;
  /** The last id that the stream has named so far, by which it can be resumed; `null`: none yet. */
  readonly id: string | null;
  readonly data: string;
}

/** Whoever sends more in one event is not to be listened to. */
const MAX_EVENT_CHARS = 64 * 1024 * 1024;

/**
 * Reads a stream of server-sent events (text/event-stream) as it comes in, cut anywhere. It remembers three things: the line that has not
 * ended yet, the event that has not ended yet, and the last id. An event whose end never comes is never told.
 */
export class SseParser {
  #line: string[] = [];
  #data: string[] = [];
  #event = '';
  #id: string | null = null;
  #retryMs: number | null = null;
  #chars = 0;
  #afterReturn = false;
  #isFirst = true;

  /** How long to wait before the next try, where the stream said so. */
  get retryMs(): number | null {
    return this.#retryMs;
  }

  /** The events that end in this chunk. Throws `RangeError` when one grows without end. */
  push(chunk: string): SseEvent[] {
    const events: SseEvent[] = [];
    let text = chunk;
    if (this.#isFirst && text !== '') {
      this.#isFirst = false;
      if (text.startsWith('\ufeff')) text = text.slice(1);
    }
    // The other half of a line end that was cut in two.
    if (this.#afterReturn && text.startsWith('\n')) text = text.slice(1);
    if (chunk !== '') this.#afterReturn = false;
    let start = 0;
    for (const { index, 0: ending } of text.matchAll(/\r\n|\n|\r/g)) {
      this.#keep(text.slice(start, index));
      const event = this.#endLine();
      if (event) events.push(event);
      start = index + ending.length;
      if (ending === '\r' && start === text.length) this.#afterReturn = true;
    }
    this.#keep(text.slice(start));
    return events;
  }

  /** Parts are joined at the end of a line only: a long one may come in thousands of them. */
  #keep(part: string): void {
    if (part === '') return;
    this.#chars += part.length;
    if (this.#chars > MAX_EVENT_CHARS) throw new RangeError(`an event is longer than ${MAX_EVENT_CHARS} characters`);
    this.#line.push(part);
  }

  #endLine(): SseEvent | null {
    const line = this.#line.join('');
    this.#line = [];
    if (line === '') return this.#endEvent();
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') this.#data.push(value);
    else {
      this.#chars -= line.length;
      this.#take(field, value);
    }
    return null;
  }

  /** A line that begins with a colon has an empty field: a comment, which only shows that the other side is there. */
  #take(field: string, value: string): void {
    if (field === 'event') this.#event = value;
    if (field === 'id' && !value.includes('\0')) this.#id = value === '' ? null : value;
    if (field === 'retry' && /^\d+$/.test(value)) this.#retryMs = Number(value);
  }

  #endEvent(): SseEvent | null {
    const [data, event] = [this.#data, this.#event];
    this.#data = [];
    this.#event = '';
    this.#chars = 0;
    return data.length === 0 ? null : { event: event || 'message', id: this.#id, data: data.join('\n') };
  }
}
