import type { Config } from '../domain/config.js';
import type { Json, JsonObject } from '../domain/json.js';
import { formatPath, type KeyPath } from './positions.js';
import { SETTINGS, settingValue } from './schema.js';

const REFERENCE = /^\$([A-Za-z_][A-Za-z0-9_]*)$/;
/** Names that users choose, such as variables and undeclared keys of a provider. Our own settings declare `secret`. */
const SECRET_KEY = /(token|api[_-]?key|secret|password|passphrase|authorization)$/i;
/** Further names of secret variables of a tracker's program: BOARD_PAT, MY_KEY. */
const SECRET_VARIABLE = /(?:^|_)(?:key|pat|auth|pass|pwd|credentials?)$/i;

/** The usual variables of each tracker, which are secret even if WORKFLOW.md does not name them. */
const WELL_KNOWN: ReadonlyMap<string, readonly string[]> = new Map([
  ['linear', ['LINEAR_API_KEY']],
  ['github', ['GITHUB_TOKEN', 'GH_TOKEN']],
  ['gitlab', ['GITLAB_TOKEN', 'GITLAB_PAT']],
  ['jira', ['JIRA_API_TOKEN']],
  ['redmine', ['REDMINE_API_KEY']],
]);

export interface ProviderSecrets {
  /** Variables that agents and hooks must not get. */
  readonly names: readonly string[];
  /** Secrets in the file itself, with their keys. */
  readonly literals: readonly { readonly path: KeyPath; readonly value: string }[];
}

/** The name if the whole value is `$NAME`, else null. */
export function variableName(value: unknown): string | null {
  return typeof value === 'string' ? (REFERENCE.exec(value.trim())?.[1] ?? null) : null;
}

/** The value itself, or that of the variable for `$NAME`; null when it is empty. */
export function resolveSecret(value: Json | undefined, env: NodeJS.ProcessEnv): string | null {
  if (value === null || value === undefined || typeof value === 'object') return null;
  const name = variableName(value);
  const resolved = name === null ? String(value) : env[name];
  return resolved === undefined || resolved.trim() === '' ? null : resolved;
}

/** Does the name of a variable of this machine suggest a secret? Wider than `isSecretKey`, which is about keys of settings. */
export function isSecretName(name: string): boolean {
  return SECRET_KEY.test(name) || SECRET_VARIABLE.test(name);
}

/** Does the name of a variable suggest a secret? */
export function isSecretKey(key: string): boolean {
  return SECRET_KEY.test(key);
}

export function findProviderSecrets(kind: string, provider: JsonObject): ProviderSecrets {
  const names = new Set(WELL_KNOWN.get(kind) ?? []);
  const literals: { path: KeyPath; value: string }[] = [];
  for (const { path, value } of leaves(provider, ['tracker', 'provider'])) {
    const name = variableName(value);
    if (name !== null) {
      names.add(name);
      continue;
    }
    const secret = literalSecret(path, value);
    if (secret !== null) literals.push({ path, value: secret });
  }
  return { names: [...names], literals };
}

/** Secrets of the daemon's own settings, such as the URL of a webhook, which lets anyone write into a channel. */
export function findOwnSecrets(config: Config): ProviderSecrets {
  const secrets = SETTINGS.filter(({ secret }) => secret).map((setting) => ({
    path: setting.path,
    value: settingValue(config, setting),
  }));
  const names = secrets.flatMap(({ value }) => variableName(value) ?? []);
  const literals = secrets.flatMap(({ path, value }) =>
    typeof value !== 'string' || variableName(value) !== null ? [] : [{ path, value: value.trim() }],
  );
  return { names, literals };
}

export function literalSecretWarning(path: KeyPath, value: string): string {
  const braces = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/.exec(value);
  if (braces) return `${formatPath(path)} is taken literally; write $${braces[1]} for the variable`;
  return `${formatPath(path)} holds a secret in the file; put it in a variable and write $NAME here`;
}

function literalSecret(path: KeyPath, value: Json): string | null {
  if ((typeof value !== 'string' && typeof value !== 'number') || String(value).trim() === '') return null;
  if (isHeldBySecretKey(path)) return String(value);
  return typeof value === 'string' && URL.canParse(value) ? passwordOf(new URL(value)) : null;
}

function isHeldBySecretKey(path: KeyPath): boolean {
  const [, , key, variable] = path;
  if (key === 'env' && typeof variable === 'string' && SECRET_VARIABLE.test(variable)) return true;
  return path.some((part) => typeof part === 'string' && isSecretKey(part));
}

function passwordOf(url: URL): string | null {
  if (url.password === '') return null;
  try {
    return decodeURIComponent(url.password);
  } catch {
    return url.password;
  }
}

function* leaves(value: Json, path: KeyPath): Generator<{ path: KeyPath; value: Json }> {
  if (typeof value !== 'object' || value === null) {
    yield { path, value };
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) yield* leaves(item, [...path, index]);
  } else {
    for (const [key, item] of Object.entries(value)) yield* leaves(item, [...path, key]);
  }
}
