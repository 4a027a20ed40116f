import { createHash } from 'node:crypto';
import { BatonError } from '../../../src/domain/errors.js';
import type { Json, JsonObject } from '../../../src/domain/json.js';
import type { Service, ServiceName } from '../../../src/domain/steps/plan.js';
import type { StepContext } from '../executor.js';
import { errorTextOf, type Mask, maskOf, shown, withoutToken } from './error-text.js';
import { exchange, type RawAnswer } from './exchange.js';
import { readJson } from './read-json.js';
import { accessTo, type ServiceAccess } from './service-access.js';
import { locationBelow, urlBelow } from './service-url.js';
import { StepStopped } from './answers.js';

/**
 * What the HTTP kinds share: one service, spoken to as the runner and for the tenant. Errors are `BatonError`s of one of two classes:
 * SERVICE_UNAVAILABLE may be tried again, SERVICE_REJECTED may not. `details.status` is there when the service answered.
 */
export interface Call {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: URL;
  readonly body?: JsonObject;
  readonly idempotencyKey?: string | null;
  readonly signal: AbortSignal;
}

export interface Answer {
  readonly status: number;
  readonly body: Json;
  readonly location: string | null;
}

const MAX_BODY_BYTES = 10 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;
const MAX_MESSAGE = 2_000;

export class ServiceClient {
  readonly service: Service;
  readonly mask: Mask;
  readonly #access: ServiceAccess;
  readonly #context: StepContext;

  /** Throws `BatonError` when there is no such service, or no tenant or token for it. */
  constructor(name: ServiceName, context: StepContext) {
    this.#access = accessTo(name, context);
    this.#context = context;
    this.service = this.#access.service;
    this.mask = maskOf(this.#access.token);
  }

  /** Throws `BatonError` for a part that cannot stand in a path, such as `..`. */
  url(...parts: readonly string[]): URL {
    return urlBelow(this.#access.base, parts);
  }

  /** Where a `Location` leads, if it is a place of this service. */
  location(written: string, from: URL): URL {
    const url = locationBelow(this.#access.base, written, from);
    if (url !== null) return url;
    throw this.fault('SERVICE_REJECTED', 'sent a Location outside its base_url: the token must not travel there');
  }

  /** The JSON of a 2xx. Throws everything else. */
  async ask(call: Call): Promise<Answer> {
    const progress = () => this.#context.emit({ type: 'progress', openItems: 0 });
    progress();
    const { status, body, isWhole, location } = await this.#send(call, progress);
    if (!isWhole) throw this.#refused(call, `answered ${status} with more than ${MAX_BODY_BYTES} bytes`, status);
    const reading = readJson(withoutToken(body, this.#access.token, this.mask));
    if (!reading.ok) throw this.#refused(call, `answered ${status}, and the answer ${reading.problem}`, status);
    return { status, body: reading.value, location };
  }

  /** For last words, whose answer says nothing, and which are no progress of any step. Throws when it is not a 2xx. */
  async tell(call: Call): Promise<void> {
    await this.#send(call, () => {});
  }

  /** `text` goes on from the name of the service. What the service wrote may stand in it. */
  fault(code: 'SERVICE_REJECTED' | 'SERVICE_UNAVAILABLE' | 'CODE_FAILED', text: string, details = {}): BatonError {
    return new BatonError(code, shown(`services.${this.service.name} ${text}`, this.mask, MAX_MESSAGE), details);
  }

  async #send(call: Call, onAnswer: () => void): Promise<RawAnswer> {
    const { method, url, body, signal } = call;
    const text = body === undefined ? null : JSON.stringify(body);
    const answer = await exchange({
      method,
      url,
      headers: this.#headers(call, text),
      body: text,
      signal,
      maxBytes: (status) => (isGood(status) ? MAX_BODY_BYTES : MAX_ERROR_BYTES),
      onAnswer,
    }).catch((error) => {
      throw error instanceof StepStopped ? error : this.#unreachable(call, error);
    });
    if (isGood(answer.status)) return answer;
    throw this.#badStatus(call, answer);
  }

  #headers({ idempotencyKey }: Call, text: string | null): { readonly [name: string]: string } {
    return {
      ...this.#access.headers,
      Accept: 'application/json',
      // Without it a service may compress what it sends.
      'Accept-Encoding': 'identity',
      ...(text === null
        ? {}
        : { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(text)) }),
      ...(idempotencyKey ? { 'Idempotency-Key': headerKey(idempotencyKey) } : {}),
    };
  }

  #badStatus(call: Call, { status, body, isWhole }: RawAnswer): BatonError {
    if (status >= 300 && status < 400) {
      return this.#refused(call, `answered ${status}: redirects are refused, as the token must not travel`, status);
    }
    // Where the text breaks off, so may a token that it repeats, and half of it would not be masked.
    const safe = isWhole ? body : body.subarray(0, Math.max(0, body.length - this.#access.token.length));
    const text = shown(errorTextOf(safe), this.mask);
    const code = status >= 500 && status < 600 ? 'SERVICE_UNAVAILABLE' : 'SERVICE_REJECTED';
    return this.fault(code, `${this.#nameOf(call)} answered ${status}${text === '' ? '' : `: ${text}`}`, { status });
  }

  #refused(call: Call, text: string, status: number): BatonError {
    return this.fault('SERVICE_REJECTED', `${this.#nameOf(call)} ${text}`, { status });
  }

  #nameOf({ method, url }: Call): string {
    return `${method} ${shown(url.pathname, this.mask, 300)}`;
  }

  #unreachable(call: Call, error: unknown): BatonError {
    const { code, message } = error as NodeJS.ErrnoException;
    return this.fault('SERVICE_UNAVAILABLE', `${this.#nameOf(call)} failed at ${call.url.origin}: ${code ?? message}`);
  }
}

const isGood = (status: number) => status >= 200 && status < 300;

const MAX_KEY_LENGTH = 255;

/** A key may hold anything, a header may not. It stands for itself alone, so that a digest of it does as well. */
function headerKey(key: string): string {
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(key) && key.length <= MAX_KEY_LENGTH;
  return isPlain ? key : `sha256-${createHash('sha256').update(key).digest('hex')}`;
}
