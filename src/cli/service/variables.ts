import { isAbsolute } from 'node:path';
import { BatonError } from '../../domain/errors.js';
import type { Scope } from './unit-text.js';

/** Of the environment in which a service is installed: what it needs later as well, and nothing that is secret. */
const KEPT = [
  ...['LANG', 'LC_ALL', 'TZ', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'all_proxy', 'no_proxy'],
  'NODE_USE_ENV_PROXY',
];

/** They say where things of this user are, and would be wrong for another. */
const KEPT_OF_USER = ['XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_STATE_HOME', 'XDG_CACHE_HOME', 'CODEX_HOME'];

/** Logins of agents: needed, but secret. */
const LOGINS = /^(?:CODEX|OPENAI|AZURE_OPENAI|ANTHROPIC|CLAUDE|GEMINI)_\w*(?:KEY|TOKEN)$/;

/** What goes into the unit, which everybody may read. */
export function unitVariables(env: NodeJS.ProcessEnv, scope: Scope): { readonly [name: string]: string } {
  const names = [...KEPT, ...(scope === 'user' ? KEPT_OF_USER : [])];
  const kept = names.flatMap((name): [string, string][] => {
    const value = env[name];
    return value === undefined || value === '' || hasPassword(value) || /\p{Cc}/u.test(value) ? [] : [[name, value]];
  });
  return { PATH: searchPath(env.PATH), ...Object.fromEntries(kept) };
}

/** Relative places would be looked for in the folder of the workflow, where agents may have written; npm adds some of its own. */
function searchPath(path: string | undefined): string {
  const folders = (path ?? '').split(':').filter((folder) => isAbsolute(folder) && !/\/node_modules\//.test(folder));
  if (folders.length > 0) return [...new Set(folders)].join(':');
  throw new BatonError('service_failed', 'PATH names no folder, and a service gets the PATH of today. Set it');
}

function hasPassword(value: string): boolean {
  return /\/\/[^/]*@/.test(value);
}

export interface WantedVariables {
  /** Secrets of the workflow that the file has not. */
  readonly missing: readonly string[];
  /** Set where the service is installed, but not where it will run; the workflow or its agent may need them. */
  readonly leftBehind: readonly string[];
}

export interface WantedFacts {
  readonly secretNames: readonly string[];
  /** `runtime.env_allow` and `hooks.env_allow`. */
  readonly allowed: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly unit: { readonly [name: string]: string };
  /** The text of the file; `null` when it cannot be read. */
  readonly file: string | null;
}

export function wantedVariables({ secretNames, allowed, env, unit, file }: WantedFacts): WantedVariables {
  if (file === null) return { missing: [], leftBehind: [] };
  const there = new Set([...Object.keys(unit), ...assignedNames(file)]);
  const missing = secretNames.filter((name) => !there.has(name));
  const isSet = (name: string) => (env[name] ?? '') !== '';
  const isWanted = (name: string) => allowed.includes(name) || LOGINS.test(name) || KEPT.includes(name);
  const leftBehind = Object.keys(env).filter(
    (name) => isSet(name) && isWanted(name) && !there.has(name) && !secretNames.includes(name),
  );
  return { missing, leftBehind };
}

/** The names that a file of EnvironmentFile gives a value. */
function assignedNames(file: string): string[] {
  return Array.from(
    file.matchAll(/^[ \t]*([A-Za-z_]\w*)[ \t]*=[ \t]*(?!["']?["']?[ \t]*$)\S/gm),
    ([, name]) => name ?? '',
  );
}

/** What such a file says at first. */
export function firstVariables(unit: string, restart: string, names: readonly string[]): string {
  return `${[
    `# Variables of ${unit}: lines of NAME=value, read when it starts. Secrets belong here and not into the unit,`,
    '# which everybody may read. Baton makes this file once and never changes it. After a change:',
    `#   ${restart}`,
    '',
    ...names.map((name) => `#${name}=`),
  ]
    .join('\n')
    .trimEnd()}\n`;
}
