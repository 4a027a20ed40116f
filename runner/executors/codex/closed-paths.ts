import { accessSync, constants, type Dirent, lstatSync, readdirSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as yieldToOthers } from 'node:timers/promises';

interface ToolchainVariables {
  readonly [name: string]: string | undefined;
}

const REMEMBERED_MS = 60_000;
let remembered: { readonly key: string; readonly paths: Promise<string[]>; readonly untilMs: number } | null = null;

/**
 * What agents with this environment must not read of the system and of toolchains. Remembered for a minute: it takes some thousand file
 * operations, and many runs can start together.
 */
export function closedPaths(env: ToolchainVariables, nowMs = performance.now()): Promise<string[]> {
  const key = JSON.stringify(toolchainRoots(env));
  if (remembered?.key !== key || remembered.untilMs <= nowMs) {
    const both = Promise.all([privateEntries('/etc'), toolchainLogins(env)]);
    remembered = { key, paths: both.then((paths) => paths.flat()), untilMs: nowMs + REMEMBERED_MS };
  }
  return remembered.paths;
}

/**
 * What this account can read below a folder of the system and not everyone can: keys of services, passwords of databases. Root can read
 * all of it, and an account in a group some. Of a private folder only the folder itself is returned. Each folder is read synchronously,
 * which takes a third of the time.
 */
export async function privateEntries(folder: string): Promise<string[]> {
  await yieldToOthers();
  const found: string[] = [];
  for (const entry of entriesOf(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) found.push(...(isPrivate(path, constants.X_OK) ? [path] : await privateEntries(path)));
    else if (entry.isFile() && isPrivate(path, constants.R_OK)) found.push(path);
  }
  return found;
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

function isPrivate(path: string, right: number): boolean {
  try {
    if ((lstatSync(path).mode & right) !== 0) return false;
    accessSync(path, right);
    return true;
  } catch {
    return false;
  }
}

/**
 * Settings files inside of toolchains that contain a login: a token for a registry, a password in the address of a package index. Such a
 * file has a fixed place below the folder of its toolchain. Files without a login stay open, because some tools fail without them.
 */
export async function toolchainLogins(env: ToolchainVariables): Promise<string[]> {
  const places = toolchainRoots(env).map(({ root, rest }) => expand(root, rest.split('/')));
  const files = [...new Set((await Promise.all(places)).flat())];
  const isLogin = await Promise.all(files.map(hasLogin));
  return files.filter((_, at) => isLogin[at]);
}

/** The places that exist in this environment. */
function toolchainRoots(env: ToolchainVariables): readonly { readonly root: string; readonly rest: string }[] {
  return PLACES.flatMap((place) => {
    const [, name, rest = ''] = /^(~|\$\w+)(?:\/(.*))?$/.exec(place) ?? [];
    const root = name === '~' ? env.HOME || homedir() : env[(name ?? '').slice(1)];
    return root?.startsWith('/') ? [{ root, rest }] : [];
  });
}

const each = (roots: readonly string[], rests: readonly string[]) =>
  roots.flatMap((root) => rests.map((rest) => `${root}/${rest}`));

const CONDA = ['~/.conda', '~/miniconda3', '~/anaconda3', '~/miniforge3'];
const INSTALLS = [
  '~/.asdf',
  '$ASDF_DIR',
  '$ASDF_DATA_DIR',
  '~/.local/share/mise',
  '$MISE_DATA_DIR',
  '~/.local/share/rtx',
];
const ENVIRONMENTS = ['~/.local/share/virtualenvs/*', '~/.local/share/uv/tools/*', '$VIRTUAL_ENV'];

/** `*` is one folder of any name. */
const PLACES = [
  ...each(['~/.npm-global'], ['etc/npmrc', '.npmrc']),
  ...each(['~/.nvm', '$NVM_DIR'], ['versions/node/*/etc/npmrc']),
  ...each(['~/.volta', '$VOLTA_HOME'], ['tools/image/node/*/etc/npmrc']),
  ...each(['~/.fnm', '~/.local/share/fnm', '$FNM_DIR'], ['node-versions/*/installation/etc/npmrc']),
  ...each(['~/.nodenv'], ['versions/*/etc/npmrc']),
  ...each(['~/.bun/install/global', '$BUN_INSTALL/install/global'], ['.npmrc', 'bunfig.toml']),
  ...each(INSTALLS, ['installs/*/*/etc/npmrc', 'installs/*/*/pip.conf', 'installs/*/*/conf/settings.xml']),
  ...each(INSTALLS, ['installs/*/*/*/conf/settings.xml']),
  ...each(['~/.sdkman', '$SDKMAN_DIR'], ['candidates/maven/*/conf/settings.xml']),
  ...each(['~/.pyenv', '$PYENV_ROOT'], ['versions/*/pip.conf', 'versions/*/envs/*/pip.conf']),
  ...each(ENVIRONMENTS, ['pip.conf', 'uv-receipt.toml']),
  ...each(['~/.local/share/pipx', '~/.local/pipx'], ['venvs/*/pip.conf', 'venvs/*/pipx_metadata.json']),
  ...each([...CONDA, ...CONDA.map((root) => `${root}/envs/*`), '$CONDA_PREFIX'], ['.condarc', 'condarc']),
  ...each([...CONDA, ...CONDA.map((root) => `${root}/envs/*`), '$CONDA_PREFIX'], ['etc/npmrc', 'pip.conf']),
];

async function expand(folder: string, [name, ...rest]: readonly string[]): Promise<string[]> {
  if (name === undefined) return [folder];
  const names = name === '*' ? await readdir(folder).catch(() => []) : [name];
  return (await Promise.all(names.map((each) => expand(join(folder, each), rest)))).flat();
}

/** No settings file is longer. */
const MAX_BYTES = 1024 * 1024;
/** Names of settings with a secret, a user in an address, and the tokens of Anaconda in one. */
const LOGIN = /_auth|token|passw|passphrase|secret|api_?key|:\/\/[^\s/@"'<>]+@|\/t\/[\w-]+/i;

/** A file that this account cannot read has none for the agent either. */
async function hasLogin(path: string): Promise<boolean> {
  try {
    const stats = await stat(path);
    if (!stats.isFile()) return false;
    if (stats.size > MAX_BYTES) return true;
    const text = (await readFile(path, 'utf8')).replace(/<!--[\s\S]*?-->/g, '').replace(/^\s*[#;].*$/gm, '');
    return LOGIN.test(text);
  } catch {
    return false;
  }
}
