import { isAbsolute } from 'node:path';
import { BatonError } from '../../domain/errors.js';
import type { Scope } from './unit-text.js';

/** Variables of the installing user that the service needs, too. None is secret. */
const COMMON = [
  ...['LANG', 'LC_ALL', 'TZ', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'all_proxy', 'no_proxy'],
  'NODE_USE_ENV_PROXY',
];

/** Folders of this user, wrong for a service of another user. */
const USER_FOLDERS = ['XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME', 'XDG_CACHE_HOME', 'CODEX_HOME'];

/** Logins of agents, which are secret. */
const LOGINS = /^(?:CODEX|OPENAI|AZURE_OPENAI|ANTHROPIC|CLAUDE|GEMINI)_\w*(?:KEY|TOKEN)$/;

/** The variables of the unit, which every user can read. */
export function unitVariables(env: NodeJS.ProcessEnv, scope: Scope): { readonly [name: string]: string } {
  const names = [...COMMON, ...(scope === 'user' ? USER_FOLDERS : [])];
  const kept = names.flatMap((name): [string, string][] => {
    const value = env[name];
    return value === undefined || value === '' || hasPassword(value) || /\p{Cc}/u.test(value) ? [] : [[name, value]];
  });
  return { PATH: searchPath(env.PATH), ...Object.fromEntries(kept) };
}

/** Without relative folders, which would lie in the folder of the workflow, where agents may write, and without those of npm. */
function searchPath(path: string | undefined): string {
  const folders = (path ?? '').split(':').filter((folder) => isAbsolute(folder) && !/\/node_modules\//.test(folder));
  if (folders.length > 0) return [...new Set(folders)].join(':');
  throw new BatonError('service_failed', 'PATH contains no folder, and the service gets the present PATH. Set it');
}

function hasPassword(value: string): boolean {
  return /\/\/[^/]*@/.test(value);
}

export interface WantedVariables {
  /** Secrets of the workflow that the file lacks. */
  readonly missing: readonly string[];
  /** Set here but not for the service; the workflow or its agent may need them. */
  readonly leftBehind: readonly string[];
}

export interface WantedFacts {
  readonly secretNames: readonly string[];
  /** `runtime.env_allow` and `hooks.env_allow`. */
  readonly allowed: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly unit: { readonly [name: string]: string };
  /** The text of the file; null when it cannot be read. */
  readonly file: string | null;
}

export function wantedVariables({ secretNames, allowed, env, unit, file }: WantedFacts): WantedVariables {
  if (file === null) return { missing: [], leftBehind: [] };
  const there = new Set([...Object.keys(unit), ...assignedNames(file)]);
  const missing = secretNames.filter((name) => !there.has(name));
  const isSet = (name: string) => (env[name] ?? '') !== '';
  const isWanted = (name: string) => allowed.includes(name) || LOGINS.test(name) || COMMON.includes(name);
  const leftBehind = Object.keys(env).filter(
    (name) => isSet(name) && isWanted(name) && !there.has(name) && !secretNames.includes(name),
  );
  return { missing, leftBehind };
}

/** The variables with a value in a file of EnvironmentFile. */
function assignedNames(file: string): string[] {
  return Array.from(
    file.matchAll(/^[ \t]*([A-Za-z_]\w*)[ \t]*=[ \t]*(?!["']?["']?[ \t]*$)\S/gm),
    ([, name]) => name ?? '',
  );
}

/** The text of a new file of variables. */
export function firstVariables(unit: string, restart: string, names: readonly string[]): string {
  return `${[
    `# Variables of ${unit}: lines of NAME=value, read when it starts. Secrets belong here and not into the unit,`,
    '# which every user can read. Baton creates this file once and never changes it. After a change:',
    `#   ${restart}`,
    '',
    ...names.map((name) => `#${name}=`),
  ]
    .join('\n')
    .trimEnd()}\n`;
}
