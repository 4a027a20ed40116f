import { BatonError } from '../domain/errors.js';
import { isLoopback } from '../domain/host.js';
import type { Json } from '../domain/json.js';
import { nearestWord } from '../domain/nearest-word.js';
import type { TrackerOptions } from './registry.js';

export interface Token {
  readonly value: string;
  /** The name of the variable or the key that holds it. */
  readonly from: string;
}

/** `off`: the tracker has no raw tool. */
export type RawToolMode = 'off' | 'read_only' | 'on';

/**
 * The keys of `tracker.provider`. Throws `invalid_tracker_config` for invalid values, and `missing_tracker_secret` for a missing variable.
 */
export class ProviderSettings {
  readonly #options: Pick<TrackerOptions, 'config' | 'secret'>;
  /** The name under which each key is written. */
  readonly #names = new Map<string, string>();

  /** `aliases`: the names of OpenAI's Symphony for some of the keys. Everything below uses our own names. */
  constructor(
    options: Pick<TrackerOptions, 'config' | 'secret'>,
    keys: readonly string[],
    aliases: { readonly [alias: string]: string } = {},
  ) {
    this.#options = options;
    const { kind, provider } = options.config;
    for (const name of Object.keys(provider)) {
      const key = Object.hasOwn(aliases, name) ? (aliases[name] ?? name) : name;
      const other = this.#names.get(key);
      if (other !== undefined && provider[name] === null) continue;
      if (other !== undefined && provider[other] !== null) {
        const message = `tracker.provider.${other} and tracker.provider.${name} are the same setting. Remove one of them.`;
        throw new BatonError('invalid_tracker_config', message);
      }
      this.#names.set(key, name);
    }
    const unknown = [...this.#names.keys()].find((key) => !keys.includes(key));
    if (unknown === undefined) return;
    const near = nearestWord(unknown, keys);
    const hint = near === null ? `It takes: ${keys.join(', ')}.` : `Did you mean tracker.provider.${near}?`;
    const tracker = kind === 'local' ? 'the local tracker' : kind;
    throw new BatonError('invalid_tracker_config', `tracker.provider.${unknown} is no setting of ${tracker}. ${hint}`);
  }

  /**
   * `$NAME` stands for that variable, or for `instead` when it is not set. Without `instead` an unset variable is an error: a setting
   * that narrows the work must not be dropped because the daemon was started without its variables.
   */
  text(key: string, instead = ''): string | null {
    const written = this.#written(key);
    if (written === null) return null;
    if (typeof written !== 'string' && typeof written !== 'number') throw this.wrong(key, 'must be a text');
    const variable = variableIn(written);
    const named = variable === null ? String(written) : this.#options.secret(variable);
    const value = (named?.trim() || (variable === null ? '' : instead)).trim();
    if (/\p{Cc}/u.test(value)) throw this.wrong(key, 'holds control characters');
    if (value === '' && variable !== null) {
      const unset = `${this.nameOf(key)} stands for ${variable}, which is not set or empty. Set ${variable} where the daemon is started, or remove the key.`;
      throw new BatonError('missing_tracker_secret', unset, { variable });
    }
    return value === '' ? null : value;
  }

  /** The base address under `key`, or else `instead`. */
  endpoint(key: string, instead: string): URL {
    return endpointOf(this.text(key) ?? instead, this.nameOf(key));
  }

  /** The full name of a key, as the user wrote it. */
  nameOf(key: string): string {
    return `tracker.provider.${this.#names.get(key) ?? key}`;
  }

  /** `instead`: the value when the key, or the variable that it names, is not set; blank: none. */
  needText(key: string, example: string, instead = ''): string {
    const value = this.text(key, instead) ?? instead.trim();
    if (value !== '') return value;
    const { kind } = this.#options.config;
    const message = `${kind} needs tracker.provider.${key}: write for instance \`${key}: ${example}\`.`;
    throw new BatonError('invalid_tracker_config', message);
  }

  list(key: string): readonly string[] {
    const written = this.#written(key);
    if (written === null) return [];
    const items = Array.isArray(written) ? written : [written];
    return items.map((item) => {
      if ((typeof item !== 'string' && typeof item !== 'number') || String(item).trim() === '')
        throw this.wrong(key, 'must be a list of texts');
      return String(item).trim();
    });
  }

  map(key: string): ReadonlyMap<string, string> {
    const written = this.#written(key);
    if (written === null) return new Map();
    if (typeof written !== 'object' || Array.isArray(written)) throw this.wrong(key, 'must be a map of texts');
    return new Map(
      Object.entries(written).map(([name, value]) => {
        if (typeof value !== 'string' && typeof value !== 'number')
          throw this.wrong(`${key}.${name}`, 'must be a text');
        return [name, String(value)];
      }),
    );
  }

  isMap(key: string): boolean {
    const written = this.#written(key);
    return typeof written === 'object' && written !== null && !Array.isArray(written);
  }

  rawTool(fallback: RawToolMode): RawToolMode {
    const written = this.#written('raw_tool');
    if (written === null) return fallback;
    if (written === true || written === 'on') return 'on';
    if (written === false || written === 'off') return 'off';
    if (written === 'read_only') return 'read_only';
    throw this.wrong('raw_tool', 'must be true, false or read_only');
  }

  /**
   * The token under `key`, or else in the first of `variables` that is set. When `key` names a variable that is not set, in the first of
   * `instead`.
   */
  token(key: string, variables: readonly string[], instead: readonly string[] = []): Token {
    const given = String(this.#written(key) ?? '').trim();
    const variable = variableIn(given);
    const names = variable !== null ? [variable, ...instead] : given === '' ? variables : [];
    for (const name of names) {
      const value = this.#options.secret(name)?.trim();
      if (value) return this.#checked({ value, from: name });
    }
    if (given !== '' && variable === null) {
      return this.#checked({ value: given, from: this.nameOf(key) });
    }
    const { kind } = this.#options.config;
    const [name = key] = names;
    const other = variable === null ? `, or name another variable with tracker.provider.${key}: $NAME` : '';
    const message = `${kind} needs a token, and ${name} is not set or empty. Set ${name} where the daemon is started${other}.`;
    throw new BatonError('missing_tracker_secret', message, { variable: name });
  }

  wrong(key: string, problem: string): BatonError {
    const written = this.#written(key);
    const got = written === null || /token|key|secret|password/i.test(key) ? '' : `, got ${JSON.stringify(written)}`;
    return new BatonError('invalid_tracker_config', `${this.nameOf(key)} ${problem}${got}.`);
  }

  #checked(token: Token): Token {
    if (/^[\x21-\x7e]+$/.test(token.value)) return token;
    const message = `The token in ${token.from} has blanks or characters that cannot be sent. Copy it again.`;
    throw new BatonError('invalid_tracker_config', message);
  }

  #written(key: string): Json {
    const { provider } = this.#options.config;
    const name = this.#names.get(key);
    return name === undefined ? null : (provider[name] ?? null);
  }
}

/** The name in a value that is wholly `$NAME`. */
function variableIn(written: Json): string | null {
  return typeof written === 'string' ? (/^\$([A-Za-z_]\w*)$/.exec(written.trim())?.[1] ?? null) : null;
}

/** The base of a tracker's API, without query and trailing slash. Tokens are sent over https only, except to loopback. */
export function endpointOf(written: string, key: string): URL {
  if (!URL.canParse(written)) throw wrong(key, `is not a URL: write one such as https://tracker.example.org`);
  const url = new URL(written);
  if (url.username !== '' || url.password !== '') {
    throw wrong(key, 'holds a login: remove it, and set the token by its own key');
  }
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname))) {
    throw wrong(key, `begins with ${url.protocol}//: the token is sent over https only, except to this machine`);
  }
  const base = new URL(url.origin);
  base.pathname = url.pathname.replace(/\/+$/, '');
  return base;
}

function wrong(key: string, problem: string): BatonError {
  return new BatonError('invalid_tracker_config', `${key} ${problem}.`);
}
