import { readdir, readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

export interface ToolchainVariables {
  readonly [name: string]: string | undefined;
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
export function toolchainRoots(env: ToolchainVariables): readonly { readonly root: string; readonly rest: string }[] {
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
