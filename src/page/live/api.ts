import { containsProof, createNonce, createProver, type Prover, proofPath } from '../../api/proof.js';

/** Access to the API. Addresses are relative to the page, so that it works under a path of a proxy. */
export interface ApiAccess {
  /** The address of the page. */
  readonly base: string;
  /** `null`: the page was not opened with `baton open`, and can request nothing. */
  readonly token: string | null;
}

/** A failed request. The message is for a person. */
export class ApiError extends Error {
  /** 0: no answer. */
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
  }
}

export const issuePath = (identifier: string, rest = ''): string =>
  `api/v1/issues/${encodeURIComponent(identifier)}${rest}`;
export const runPath = (identifier: string, what: 'timeline' | 'transcript', runId: string): string =>
  issuePath(identifier, `/${what}?run=${encodeURIComponent(runId)}`);
export const eventsPath = (identifier: string | null): string =>
  identifier === null ? 'api/v1/events' : `api/v1/events?issue=${encodeURIComponent(identifier)}`;

export async function getJson<T>(access: ApiAccess, path: string, signal?: AbortSignal): Promise<T> {
  const answer = await request(access, path, signal ? { signal } : {});
  return (await answer.json()) as T;
}

export async function postJson<T>(access: ApiAccess, path: string, body?: object): Promise<T> {
  const sent =
    body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  const answer = await request(access, path, { method: 'POST', ...sent });
  return (await answer.json()) as T;
}

/** Throws `ApiError` unless the request succeeds. */
export async function request({ base, token }: ApiAccess, path: string, init: RequestInit = {}): Promise<Response> {
  if (token === null) throw new ApiError(401, 'no_token', 'This page has no token.');
  await requireProof(base, token, init.signal);
  const headers = new Headers(init.headers);
  headers.set('authorization', `Bearer ${token}`);
  return send(new URL(path, base), { ...init, headers });
}

async function send(url: URL, init: RequestInit): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(url, { ...init, redirect: 'error' });
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    throw new ApiError(0, 'unreachable', 'The daemon does not answer.');
  }
  if (answer.ok) return answer;
  throw await refusalOf(answer);
}

/**
 * The daemon of this token may have ended, and another program may have taken its port. So every request that carries the token comes after
 * a proof. Browsers have Web Crypto on loopback and over HTTPS; on any other connection the network can read the token anyway.
 */
async function requireProof(base: string, token: string, signal?: AbortSignal | null): Promise<void> {
  if (!('subtle' in crypto)) return;
  const nonce = createNonce();
  const answer = await send(new URL(proofPath(nonce), base), { signal: signal ?? null });
  const shown: unknown = await answer.json().catch(() => null);
  const prove = await proverOf(token);
  if (containsProof(shown, await prove(new URL(base).host, nonce))) return;
  throw new ApiError(401, 'other_daemon', OTHER_DAEMON);
}

const OTHER_DAEMON =
  'The daemon was started again, or another program has taken its port. Run `baton open` again and use the page that it opens.';

/** Making one takes a moment, and the page has one token at a time. */
let lastProver: { readonly token: string; readonly prover: Promise<Prover> } | null = null;

function proverOf(token: string): Promise<Prover> {
  if (lastProver?.token !== token) lastProver = { token, prover: createProver(token) };
  return lastProver.prover;
}

async function refusalOf(answer: Response): Promise<ApiError> {
  const fallback = `The daemon answered with ${answer.status} ${answer.statusText}`.trim();
  try {
    const { error } = (await answer.json()) as { error: { code: string; message: string } };
    return new ApiError(answer.status, String(error.code), String(error.message));
  } catch {
    return new ApiError(answer.status, 'unreadable', `${fallback}.`);
  }
}

/** The token comes in the fragment of the address that `baton open` opens, which browsers do not send to servers. */
interface TokenSource {
  /** `location.hash`. */
  readonly hash: string;
  /** `sessionStorage`, which ends with the tab. */
  readonly storage: Storage;
  /** Removes the token from the address bar and the history. */
  replaceHash(hash: string): void;
}

interface Storage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
}

const KEY = 'baton.token';

/** The token of this tab, or `null`. A token in the address replaces it and is removed from the address at once. */
export function takeToken({ hash, storage, replaceHash }: TokenSource): string | null {
  const given = tokenIn(hash);
  if (given !== null) {
    replaceHash('#/');
    attempt(() => storage.setItem(KEY, given));
    return given;
  }
  return attempt(() => storage.getItem(KEY)) ?? null;
}

export function tokenIn(hash: string): string | null {
  const [, token] = /^#token=([^&]+)$/.exec(hash) ?? [];
  return token === undefined ? null : attempt(() => decodeURIComponent(token));
}

/** A browser may forbid storage; then the token lasts as long as the page. An invalid encoding is not a token. */
function attempt<T>(action: () => T): T | null {
  try {
    return action();
  } catch {
    return null;
  }
}
