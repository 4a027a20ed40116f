import { createHash } from 'node:crypto';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { BatonError } from '../../../src/domain/errors.js';
import type { Json, JsonObject } from '../../../src/domain/json.js';
import type { Service, ServiceName } from '../../../src/domain/steps/plan.js';
import { type HttpBody, HttpClient, HttpFault } from '../../../src/http/client.js';
import type { StepContext } from '../executor.js';
import { errorTextOf, type Mask, maskOf, readJson, shown, withoutToken } from './response-text.js';
import { StepStopped } from './step-calls.js';

interface Call {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: URL;
  readonly body?: JsonObject;
  readonly idempotencyKey?: string | null;
  readonly signal: AbortSignal;
}

export interface ServiceResponse {
  readonly status: number;
  readonly body: Json;
  readonly location: string | null;
}

interface RawAnswer extends HttpBody {
  readonly status: number;
  readonly location: string | null;
}

/** Every call uses a new connection. */
const CLIENT = new HttpClient();
const MAX_BODY_BYTES = 10 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;
const MAX_MESSAGE = 2_000;

/**
 * One service of `services:`, called with the token of the runner and for the tenant. Throws `BatonError`s of one of two codes:
 * SERVICE_UNAVAILABLE may be retried, SERVICE_REJECTED may not. `details.status` is set when the service answered.
 */
export class ServiceClient {
  readonly service: Service;
  readonly mask: Mask;
  readonly #access: ServiceAccess;
  readonly #context: StepContext;

  /** Throws `BatonError` when the service, its tenant or its token is not configured. */
  constructor(name: ServiceName, context: StepContext) {
    this.#access = accessTo(name, context);
    this.#context = context;
    this.service = this.#access.service;
    this.mask = maskOf(this.#access.token);
  }

  /** Throws `BatonError` for a part that cannot be a path segment, such as `..`. */
  url(...parts: readonly string[]): URL {
    return urlBelow(this.#access.base, parts);
  }

  /** The URL of a `Location` header. Throws `BatonError` when it is outside of the service. */
  location(written: string, from: URL): URL {
    const url = locationBelow(this.#access.base, written, from);
    if (url !== null) return url;
    throw this.fault('SERVICE_REJECTED', 'sent a Location outside its base_url: the token must not travel there');
  }

  /** Returns the JSON of a 2xx response and throws for any other. */
  async request(call: Call): Promise<ServiceResponse> {
    const progress = () => this.#context.emit({ type: 'progress', openItems: 0 });
    progress();
    const { status, bytes, fault, location } = await this.#send(call, progress);
    if (fault !== null) throw this.#refused(call, `answered ${status} with more than ${MAX_BODY_BYTES} bytes`, status);
    const reading = readJson(withoutToken(bytes, this.#access.token, this.mask));
    if (!reading.ok) throw this.#refused(call, `answered ${status}, and the answer ${reading.problem}`, status);
    return { status, body: reading.value, location };
  }

  /** For cleanup: ignores the body of the response and counts as no progress. Throws when the response is not a 2xx. */
  async notify(call: Call): Promise<void> {
    await this.#send(call, () => {});
  }

  /** `text` continues the name of the service. It may hold text of the service. */
  fault(code: 'SERVICE_REJECTED' | 'SERVICE_UNAVAILABLE' | 'CODE_FAILED', text: string, details = {}): BatonError {
    return new BatonError(code, shown(`services.${this.service.name} ${text}`, this.mask, MAX_MESSAGE), details);
  }

  /** Only the signal limits the time, since a long agent run or computation may be silent for long. */
  async #send(call: Call, onAnswer: () => void): Promise<RawAnswer> {
    const { method, url, body, signal } = call;
    const text = body === undefined ? null : JSON.stringify(body);
    try {
      const response = await CLIENT.send({ method, url, headers: this.#headers(call, text), body: text, signal });
      onAnswer();
      const { status, headers } = response;
      const read = await response.read(isGood(status) ? MAX_BODY_BYTES : MAX_ERROR_BYTES);
      // The text of an error may be cut.
      const isUsable = read.fault === null || read.fault.kind === 'too_long' || !isGood(status);
      if (read.fault?.kind === 'aborted' || !isUsable) throw read.fault;
      const answer = { status, location: headers.location ?? null, ...read };
      if (!isGood(status)) throw this.#badStatus(call, answer);
      return answer;
    } catch (error) {
      if (!(error instanceof HttpFault)) throw error;
      throw error.kind === 'aborted' ? new StepStopped() : this.#unreachable(call, error);
    }
  }

  #headers({ idempotencyKey }: Call, text: string | null): { readonly [name: string]: string } {
    return {
      ...this.#access.headers,
      Accept: 'application/json',
      // Otherwise a service may compress the response.
      'Accept-Encoding': 'identity',
      ...(text === null
        ? {}
        : { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(text)) }),
      ...(idempotencyKey ? { 'Idempotency-Key': headerKey(idempotencyKey) } : {}),
    };
  }

  #badStatus(call: Call, { status, bytes, fault }: RawAnswer): BatonError {
    if (status >= 300 && status < 400) {
      return this.#refused(call, `answered ${status}: redirects are refused, as the token must not travel`, status);
    }
    // A text that is cut may end in half of the token, which would not be masked.
    const safe = fault === null ? bytes : bytes.subarray(0, Math.max(0, bytes.length - this.#access.token.length));
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

  #unreachable(call: Call, { code, cause }: HttpFault): BatonError {
    const reason = code ?? (cause as Error).message;
    return this.fault('SERVICE_UNAVAILABLE', `${this.#nameOf(call)} failed at ${call.url.origin}: ${reason}`);
  }
}

const isGood = (status: number) => status >= 200 && status < 300;

const MAX_KEY_LENGTH = 255;

/** A key may hold characters that a header may not. It is only compared, so that a digest serves as well. */
function headerKey(key: string): string {
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(key) && key.length <= MAX_KEY_LENGTH;
  return isPlain ? key : `sha256-${createHash('sha256').update(key).digest('hex')}`;
}

/** Address and credentials of a service, checked completely before the first request. */
interface ServiceAccess {
  readonly service: Service;
  /** Without credentials, query, fragment and trailing slash. */
  readonly base: URL;
  readonly token: string;
  readonly headers: { readonly [name: string]: string };
}

/** Throws `BatonError` when a setting is missing or wrong. */
function accessTo(name: ServiceName, context: StepContext): ServiceAccess {
  const service = context.workflow.plan.services[name];
  if (service === null) throw unwired(name, context);
  const base = baseOf(service);
  const token = tokenOf(service, context);
  if (service.tenant.trim() === '') throw misconfigured(name, 'tenant', 'is empty: no call is made without one');
  if (service.workspaceHeader.toLowerCase() === service.tenantHeader.toLowerCase()) {
    throw misconfigured(name, 'workspace_header', 'is the header of the tenant');
  }
  const headers = {
    ...header(service, 'tenant_header', service.tenantHeader, 'tenant', service.tenant),
    ...(service.workspaceId === null
      ? {}
      : header(service, 'workspace_header', service.workspaceHeader, 'workspace_id', service.workspaceId)),
    Authorization: `Bearer ${token}`,
  };
  return { service, base, token, headers };
}

function unwired(name: ServiceName, { step }: StepContext): BatonError {
  const code = name === 'agents' ? 'UnwiredHttpTransport' : 'JobValidation';
  return new BatonError(code, `Step ${step.id} needs services.${name}, which is not set: give it a base_url`);
}

function baseOf({ name, baseUrl }: Service): URL {
  if (!URL.canParse(baseUrl)) throw misconfigured(name, 'base_url', 'is not a URL');
  const url = new URL(baseUrl);
  if (!/^https?:$/.test(url.protocol)) throw misconfigured(name, 'base_url', 'is neither http nor https');
  const base = new URL(url.origin);
  base.pathname = url.pathname.replace(/\/+$/, '');
  return base;
}

function tokenOf({ name, token: written }: Service, context: StepContext): string {
  const variable = /^\$([A-Za-z_]\w*)$/.exec(written)?.[1];
  const source = variable === undefined ? '' : `, which is $${variable},`;
  const token = context.secret(written)?.trim() ?? '';
  if (token === '') throw misconfigured(name, `token${source}`, 'is missing or empty: no call is made without one');
  if (!/^[\x21-\x7e]+$/.test(token))
    throw misconfigured(name, `token${source}`, 'has characters that no token can have');
  return token;
}

/** Headers that the client sets itself, and those that frame a message. */
const RESERVED =
  /^(?:authorization|accept|accept-encoding|content-type|content-length|connection|expect|host|idempotency-key|transfer-encoding|upgrade)$/i;

function header({ name }: Service, nameKey: string, headerName: string, valueKey: string, value: string) {
  if (RESERVED.test(headerName)) throw misconfigured(name, nameKey, 'names a header that has another use');
  try {
    validateHeaderName(headerName);
  } catch {
    throw misconfigured(name, nameKey, 'is not the name of a header');
  }
  try {
    validateHeaderValue(headerName, value);
  } catch {
    throw misconfigured(name, valueKey, 'has characters that cannot be sent');
  }
  return { [headerName]: value };
}

function misconfigured(name: ServiceName, key: string, problem: string): BatonError {
  return new BatonError('JobValidation', `services.${name}.${key} ${problem}`);
}

/** Throws `BatonError` when a part cannot be a path segment. */
function urlBelow(base: URL, parts: readonly string[]): URL {
  const unusable = parts.find((part) => !isPathPart(part));
  if (unusable !== undefined) {
    throw new BatonError('JobValidation', `${JSON.stringify(unusable)} cannot be part of a URL: give it another name`);
  }
  const url = new URL(base);
  url.pathname = `${base.pathname.replace(/\/$/, '')}/${parts.map(encodeURIComponent).join('/')}`;
  return url;
}

/** Dots mean a folder even when they are encoded; half a surrogate cannot be encoded. */
function isPathPart(part: string): boolean {
  return !/^\.{0,2}$/.test(part) && !/\p{Surrogate}/u.test(part);
}

/** The URL of a `Location`, or null when it is not on the same origin and below `base`. */
function locationBelow(base: URL, written: string, from: URL): URL | null {
  if (!URL.canParse(written, from.href)) return null;
  const url = new URL(written, from);
  const folder = `${base.pathname.replace(/\/$/, '')}/`;
  const isInside = url.origin === base.origin && url.pathname.startsWith(folder) && !climbs(url.pathname);
  if (!isInside || url.username !== '' || url.password !== '') return null;
  url.hash = '';
  return url;
}

/** `URL` has resolved plain dots. A server that decodes the path would resolve encoded slashes between dots. */
function climbs(pathname: string): boolean {
  try {
    return decodeURIComponent(pathname)
      .split(/[/\\]/)
      .some((part) => part === '..');
  } catch {
    return true;
  }
}

const MAX_ID_LENGTH = 200;

/** Whether the value is an id from a service that can be a path segment. */
export function isServiceId(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_ID_LENGTH && isPathPart(value);
}
