import { BatonError } from '../../domain/errors.js';
import { type Fields, fieldsOf, textOf } from '../../domain/fields.js';
import type { RateLimit } from '../../domain/ports.js';
import { saidIn } from '../http/bad-status.js';
import { type HttpAnswer, type HttpReading, type HttpRequest, TrackerHttp } from '../http/tracker-http.js';
import type { JiraSettings } from './settings.js';
import { readJiraQuota } from './quota.js';

export const API = '/rest/api/3';

/** Jira over HTTP, below `/rest/api/3`. */
export class JiraApi {
  readonly #http: TrackerHttp;
  readonly #tokenFrom: string;
  readonly #mask: (text: string) => string;

  constructor(settings: JiraSettings, mask: (text: string) => string) {
    const { base, authorization, tokenFrom } = settings;
    this.#tokenFrom = tokenFrom;
    this.#mask = (text) => mask(withoutCredentials(text, authorization));
    this.#http = new TrackerHttp({
      ...{ name: 'Jira', base, tokenFrom, headers: { authorization } },
      readQuota: readJiraQuota,
      mask: this.#mask,
    });
  }

  mask(text: string): string {
    return this.#mask(text);
  }

  calls(signal: AbortSignal): JiraCalls {
    return new JiraCalls(this.#http.reading(signal), this.#tokenFrom, this.#mask);
  }

  close(): void {
    this.#http.close();
  }
}

/** The requests of one read or change. */
export class JiraCalls {
  #me: Fields | null = null;

  constructor(
    private readonly reading: HttpReading,
    private readonly tokenFrom: string,
    private readonly mask: (text: string) => string,
  ) {}

  get(path: string, accept: readonly number[] = []): Promise<HttpAnswer> {
    return this.ask({ path: `${API}${path}`, accept });
  }

  post(path: string, body: unknown, accept: readonly number[] = []): Promise<HttpAnswer> {
    return this.ask({ method: 'POST', path: `${API}${path}`, body, accept });
  }

  async ask(request: HttpRequest): Promise<HttpAnswer> {
    const answer = await this.reading.ask(request);
    // To a token that has expired Jira answers as to a stranger, with 200 and without issues.
    if (/FAILED|DENIED/i.test(String(answer.headers['x-seraph-loginreason'] ?? ''))) throw this.#stranger();
    return answer;
  }

  /** The account of the token. Throws `tracker_auth` when Jira does not know us: then nothing that it does not show is proven gone. */
  async whoAmI(): Promise<Fields> {
    if (this.#me !== null) return this.#me;
    const me = fieldsOf((await this.get('/myself')).body);
    if (textOf(me.accountId) === null) throw misshapen('the account of the token', 'has no accountId');
    this.#me = me;
    return me;
  }

  /** What Jira says about a refusal. */
  said({ body }: Pick<HttpAnswer, 'body'>): string {
    return body === null ? '' : saidIn(JSON.stringify(body), this.mask);
  }

  get rateLimit(): { readonly rateLimit?: RateLimit } {
    return this.reading.rateLimit;
  }

  #stranger(): BatonError {
    const message =
      `Jira does not accept the token of ${this.tokenFrom}: it is wrong, was revoked or has expired, or tracker.provider.email is another account's. ` +
      `Put a good token into ${this.tokenFrom} and restart.`;
    return new BatonError('tracker_auth', message, { status: 401 });
  }
}

/** An answer that is not what the documentation of Jira says. */
export function misshapen(what: string, problem: string): BatonError {
  const message = `Jira answered, but ${what} ${problem}. Check tracker.provider.endpoint, and whether a proxy is in between.`;
  return new BatonError('tracker_response', message);
}

/** The token alone is known to the mask; what is sent is the base64 of more than the token. */
function withoutCredentials(text: string, authorization: string): string {
  const sent = authorization.replace(/^\w+ /, '').replace(/=+$/, '');
  return text.replaceAll(sent, '***').replaceAll(encodeURIComponent(sent), '***');
}
