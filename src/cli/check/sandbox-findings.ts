import { existsSync } from 'node:fs';
import { readdir, realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { readablePaths, searchPath } from '../../../runner/executors/codex/permission-profile.js';
import { ensureSocketFolder } from '../../../runner/executors/codex/socket-folder.js';
import { usesProfile } from '../../../runner/executors/codex/thread-config.js';
import { isInside } from '../../../runner/workspace/workspace-path.js';
import { ERRORS } from '../../domain/error-table.js';
import { toBatonError } from '../../domain/errors.js';
import type { LoginShell } from '../shell.js';
import { type CheckContext, type Finding, reporter } from './finding.js';

export const INSTALL_CODEX = 'npm install -g @openai/codex';

/** The first version whose threads take a permission profile by name. */
const FIRST_WITH_PROFILES = [0, 138] as const;

/** A Codex that is too old for the permission profile. `version` is the output of `codex --version`. */
export function codexVersionFindings({ file, at, loaded }: CheckContext, version: string | null): Finding[] {
  const [, major, minor] = /(\d+)\.(\d+)\.\d+/.exec(version ?? '') ?? [];
  if (major === undefined || minor === undefined || !usesProfile(loaded.workflow.config.codex)) return [];
  const [wantedMajor, wantedMinor] = FIRST_WITH_PROFILES;
  if (Number(major) > wantedMajor || Number(minor) >= wantedMinor) return [];
  const message = `${version} cannot restrict what agents read, so every run would fail`;
  const { action } = ERRORS.agent_profile_unsupported;
  return [reporter('Agent', file)('error', 'agent_profile_unsupported', at(['codex', 'command']), message, action)];
}

/** A folder in /tmp that another account has made, so that Codex runs no command. */
export async function socketFolderFindings({ file, at }: CheckContext): Promise<Finding[]> {
  const error = await ensureSocketFolder().then(() => null, toBatonError);
  if (error === null) return [];
  const { action } = ERRORS[error.code];
  return [reporter('Agent', file)('error', error.code, at(['codex', 'command']), error.message, action)];
}

/**
 * A program that is looked up in the workspace, where agents write. The next run would start theirs, outside of every sandbox.
 */
export function programFindings({ file, at, loaded }: CheckContext, { found, searchPath }: LoginShell): Finding[] {
  const { command } = loaded.workflow.config.codex;
  const relative = searchPath.split(':').find((folder) => !folder.startsWith('/'));
  const reason = isFromWorkspace(command)
    ? 'codex.command looks for the agent in the workspace'
    : VOLTA.test(found)
      ? `${found} prefers the program that the package.json of the workspace names`
      : relative === undefined
        ? null
        : `PATH of the login shell contains ${relative === '' ? 'the current folder' : relative}, which is the one of the workspace there`;
  if (reason === null) return [];
  const message = `${reason}: an agent can put a program there, and the next run would start it outside of every sandbox`;
  const advice = `Install the agent (${INSTALL_CODEX}), name it by its full path in codex.command, and keep relative folders out of PATH.`;
  return [reporter('Agent', file)('warning', 'agent_from_workspace', at(['codex', 'command']), message, advice)];
}

const VOLTA = /\/\.volta\/bin\//;
/** They prefer a program in `node_modules` of the working directory, and read its `.npmrc`. */
const PACKAGE_RUNNERS = /^(?:npx|npm|pnpx|pnpm|yarn|bunx|bun)$/;

export function isFromWorkspace(command: string): boolean {
  const words = command.split(/[\s'"]+/);
  return words.some((word) => PACKAGE_RUNNERS.test(basename(word)) || /^(?:\.\.?|node_modules)\//.test(word));
}

/**
 * What agents cannot read although the user may expect it: programs on PATH, and misspelt paths of `codex.readable`. `agent`: the program
 * of the agent itself, which its commands do not need.
 */
export async function readableFindings(
  { file, at, loaded }: CheckContext,
  env: { readonly [name: string]: string },
  agent: string,
): Promise<Finding[]> {
  const { codex } = loaded.workflow.config;
  if (!usesProfile(codex)) return [];
  const report = reporter('Agent', file);
  const where = at(['codex', 'readable']);
  const missing = codex.readable
    .filter((path) => !existsSync(path))
    .map((path) => report('warning', 'readable_missing', where, `codex.readable names ${path}, which does not exist`));
  const own = await realpath(agent).catch(() => agent);
  const isOwn = ({ name, target }: HiddenProgram) => target === own || name === basename(agent);
  const hidden = (await hiddenPrograms(env, codex.readable)).filter((program) => !isOwn(program));
  if (hidden.length === 0) return missing;
  const shown = hidden.slice(0, MAX_SHOWN).map(({ name, target }) => `${name} (${target})`);
  const more = hidden.length > MAX_SHOWN ? ` and ${hidden.length - MAX_SHOWN} more` : '';
  const message = `agents cannot read these programs on PATH: ${shown.join(', ')}${more}`;
  const advice = 'Add their folders to codex.readable if agents need them.';
  return [...missing, report('warning', 'programs_not_readable', where, message, advice)];
}

const MAX_SHOWN = 5;

/** As Codex understands `:minimal`. */
const BASE_SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib64', '/etc', '/System', '/Library', '/private/etc'];

interface HiddenProgram {
  readonly name: string;
  readonly target: string;
}

/** Links on PATH that lead to a place that agents cannot read. The folders of PATH themselves can be read, apart from the home folder. */
async function hiddenPrograms(
  env: { readonly [name: string]: string },
  readable: readonly string[],
): Promise<HiddenProgram[]> {
  const open = [...BASE_SYSTEM, ...readablePaths({ env, programs: [], readable })];
  const isOpen = (path: string) => open.some((folder) => folder === path || isInside(folder, path));
  const found = await Promise.all(
    searchPath(env).map(async (folder) => {
      const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
      const links = entries.filter((entry) => entry.isSymbolicLink() || (entry.isFile() && !isOpen(folder)));
      return Promise.all(
        links.map(async ({ name }) => ({ name, target: await realpath(join(folder, name)).catch(() => null) })),
      );
    }),
  );
  const programs = found
    .flat()
    .flatMap(({ name, target }) => (target === null || isOpen(target) ? [] : { name, target }));
  return programs.filter(({ name }, index) => programs.findIndex((other) => other.name === name) === index);
}

/** Settings under which Codex does not restrict reading. Full access has a warning of its own. */
export function unrestrictedReading({ file, at, loaded }: CheckContext): Finding[] {
  const { codex } = loaded.workflow.config;
  if (usesProfile(codex)) return [];
  const name = codex.threadSandbox === null ? 'turn_sandbox_policy' : 'thread_sandbox';
  const message = `codex.${name} is set, so the agent can read everything that your account can read, keys and logins included`;
  const advice = `Remove codex.thread_sandbox and codex.turn_sandbox_policy; codex.readable names what the agent may read besides its workspace.`;
  return [reporter('Workflow', file)('warning', 'reads_everything', at(['codex', name]), message, advice)];
}
