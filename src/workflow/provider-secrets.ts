import type { Config } from '../domain/config.js';
import type { Json, JsonObject } from '../domain/json.js';
import { formatPath, type KeyPath } from './positions.js';
import { SETTINGS, settingValue } from './schema.js';

const REFERENCE = /^\$([A-Za-z_][A-Za-z0-9_]*)$/;
const SECRET_KEY = /(token|api[_-]?key|secret|password|passphrase|authorization)$/i;
/** What people also call the variables of a tracker's program that let it in: BOARD_PAT, MY_KEY. */
const SECRET_VARIABLE = /(?:^|_)(?:key|pat|auth|pass|pwd|credentials?)$/i;

/** Variables that hold the secret of a tracker even when WORKFLOW.md does not name them. */
const WELL_KNOWN: ReadonlyMap<string, readonly string[]> = new Map([
  ['linear', ['LINEAR_API_KEY']],
  ['github', ['GITHUB_TOKEN', 'GH_TOKEN']],
  ['gitlab', ['GITLAB_TOKEN']],
  ['jira', ['JIRA_API_TOKEN']],
  ['redmine', ['REDMINE_API_KEY']],
]);

export interface ProviderSecrets {
  /** Names of variables that must be kept from agents and hooks. */
  readonly names: readonly string[];
  /** Secrets that stand in the file itself, and the keys that hold them. */
  readonly literals: readonly { readonly path: KeyPath; readonly value: string }[];
}

/** The name in a value that is wholly `$NAME`; null for any other value. */
export function variableName(value: unknown): string | null {
  return typeof value === 'string' ? (REFERENCE.exec(value.trim())?.[1] ?? null) : null;
}

/** What a provider value stands for: `$NAME` is that variable, anything else is itself; an empty one is missing. */
export function resolveSecret(value: Json | undefined, env: NodeJS.ProcessEnv): string | null {
  if (value === null || value === undefined || typeof value === 'object') return null;
  const name = variableName(value);
  const resolved = name === null ? String(value) : env[name];
  return resolved === undefined || resolved.trim() === '' ? null : resolved;
}

/** Does the name of a setting or variable say that it holds a secret? */
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
