import { gitRefused } from './git.js';
import { split, type WorkspaceGit } from './workspace-git.js';

/** A path with its new content. */
export interface Change {
  /** One character per byte. */
  readonly path: string;
  /** `000000` for a deleted path. */
  readonly mode: string;
  readonly id: string;
}

/** The commits that the remote does not have, oldest first, and the commits of the remote that they build on. */
export async function newCommits(
  git: WorkspaceGit,
  commit: string,
  known: readonly string[],
): Promise<{ readonly commits: readonly string[]; readonly boundary: readonly string[] }> {
  const input = [commit, ...known.map((id) => `^${id}`)].map((word) => `${word}\n`).join('');
  const text = await git.run(['rev-list', '--boundary', '--reverse', '--topo-order', '--stdin'], { input });
  const lines = text.split('\n').filter((line) => line !== '');
  return {
    commits: lines.filter((line) => !line.startsWith('-')),
    boundary: lines.filter((line) => line.startsWith('-')).map((line) => line.slice(1)),
  };
}

/** Every path that one of the commits changes; for a merge, what it has from none of its parents. */
export async function touchedPaths(git: WorkspaceGit, commits: readonly string[]): Promise<Change[]> {
  const args = ['diff-tree', '--stdin', '-r', '-c', '--root', '-z', '--raw', '--no-renames', '--no-commit-id'];
  return parseRaw(await git.run(args, { input: commits.map((id) => `${id}\n`).join('') }));
}

/** The paths in which a tree or commit differs from one commit; null stands for nothing at all. */
export async function changedPaths(git: WorkspaceGit, from: string | null, to: string): Promise<Change[]> {
  const args = ['-r', '-z', '--raw', '--no-renames'];
  const base = from ?? (await git.run(['hash-object', '-w', '-t', 'tree', '--stdin'], { input: '' }));
  return parseRaw(await git.run(['diff-tree', ...args, base, to]));
}

/** The paths in which a tree or commit differs from every one of the commits. */
export async function changedSince(git: WorkspaceGit, commits: readonly string[], to: string): Promise<Change[]> {
  let changes: Change[] | null = null;
  for (const from of commits.length === 0 ? [null] : commits) {
    const here: Change[] = await changedPaths(git, from, to);
    const paths = new Set(here.map(({ path }) => path));
    changes = changes === null ? here : changes.filter(({ path }) => paths.has(path));
  }
  return changes ?? [];
}

/** All files of a commit or tree, by path. */
export async function entriesOf(git: WorkspaceGit, tree: string): Promise<Map<string, Change>> {
  const entries = new Map<string, Change>();
  for (const line of split(await git.run(['ls-tree', '-r', '-z', '--full-tree', tree]))) {
    const [mode = '', , id = ''] = line.slice(0, line.indexOf('\t')).split(' ');
    const path = line.slice(line.indexOf('\t') + 1);
    entries.set(path, { path, mode, id });
  }
  return entries;
}

/** Reads `:mode mode id id status` and the combined form with several parents, each followed by its path. */
function parseRaw(text: string): Change[] {
  const words = split(text);
  const changes: Change[] = [];
  for (let at = 0; at < words.length; at += 2) {
    const [facts = '', path] = [words[at], words[at + 1]];
    const parents = /^:+/.exec(facts)?.[0].length ?? 0;
    const fields = facts.slice(parents).split(' ');
    const [mode, id] = [fields[parents], fields[2 * parents + 1]];
    if (parents === 0 || path === undefined || mode === undefined || id === undefined)
      throw gitRefused('git describes changes in an unknown form: nothing is pushed');
    changes.push({ path, mode, id });
  }
  return changes;
}
