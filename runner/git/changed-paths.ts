import { gitRefused } from './git.js';
import { split, type WorkspaceGit } from './workspace-git.js';

/** A path with its content. */
export interface Entry {
  /** One character per byte. */
  readonly path: string;
  /** `000000` for a deleted path. */
  readonly mode: string;
  readonly id: string;
}

/** A path with its new content. */
export interface Change extends Entry {
  /** What each of the compared commits has there. */
  readonly before: readonly Entry[];
}

/** The changes of one commit. */
export interface CommitChanges {
  readonly commit: string;
  readonly changes: readonly Change[];
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

/** The paths that each of the commits changes; for a merge, what it has from none of its parents. */
export async function touchedPaths(git: WorkspaceGit, commits: readonly string[]): Promise<CommitChanges[]> {
  const args = ['diff-tree', '--stdin', '-r', '-c', '--root', '-z', '--raw', '--no-renames'];
  const words = split(await git.run(args, { input: commits.map((id) => `${id}\n`).join('') }));
  // The name of a commit comes before its changes. Git leaves it out when there are none.
  const touched: { commit: string; words: string[] }[] = [];
  for (let at = 0; at < words.length; ) {
    const isChange = words[at]?.startsWith(':') === true;
    const last = touched.at(-1);
    if (isChange && last === undefined) throw unknownForm();
    if (isChange) last?.words.push(...words.slice(at, at + 2));
    else touched.push({ commit: words[at] ?? '', words: [] });
    at += isChange ? 2 : 1;
  }
  return touched.map(({ commit, words: facts }) => ({ commit, changes: parseRaw(facts) }));
}

/** The paths in which a tree or commit differs from one commit; null stands for nothing at all. */
export async function changedPaths(git: WorkspaceGit, from: string | null, to: string): Promise<Change[]> {
  const args = ['-r', '-z', '--raw', '--no-renames'];
  const base = from ?? (await git.run(['hash-object', '-w', '-t', 'tree', '--stdin'], { input: '' }));
  return parseRaw(split(await git.run(['diff-tree', ...args, base, to])));
}

/** The paths in which a tree or commit differs from every one of the commits; null stands for nothing at all. */
export async function changedSince(
  git: WorkspaceGit,
  commits: readonly (string | null)[],
  to: string,
): Promise<Change[]> {
  let changes: Change[] | null = null;
  for (const from of commits.length === 0 ? [null] : commits) {
    const here: Change[] = await changedPaths(git, from, to);
    const befores = new Map(here.map(({ path, before }) => [path, before]));
    changes = (changes ?? here).flatMap((change) => {
      const before = befores.get(change.path);
      if (before === undefined) return [];
      return [changes === null ? change : { ...change, before: [...change.before, ...before] }];
    });
  }
  return changes ?? [];
}

/** All files of a commit or tree, by path. */
export async function entriesOf(git: WorkspaceGit, tree: string): Promise<Map<string, Entry>> {
  const entries = new Map<string, Entry>();
  for (const line of split(await git.run(['ls-tree', '-r', '-z', '--full-tree', tree]))) {
    const [mode = '', , id = ''] = line.slice(0, line.indexOf('\t')).split(' ');
    const path = line.slice(line.indexOf('\t') + 1);
    entries.set(path, { path, mode, id });
  }
  return entries;
}

/** Reads `:mode mode id id status` and the combined form with several parents, each followed by its path. */
function parseRaw(words: readonly string[]): Change[] {
  const changes: Change[] = [];
  for (let at = 0; at < words.length; at += 2) {
    const [facts = '', path] = [words[at], words[at + 1]];
    const parents = /^:+/.exec(facts)?.[0].length ?? 0;
    const fields = facts.slice(parents).split(' ');
    const entries = Array.from({ length: parents + 1 }, (_, index): Entry => {
      const [mode, id] = [fields[index], fields[parents + 1 + index]];
      if (path === undefined || mode === undefined || id === undefined) throw unknownForm();
      return { path, mode, id };
    });
    const after = entries.pop();
    if (parents === 0 || after === undefined) throw unknownForm();
    changes.push({ ...after, before: entries });
  }
  return changes;
}

function unknownForm(): Error {
  return gitRefused('git describes changes in an unknown form: nothing is pushed');
}
