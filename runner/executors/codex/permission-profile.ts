import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import type { JsonObject } from '../../../src/domain/json.js';
import { isAtOrBelow } from '../../contain/hidden-directories.js';
import { isInside } from '../../workspace/workspace-path.js';

/** The name of our profile, in `thread/start` and in its reply. A user's own profile of this name would be merged with it. */
export const PROFILE = 'baton-workspace';

export interface ProfileFacts {
  /** The environment of the agent's process. Toolchains are found by it. */
  readonly env: { readonly [name: string]: string | undefined };
  /** Programs of the agent: Codex starts itself again inside its sandbox. */
  readonly programs: readonly string[];
  /** Real paths. */
  readonly workspace: string;
  readonly tmpDir: string;
  /** `codex.readable` */
  readonly readable: readonly string[];
  /** Places in the workspace that links to skills lead to. Codex reads them outside of its sandbox. */
  readonly linked: readonly string[];
  /** What of the base system not everyone may read, and logins inside of toolchains. */
  readonly closed: readonly string[];
  exists(path: string): boolean;
  /** The path itself when it does not exist. */
  realPath(path: string): string;
}

/**
 * What commands of the agent may read and write. Everything else does not exist for them. The most specific entry wins, so the secrets
 * and the other workspaces stay closed when a folder around them is readable.
 *
 * A profile with at least one denied path has a second effect: a rule in `~/.codex/rules` that allows a command, such as a person adds
 * with "always allow", no longer lifts the sandbox for it.
 */
export function permissionProfile(facts: ProfileFacts): JsonObject {
  const { workspace, tmpDir, linked } = facts;
  const closed = [...PROTECTED.map((name) => join(workspace, name)), ...linked];
  const around = linked.flatMap((path) => foldersAround(path, workspace));
  const pinned = around.filter((folder) => !closed.some((path) => covers(path, folder)));
  const access = (mode: string, paths: readonly string[]) => paths.map((path) => [path, mode] as const);
  return {
    filesystem: {
      ...Object.fromEntries([
        ...access('read', mountedPaths(facts)),
        ...access('deny', deniedPaths(facts)),
        ...access('write', [workspace, tmpDir, ...pinned]),
        ...access('read', closed),
      ]),
      // What the system itself needs: /usr, /bin, /lib, /etc, /proc, /dev and the like.
      ':minimal': 'read',
    },
    network: { enabled: false },
  };
}

/** With an entry of its own, a folder is a mount point, which the agent cannot move away together with what is protected in it. */
function foldersAround(path: string, workspace: string): string[] {
  const folder = dirname(path);
  return isInside(workspace, folder) ? [folder, ...foldersAround(folder, workspace)] : [];
}

/** As Codex protects them in its own workspace profile. */
const PROTECTED = ['.git', '.codex', '.agents'];

const SYSTEM = ['/opt', '/nix', '/snap', '/run/current-system', '/home/linuxbrew/.linuxbrew', '/Library/Developer'];

/** Absolute paths that commands may read, apart from the base system, the workspace and the run's TMPDIR. */
export function readablePaths({
  env,
  programs,
  readable,
}: Pick<ProfileFacts, 'env' | 'programs' | 'readable'>): string[] {
  const home = homeOf(env);
  const onPath = searchPath(env).flatMap((folder) => toolchainAround(folder, home));
  const derived = [...onPath, ...fromVariables(env), ...TOOLS.map(inHome(home))].map((path) => resolve(path));
  const closed = deniedIn(home);
  const isTooWide = (path: string) => covers(path, home) || closed.some((denied) => covers(denied, path));
  const tools = derived.filter((path) => !isTooWide(path));
  return [...new Set([...SYSTEM, ...tools, ...programs.flatMap(withCodexPath), ...readable])];
}

/** The sandbox of Codex cannot mount anything on a link that is visible in a readable folder, and fails: it gets the target of the link. */
function mountedPaths(facts: ProfileFacts): string[] {
  const { readable, realPath } = facts;
  const isLink = (path: string) => realPath(path) !== join(realPath(dirname(path)), basename(path));
  const isVisible = (path: string) => readable.some((folder) => isInside(folder, path));
  return readablePaths(facts).map((path) => (isVisible(path) && isLink(path) ? realPath(path) : path));
}

/**
 * Closed even inside a readable folder, unless `codex.readable` names exactly this path: keys, logins, and the folder of all workspaces.
 * A command that a person lets out of the sandbox does not see them either. Codex cannot close a path that does not exist.
 *
 * A closed folder cannot contain a readable one, so it is left out when `codex.readable` names something in it; then it must
 * not lie inside a readable folder, which would open all of it.
 */
function deniedPaths(facts: ProfileFacts): string[] {
  const { env, readable, workspace, closed, exists, realPath } = facts;
  const codexHome = env.CODEX_HOME;
  const secrets = [...deniedIn(homeOf(env)), ...(codexHome ? CODEX_SECRETS.map(inHome(codexHome)) : [])];
  const opened = readablePaths(facts);
  const isNeeded = (path: string) =>
    !readable.includes(path) &&
    (!readable.some((named) => isInside(path, named)) || opened.some((open) => covers(open, path)));
  const named = [...closed, ...secrets, dirname(workspace)].filter(isNeeded);
  // Of a link the target is closed: the link itself then leads to nothing.
  const targets = (paths: readonly string[]) => paths.filter(exists).map(realPath);
  const denied = [...targets(ROOT_ONLY), ...targets(named).filter(isNeeded)];
  const aliases = opened.flatMap((open) => aliasesIn(open, realPath(open), denied));
  return [...denied, ...aliases.filter((path) => !readable.includes(path))];
}

/** Codex follows a readable path that is a link, and shows what it leads to under the name of the link. */
function aliasesIn(open: string, realOpen: string, realDenied: readonly string[]): string[] {
  if (realOpen === open) return [];
  return realDenied.filter((path) => isInside(realOpen, path)).map((path) => join(open, relative(realOpen, path)));
}

const ROOT_ONLY = ['/etc/shadow', '/etc/gshadow'];
const CODEX_SECRETS = ['auth.json', 'config.toml', '.credentials.json', 'sessions'];

/** Keys and logins in a home folder. */
const SECRETS = [
  ...['.ssh', '.aws', '.gnupg', '.azure', '.kube', '.docker', '.netrc', '.npmrc', '.yarnrc.yml', '.pypirc'],
  ...['.git-credentials', '.config/git/credentials', '.config/gh', '.config/glab-cli', '.config/hub', '.config/gcloud'],
  ...['.config/op', '.config/sops', '.config/rclone', '.config/pip', '.config/baton', '.local/state/baton'],
  ...['.local/share/keyrings', '.password-store', '.pgpass', '.my.cnf', '.vault-token', '.terraform.d'],
  ...['.cargo/credentials', '.cargo/credentials.toml', '.gem/credentials', '.m2/settings.xml'],
  ...['.local/share/gem/credentials', '.local/share/uv/credentials', '.dotnet/corefx/cryptography/x509stores'],
  ...['.gradle/gradle.properties', '.claude', '.claude.json', '.gemini', '.mozilla', '.config/google-chrome'],
  ...['.config/chromium', '.bash_history', '.zsh_history', ...CODEX_SECRETS.map((name) => `.codex/${name}`)],
];

function deniedIn(home: string): string[] {
  return SECRETS.map(inHome(home));
}

/** Where version managers, package managers and compilers keep programs and packages, without their logins and settings. */
const TOOLS = [
  ...['.nvm', '.volta', '.fnm', '.local/share/fnm', '.nodenv', '.bun/bin', '.bun/install', '.deno/bin'],
  ...['.npm/_cacache', '.npm-global', '.local/share/pnpm', '.cache/node', '.cache/ms-playwright'],
  ...['.pyenv', '.local/share/uv', '.local/share/pipx', '.local/pipx', '.local/share/virtualenvs', '.conda'],
  ...['miniconda3', 'anaconda3', 'miniforge3', '.asdf', '.local/share/mise', '.local/share/rtx', '.local/bin'],
  ...['.local/lib', '.cargo/bin', '.cargo/env', '.cargo/registry', '.cargo/git', '.rustup', 'go/bin', 'go/pkg'],
  ...['.rbenv', '.rvm', '.gem/ruby', '.local/share/gem', '.sdkman/candidates', '.m2/repository', '.m2/wrapper'],
  ...['.gradle/wrapper', '.gradle/caches', '.dotnet', '.nuget/packages', '.ghcup', '.cabal/bin', '.stack/programs'],
  ...['.opam', '.juliaup', '.nix-profile', '.phpenv', '.composer/vendor', '.config/composer/vendor', 'Library/pnpm'],
];

/** Variables that name toolchains, and what of the named folder is needed; an empty name is the folder itself. */
const TOOL_VARIABLES: { readonly [name: string]: readonly string[] } = {
  NVM_DIR: [''],
  NVM_BIN: ['', '../lib'],
  VOLTA_HOME: [''],
  FNM_DIR: [''],
  PNPM_HOME: [''],
  BUN_INSTALL: ['bin', 'install'],
  PYENV_ROOT: [''],
  VIRTUAL_ENV: [''],
  CONDA_PREFIX: [''],
  MISE_DATA_DIR: [''],
  ASDF_DIR: [''],
  ASDF_DATA_DIR: [''],
  CARGO_HOME: ['bin', 'env', 'registry', 'git'],
  RUSTUP_HOME: [''],
  GOPATH: ['bin', 'pkg'],
  GOROOT: [''],
  JAVA_HOME: [''],
  RBENV_ROOT: [''],
  SDKMAN_DIR: ['candidates'],
  // Certificates are public.
  NODE_EXTRA_CA_CERTS: [''],
  SSL_CERT_FILE: [''],
  SSL_CERT_DIR: [''],
  REQUESTS_CA_BUNDLE: [''],
  CURL_CA_BUNDLE: [''],
};

function fromVariables(env: ProfileFacts['env']): string[] {
  return Object.entries(TOOL_VARIABLES).flatMap(([name, parts]) =>
    absolutePaths(env[name]).flatMap((folder) => parts.map((part) => join(folder, part))),
  );
}

export function searchPath(env: ProfileFacts['env']): string[] {
  return absolutePaths(env.PATH);
}

/**
 * `…/node-22/bin` is useless without `…/node-22/lib`. A folder above it that holds more than one toolchain, such as `~/.local` or the
 * home folder, is not taken as a whole.
 */
function toolchainAround(folder: string, home: string): string[] {
  const around = dirname(folder);
  const isToolchain = /\/s?bin$/.test(folder) && around !== home && !SHARED_PREFIX.test(around);
  return isToolchain ? [folder, ...TOOLCHAIN_PARTS.map((part) => join(around, part))] : [folder];
}

const SHARED_PREFIX = /^\/$|\/\.?local$/;
const TOOLCHAIN_PARTS = ['lib', 'lib64', 'libexec', 'include', 'share'];

/** Codex has its own `rg` in a folder beside its program, and puts it on the PATH of commands. */
function withCodexPath(program: string): string[] {
  return [program, join(dirname(program), '..', 'codex-path')];
}

function homeOf(env: ProfileFacts['env']): string {
  return env.HOME !== undefined && isAbsolute(env.HOME) ? resolve(env.HOME) : homedir();
}

function inHome(home: string) {
  return (name: string) => join(home, name);
}

function absolutePaths(list: string | undefined): string[] {
  return (list ?? '').split(':').filter(isAbsolute);
}

/** All paths here are absolute and normalised; resolving each pair again took a tenth of the time of a short run. */
function covers(folder: string, path: string): boolean {
  return isAtOrBelow(path, folder);
}
