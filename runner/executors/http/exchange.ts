import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { StepStopped } from './answers.js';

/**
 * One request and its answer, on a connection of its own that is closed before the promise settles. Nothing is followed, nothing is
 * repeated, nothing is decompressed, and no time limit but the signal applies: `fetch` gives up on its own after five minutes of
 * silence, which a long agent run or a long computation may well need.
 */
export interface Exchange {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: URL;
  readonly headers: { readonly [name: string]: string };
  readonly body: string | null;
  readonly signal: AbortSignal;
  /** How much of a body with this status is kept. */
  maxBytes(status: number): number;
  onAnswer(): void;
}

export interface RawAnswer {
  readonly status: number;
  readonly location: string | null;
  readonly body: Buffer;
  /** Nothing is missing at its end. */
  readonly isWhole: boolean;
}

/** Throws `StepStopped` on abort, else what the connection failed with. */
export function exchange(order: Exchange): Promise<RawAnswer> {
  const { method, url, headers, body, signal } = order;
  return new Promise((resolve, reject) => {
    if (signal.aborted) throw new StepStopped();
    const send = url.protocol === 'https:' ? requestHttps : requestHttp;
    const request = send(url, { method, headers, agent: false });
    const finish = (settle: () => void) => {
      signal.removeEventListener('abort', onAbort);
      request.destroy();
      settle();
    };
    const onAbort = () => finish(() => reject(new StepStopped()));
    const onError = (error: unknown) => finish(() => reject(error));
    // Once the answer has begun it says itself how it ends; the connection may well be gone before all of it is read.
    const onEarlyEnd = (error: unknown) => void (hasAnswer || onError(error));
    let hasAnswer = false;
    signal.addEventListener('abort', onAbort, { once: true });
    request.on('error', onEarlyEnd);
    request.on('close', () => onEarlyEnd(new Error('the connection was closed')));
    request.on('response', (response) => {
      hasAnswer = true;
      order.onAnswer();
      readAnswer(response, order).then((answer) => finish(() => resolve(answer)), onError);
    });
    request.end(body ?? undefined);
  });
}

async function readAnswer(response: IncomingMessage, order: Exchange): Promise<RawAnswer> {
  // Heard by the loop below; this one is for what comes after it.
  response.on('error', () => {});
  const status = response.statusCode ?? 0;
  const sink = new ByteSink(order.maxBytes(status));
  const isGood = status >= 200 && status < 300;
  let isWhole = true;
  try {
    for await (const chunk of response) {
      isWhole = sink.push(chunk);
      if (!isWhole) break;
    }
  } catch (error) {
    // A refusal is one, however its explanation ends.
    if (isGood) throw error;
    isWhole = false;
  }
  return { status, location: response.headers.location ?? null, body: sink.bytes(), isWhole };
}

/** Gathers bytes up to a cap. It copies them: a million chunks of one byte cost a million bytes and not a million buffers. */
class ByteSink {
  #buffer = Buffer.alloc(4 * 1024);
  #length = 0;

  constructor(private readonly maxBytes: number) {}

  /** False when not all of it fits. */
  push(chunk: Buffer): boolean {
    const wanted = this.#length + chunk.length;
    this.#reserve(Math.min(wanted, this.maxBytes));
    this.#length += chunk.copy(this.#buffer, this.#length, 0, this.maxBytes - this.#length);
    return wanted <= this.maxBytes;
  }

  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  #reserve(bytes: number): void {
    if (bytes <= this.#buffer.length) return;
    const larger = Buffer.alloc(Math.max(bytes, this.#buffer.length * 2));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}
