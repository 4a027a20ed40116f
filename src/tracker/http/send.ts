import { isAscii, isUtf8 } from 'node:buffer';
import { Agent as HttpAgent, type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import type { BatonError } from '../../domain/errors.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

interface Order {
  readonly method: Method;
  readonly url: URL;
  readonly headers: { readonly [name: string]: string };
  readonly body: string | null;
  readonly signal: AbortSignal;
  readonly maxBytes: number;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Why there is no answer, for people; `message` goes on from "it …". */
export class NoAnswer extends Error {}

/** Within one read connections are used again. Servers close idle ones, and a request that crosses with that is lost: so we close them first. */
const IDLE_MS = 4_000;

/** A server from which nothing comes for so long has lost the question. A whole list may take longer: that is for the signal to end. */
const SILENCE_MS = 30_000;

/** Sends one request and reads its whole answer. Nothing is followed, repeated or waited for. */
export class Connections {
  readonly #http: HttpAgent;
  readonly #https: HttpsAgent;

  constructor(
    idleMs = IDLE_MS,
    private readonly silenceMs = SILENCE_MS,
  ) {
    const options = { keepAlive: true, maxSockets: 8, timeout: idleMs };
    this.#http = new HttpAgent(options);
    this.#https = new HttpsAgent(options);
  }

  /** Throws `NoAnswer`. */
  send(order: Order): Promise<RawAnswer> {
    const { method, url, headers, body, signal } = order;
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(new NoAnswer('was given up'));
      const isSecure = url.protocol === 'https:';
      const options = { method, headers, agent: isSecure ? this.#https : this.#http };
      const request = isSecure ? requestHttps(url, options) : requestHttp(url, options);
      const onAbort = () => fail(new NoAnswer('was given up'));
      const settle = () => signal.removeEventListener('abort', onAbort);
      const fail = (error: Error) => {
        settle();
        request.destroy();
        reject(error);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      request.setTimeout(this.silenceMs, () => fail(new NoAnswer(`was silent for ${this.silenceMs / 1000} s`)));
      request.on('error', (error: NodeJS.ErrnoException) => fail(unreachable(error)));
      request.on('response', (response) => {
        readAll(response, order.maxBytes).then((bytes) => {
          settle();
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: bytes });
        }, fail);
      });
      request.end(body ?? undefined);
    });
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }
}

function readAll(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const brokeOff = () => reject(new NoAnswer('broke off in the middle of its answer'));
    response.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > maxBytes) reject(new NoAnswer(`answered with more than ${maxBytes} bytes`));
      else chunks.push(chunk);
    });
    response.on('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length)));
    // Each comes without an end, or after it: then it says nothing new.
    response.on('error', brokeOff).on('close', brokeOff);
  });
}

/** The message of such an error names addresses and more; its code says enough. */
function unreachable(error: NodeJS.ErrnoException): NoAnswer {
  const code = /^[A-Z][A-Z0-9_]{2,60}$/.test(error.code ?? '') ? error.code : 'no connection';
  return new NoAnswer(`could not be reached (${code})`);
}

/** The body as JSON; `null` for none. `fault` makes the error from what is wrong, which goes on from "the answer …". */
export function readJsonBody(body: Buffer, fault: (problem: string) => BatonError): unknown {
  if (body.length === 0) return null;
  const text = textOf(body);
  try {
    if (text !== null) return JSON.parse(text);
  } catch {
    // Told below.
  }
  throw fault('is not JSON: check the address of the tracker, and whether a proxy or a login page is in between');
}

/** `null`: not UTF-8. Looking first is cheaper than a decoder that fails: most of a large board is plain ASCII. */
function textOf(body: Buffer): string | null {
  if (isAscii(body)) return body.toString('latin1');
  // Some servers mark the order of bytes, which JSON does not know.
  return isUtf8(body) ? body.toString('utf8').replace(/^\ufeff/, '') : null;
}
