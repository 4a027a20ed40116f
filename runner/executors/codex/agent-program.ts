import { readlink, realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { childrenOf, KNOWS_CHILDREN, listProcesses, readIfThere } from '../../contain/proc-table.js';
import { readText } from '../../git/agent-repository.js';
import { isInside } from '../../workspace/workspace-path.js';

/** What the processes of an agent are: their programs, and the environment that its commands will inherit. */
export interface AgentProgram {
  readonly programs: readonly string[];
  readonly env: { readonly [name: string]: string };
}

/**
 * Reads the process `pid` and its descendants, because `codex.command` may be a wrapper, and its login shell changes PATH. Where
 * nothing can be read (macOS), `base` is the environment, and no program is known.
 */
export async function readAgentProgram(pid: number, base: AgentProgram['env']): Promise<AgentProgram> {
  const pids = await treeOf(pid);
  const programs = (await Promise.all(pids.map(programOf))).filter((path) => path !== null);
  const environments = (await Promise.all(pids.map(environmentOf))).filter((env) => env !== null);
  const paths = [base, ...environments].flatMap(({ PATH }) => (PATH === undefined ? [] : [PATH]));
  // The deepest process is last: its variables win.
  return {
    programs: [...new Set(programs)],
    env: Object.assign({}, base, ...environments, { PATH: paths.reverse().join(':') }),
  };
}

async function treeOf(root: number): Promise<number[]> {
  const listed = KNOWS_CHILDREN ? [] : await listProcesses();
  const listedChildren = (pid: number) => listed.filter(({ parentId }) => parentId === pid).map((child) => child.pid);
  const tree = [root];
  for (const parent of tree) tree.push(...(KNOWS_CHILDREN ? childrenOf(parent) : listedChildren(parent)));
  return tree;
}

/** The path of the program; its first argument where the link may not be read. */
async function programOf(pid: number): Promise<string | null> {
  const program = await readlink(`/proc/${pid}/exe`).catch(async () => {
    const line = await readIfThere(`/proc/${pid}/cmdline`).catch(() => null);
    return line?.toString().split('\0')[0] ?? '';
  });
  return isAbsolute(program) ? program.replace(/ \(deleted\)$/, '') : null;
}

async function environmentOf(pid: number): Promise<{ [name: string]: string } | null> {
  const bytes = await readIfThere(`/proc/${pid}/environ`).catch(() => null);
  if (bytes === null || bytes.length === 0) return null;
  const pairs = bytes.toString().split('\0');
  return Object.fromEntries(
    pairs
      .filter((pair) => pair.indexOf('=') > 0)
      .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  );
}

/**
 * The repository of a workspace that is a git worktree; null for a clone. The agent may have written the workspace's `.git`, so the
 * repository counts only when it names this workspace as its worktree and lies outside of it.
 */
export async function worktreeRepository(workspace: string): Promise<string | null> {
  const link = join(workspace, '.git');
  try {
    const named = /^gitdir: (.+)$/m.exec((await readText(link)) ?? '')?.[1] ?? '';
    const gitDir = await realpath(resolve(workspace, named));
    if (gitDir === workspace || isInside(workspace, gitDir)) return null;
    const backLink = resolve(gitDir, ((await readText(join(gitDir, 'gitdir'))) ?? '').trim());
    return backLink === link && dirname(dirname(gitDir)) !== gitDir ? dirname(dirname(gitDir)) : null;
  } catch {
    return null;
  }
}
