import type { Config } from '../src/domain/config.js';

/** The inputs for the environment of a process that Baton starts. Names are exact; lists of allowed names may contain `*` globs. */
export interface EnvironmentRequest {
  /** The daemon's own environment. */
  readonly base: { readonly [name: string]: string | undefined };
  /** `runtime.env` */
  readonly policy: 'allowlist' | 'inherit';
  /** `runtime.env_allow` */
  readonly allow: readonly string[];
  /** `hooks.env_allow` */
  readonly hookAllow: readonly string[];
  /** Variables that hold secrets of the tracker. */
  readonly secretNames: readonly string[];
  /** Variables that Baton adds: `BATON_*`, `TMPDIR`. They win over all others. */
  readonly extra: { readonly [name: string]: string };
}

/** The settings that decide about environments. */
export interface EnvironmentSettings {
  readonly config: {
    readonly runtime: Pick<Config['runtime'], 'env' | 'envAllow'>;
    readonly hooks: Pick<Config['hooks'], 'envAllow'>;
  };
  readonly secretNames: readonly string[];
}

export interface Environment {
  readonly env: { readonly [name: string]: string };
  /** Unset again after the login shell has read its profile. */
  readonly unset: readonly string[];
}

const COMMON = [
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LC_*', 'TERM', 'TZ'],
  ...['XDG_CONFIG_HOME', 'XDG_CONFIG_DIRS', 'XDG_DATA_HOME', 'XDG_DATA_DIRS', 'XDG_CACHE_HOME', 'XDG_STATE_HOME'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'FTP_PROXY', 'ALL_PROXY', 'NO_PROXY'],
  ...['http_proxy', 'https_proxy', 'ftp_proxy', 'all_proxy', 'no_proxy'],
  ...['SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE', 'PIP_CERT'],
  ...['CARGO_HTTP_CAINFO', 'NVM_*', 'PYENV_*', 'MISE_*', 'ASDF_*', 'VOLTA_HOME', 'PNPM_HOME', 'BUN_INSTALL'],
  ...['CARGO_HOME', 'RUSTUP_HOME', 'GOPATH', 'JAVA_HOME', 'NIX_*'],
];

/**
 * Keys of the user. Hooks need them for ssh remotes, signatures and `gh`; an agent could sign with them. The ways to the user's services
 * (DOCKER_HOST, DBUS_SESSION_BUS_ADDRESS, XDG_RUNTIME_DIR) lead out of every sandbox, and GIT_* makes git run programs: no process gets
 * them unless the workflow names them.
 */
const HOOK_ONLY = ['SSH_AUTH_SOCK', 'GNUPGHOME', 'GH_CONFIG_DIR'];

/** Logins of agents, with `*` globs. Hooks do not get them, and neither do the commands that Codex runs. */
export const AGENT_LOGINS = ['CODEX_*', 'OPENAI_*', 'AZURE_OPENAI_*', 'ANTHROPIC_*', 'CLAUDE_*', 'GEMINI_*'];

/** Passed only when named exactly, never by a glob or by `inherit`: code that runs in every child, and git's pointers to another repository. */
const BY_NAME_ONLY = [
  ...[
    'BASH_ENV',
    'ENV',
    'BASH_FUNC_*',
    'SHELLOPTS',
    'BASHOPTS',
    'PROMPT_COMMAND',
    'PS4',
    'IFS',
    'CDPATH',
    'GLOBIGNORE',
  ],
  ...['LD_PRELOAD', 'LD_AUDIT', 'DYLD_*', 'GCONV_PATH', 'NODE_OPTIONS', 'NODE_REPL_EXTERNAL_MODULE'],
  ...['PYTHONSTARTUP', 'PERL5OPT', 'PERL5DB', 'RUBYOPT', 'JAVA_TOOL_OPTIONS', '_JAVA_OPTIONS'],
  ...['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_COMMON_DIR', 'GIT_OBJECT_DIRECTORY', 'GIT_NAMESPACE'],
  ...['GIT_ALTERNATE_OBJECT_DIRECTORIES', 'GIT_PREFIX', 'GIT_IMPLICIT_WORK_TREE', 'GIT_SHALLOW_FILE', 'GIT_GRAFT_FILE'],
];

/** The daemon's channel to systemd. Never passed on, even when the workflow names it: no child may report the daemon as healthy. */
const NEVER = [
  ...['NOTIFY_SOCKET', 'BATON_NOTIFY_FD', 'WATCHDOG_USEC', 'WATCHDOG_PID', 'SYSTEMD_EXEC_PID'],
  ...['LISTEN_FDS', 'LISTEN_PID', 'LISTEN_FDNAMES'],
];

export function agentEnvironment(
  { config, secretNames }: EnvironmentSettings,
  base: EnvironmentRequest['base'],
  extra: EnvironmentRequest['extra'],
): Environment {
  const { env: policy, envAllow: allow } = config.runtime;
  return environmentFor('agent', { base, policy, allow, hookAllow: [], secretNames, extra });
}

export function hookEnvironment(
  { config, secretNames }: EnvironmentSettings,
  base: EnvironmentRequest['base'],
  extra: EnvironmentRequest['extra'],
): Environment {
  const { env: policy, envAllow: allow } = config.runtime;
  return environmentFor('hook', { base, policy, allow, hookAllow: config.hooks.envAllow, secretNames, extra });
}

/** The whole environment of an agent or a hook. `spawnContained` checks that a process can be started with it. */
export function environmentFor(kind: 'agent' | 'hook', request: EnvironmentRequest): Environment {
  const { base, secretNames, hookAllow, extra } = request;
  const passes = passRule(kind, request);
  const env: { [name: string]: string } = Object.create(null);
  for (const [name, value] of Object.entries(base)) {
    if (value !== undefined && passes(name)) env[name] = value;
  }
  for (const [name, value] of Object.entries(extra)) env[name] = value;
  const unset = secretNames.filter((name) => isShellName(name) && !(kind === 'hook' && hookAllow.includes(name)));
  return { env: { ...env }, unset: [...new Set(unset)] };
}

function passRule(kind: 'agent' | 'hook', request: EnvironmentRequest): (name: string) => boolean {
  const { policy, allow, hookAllow, secretNames } = request;
  const named = new Set(kind === 'hook' ? [...allow, ...hookAllow] : allow);
  const isAllowed = matcher([...named, ...COMMON, ...(kind === 'agent' ? AGENT_LOGINS : HOOK_ONLY)]);
  const isAllowedByWorkflow = matcher([...named]);
  const isAgentOnly = matcher(AGENT_LOGINS);
  const isByNameOnly = matcher(BY_NAME_ONLY);
  const isOurs = matcher(['BATON_*']);
  return (name) => {
    if (NEVER.includes(name)) return false;
    if (secretNames.includes(name)) return kind === 'hook' && hookAllow.includes(name);
    if (kind === 'hook' && isAgentOnly(name)) return hookAllow.includes(name);
    if (isByNameOnly(name)) return named.has(name);
    // The variables of an outer Baton describe its run, not ours.
    if (isOurs(name)) return isAllowedByWorkflow(name);
    return policy === 'inherit' || isAllowed(name);
  };
}

function matcher(patterns: readonly string[]): (name: string) => boolean {
  const sources = patterns.map((pattern) => pattern.split(/\*+/).map(escapeRegExp).join('.*'));
  const expression = new RegExp(`^(?:${sources.join('|')})$`, 's');
  return (name) => patterns.length > 0 && expression.test(name);
}

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

function isShellName(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
}
