import type { IncomingMessage } from 'node:http';
import { type SseEvent, SseParser } from '../../api/sse-parser.js';
import { badAnswer } from './api-error.js';
import { bodyOf, type Line, parsedAnswer, send } from './socket-request.js';

export interface StreamEvent {
  readonly event: string;
  readonly id: string | null;
  readonly data: unknown;
}

/** Ends when the stream ends, however it does: whoever wants more asks again, with the id of the last event. */
export async function* eventsOf(line: Line, path: string, lastEventId?: string): AsyncGenerator<StreamEvent, void> {
  const headers = {
    accept: 'text/event-stream',
    ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
  };
  const response = await send(line, { method: 'GET', path, headers });
  if (response.statusCode !== 200) {
    const text = await bodyOf(response, line.limits);
    throw badAnswer(`the daemon answered ${response.statusCode} instead of a stream: ${text.slice(0, 200)}`);
  }
  // From here on a daemon that is gone is the end of the stream, and no failure.
  const silence = setTimeout(() => response.destroy(), line.limits.silenceMs);
  try {
    for await (const events of readEvents(response)) {
      for (const { event, id, data } of events) yield { event, id, data: parsedAnswer(data) };
      silence.refresh();
    }
  } finally {
    clearTimeout(silence);
    response.destroy();
  }
}

async function* readEvents(response: IncomingMessage): AsyncGenerator<SseEvent[], void> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const parser = new SseParser();
  const chunks = (response as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  for (;;) {
    const chunk = await chunks.next().catch(() => null);
    if (chunk === null || chunk.done) return;
    let events: SseEvent[];
    try {
      events = parser.push(decoder.decode(chunk.value, { stream: true }));
    } catch (error) {
      throw badAnswer(`the daemon sent a stream that cannot be read: ${(error as Error).message}`, error);
    }
    yield events;
  }
}
