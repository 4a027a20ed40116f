import { lstat, mkdir, readdir, readFile, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type AgentRepository,
  nullIfMissing,
  readLinkedRepository,
  readPlainFile,
  readText,
  writePackedRefs,
} from './agent-repository.js';
import { BATON_IDENTITY, gitRefused, initRepository } from './git.js';
import { GITLINK, isAssumed, isSkipped, split, WorkspaceGit } from './workspace-git.js';

/** The repositories of one workspace whose work is to be saved. Passed as `request.json` in the folder that gets the results. */
export interface SaveCall {
  readonly workspace: string;
  readonly repositories: readonly string[];
  readonly limits: SaveLimits;
}

export interface SaveLimits {
  /** Larger new files are left out, with a notice: most of them are build products. */
  readonly maxNewFileBytes: number;
  /** With more changed bytes nothing is saved, and the workspace stays. */
  readonly maxTotalBytes: number;
}

/** `result.json` has one for each repository. The folder `<number>` has its `work.bundle` and `work.patch`, if there is something to save. */
export interface SaveResult {
  /** The commit of HEAD; null before the first one. */
  readonly head: string | null;
  /** The branch of HEAD; null when it is detached. */
  readonly branch: string | null;
  /** Files that were left out, relative to the repository. */
  readonly tooLarge: readonly string[];
}

type Environment = { readonly [name: string]: string | undefined };

/** Writes the unpushed commits of repositories as bundles, and their uncommitted changes as patches. Changes nothing in the workspace. */
export async function saveRepositories(folder: string, base: Environment): Promise<void> {
  const env = { ...base, ...BATON_IDENTITY };
  const call = JSON.parse(await readFile(join(folder, 'request.json'), 'utf8')) as SaveCall;
  const results: SaveResult[] = [];
  for (const [index, repository] of call.repositories.entries()) {
    const out = join(folder, String(index));
    await mkdir(join(out, 'own.git'), { recursive: true });
    const agent = await readLinkedRepository(repository, call.workspace);
    const git = await openOwn(agent, repository, join(out, 'own.git'), env);
    const { staged, tooLarge } = await savePatch(git, agent, call.limits, join(out, 'work.patch'));
    await saveCommits(git, agent, staged, join(out, 'work.bundle'));
    results.push({ head: agent.head, branch: agent.branch?.replace('refs/heads/', '') ?? null, tooLarge });
  }
  await writeFile(join(folder, 'result.json'), JSON.stringify(results));
}

/** A bare repository of our own that borrows the objects of the agent, with a copy of its index. */
async function openOwn(
  agent: AgentRepository,
  repository: string,
  path: string,
  env: Environment,
): Promise<WorkspaceGit> {
  const settings = (await readText(join(agent.common, 'config'))) ?? '';
  const format = /^\s*objectformat\s*=\s*sha256\s*$/im.test(settings) ? 'sha256' : 'sha1';
  await initRepository(path, ['--bare', `--object-format=${format}`], env);
  await mkdir(join(path, 'info'));
  const shared = (await readdir(agent.dir)).filter((name) => name.startsWith('sharedindex.'));
  const own: [string, string][] = ['index', ...shared].map((name) => [agent.dir, name]);
  for (const [folder, name] of [...own, [agent.common, 'shallow'], [agent.common, 'info/exclude']] as const) {
    const content = await readPlainFile(join(folder, name));
    if (content !== null) await writeFile(join(path, name), content);
  }
  // Git looks into files that are as new as the index, so the copy must not be newer.
  const stats = await lstat(join(agent.dir, 'index')).catch(nullIfMissing);
  if (stats !== null) await utimes(join(path, 'index'), stats.atime, stats.mtime);
  return WorkspaceGit.borrow({ url: repository, path, env }, repository, agent);
}

/** Also returns a commit of what was staged, when that is neither in HEAD nor in the patch because its files have changed again. */
async function savePatch(git: WorkspaceGit, { head }: AgentRepository, limits: SaveLimits, patch: string) {
  const entries = await git.entries(git.index);
  // Files that the index ignores may have changed too.
  await git.updateIndex(['--no-assume-unchanged'], entries.filter(isAssumed));
  const present = [];
  for (const entry of entries.filter(isSkipped)) if ((await git.statsOf(entry.path)) !== null) present.push(entry);
  await git.updateIndex(['--no-skip-worktree'], present);

  const { changed, nested, tooLarge } = await changesOf(git, limits);
  const base = await git.treeOf(head);
  let staged: string | null = null;
  if (changed) {
    const before = await git.attempt(['write-tree']); // Fails during a conflict.
    // In a nested repository git would use the settings of that one; it is saved separately.
    const links = entries.filter(({ mode }) => mode === GITLINK).map(({ path }) => path);
    await git.addAllBut([...nested, ...tooLarge, ...links]);
    const tree = before.stdout.trim();
    const isOther = before.ok && tree !== base && tree !== (await git.run(['write-tree']));
    const parent = head === null ? [] : ['-p', head];
    if (isOther) staged = await git.run(['commit-tree', '-m', 'What was staged', tree, ...parent]);
  }
  const format = ['--binary', '--full-index', '--ignore-submodules=none'];
  await git.run(['diff', '--cached', ...format, `--output=${patch}`, base]);
  return { staged, tooLarge: tooLarge.map((path) => Buffer.from(path, 'latin1').toString()) };
}

async function changesOf(git: WorkspaceGit, { maxNewFileBytes, maxTotalBytes }: SaveLimits) {
  const list = ['ls-files', '-z', '-t', '--others', '--modified', '--exclude-standard'];
  const listed = [...new Set(split(await git.run(list)))];
  const [nested, tooLarge]: [string[], string[]] = [[], []];
  let totalBytes = 0;
  for (const line of listed) {
    const path = line.slice(2);
    const stats = await git.statsOf(path);
    const bytes = stats?.isFile() ? stats.size : 0;
    if (path.endsWith('/')) nested.push(path);
    else if (line.startsWith('?') && bytes > maxNewFileBytes) tooLarge.push(path);
    else totalBytes += bytes;
  }
  if (totalBytes > maxTotalBytes)
    throw gitRefused(`${totalBytes} bytes of changes in ${git.workspace} are over the limit of ${maxTotalBytes}`);
  return { changed: listed.length > nested.length + tooLarge.length, nested, tooLarge };
}

async function saveCommits(
  git: WorkspaceGit,
  agent: AgentRepository,
  staged: string | null,
  bundle: string,
): Promise<void> {
  const wanted = await wantedRefs(agent);
  if (staged !== null) wanted.set('refs/baton/staged', staged);
  const known = [...agent.refs].flatMap(([name, id]) => (name.startsWith('refs/remotes/') ? [id] : []));
  if ([...wanted.values()].every((id) => known.includes(id))) return;
  await writePackedRefs(git.folder, wanted);
  const words = [...wanted.keys(), ...known.map((id) => `^${id}`)];
  const input = Buffer.from(words.map((word) => `${word}\n`).join('')).toString('latin1');
  const commits = (await git.run(['rev-list', '--stdin'], { input })).split('\n').filter((id) => id !== '');
  if (commits.length === 0) return;
  const theirs = commits.filter((id) => id !== staged);
  await refuseBorrowed(git, agent, theirs);
  await git.run(['bundle', 'create', '--quiet', bundle, '--stdin'], { input });
}

/** The branches of a linked worktree are in its main repository; only its HEAD is its own. */
async function wantedRefs({ dir, common, head, refs, loose }: AgentRepository): Promise<Map<string, string>> {
  const wanted = new Map(head === null ? [] : [['refs/baton/HEAD', head]]);
  if (dir !== common) return wanted;
  // Tags of the clone are packed and may be outside of every branch. Tags that were created here are separate files.
  for (const [name, id] of refs)
    if (name.startsWith('refs/heads/') || (name.startsWith('refs/tags/') && loose.has(name))) wanted.set(name, id);
  const log = refs.has('refs/stash') ? ((await readText(join(dir, 'logs/refs/stash'))) ?? '') : '';
  const stashes = [...log.matchAll(/^[0-9a-f]+ ([0-9a-f]+) /gm)].reverse();
  for (const [number, [, id = '']] of stashes.entries()) wanted.set(`refs/baton/stash/${number}`, id);
  return wanted;
}

/** A repository that borrows objects can name commits of their owner. What is saved must be in its own objects. */
async function refuseBorrowed(
  git: WorkspaceGit,
  { objects }: AgentRepository,
  commits: readonly string[],
): Promise<void> {
  if ((await readText(join(objects, 'info/alternates'))) === null) return;
  const own = join(git.folder, 'own-objects');
  await mkdir(own);
  for (const name of await readdir(objects)) if (name !== 'info') await symlink(join(objects, name), join(own, name));
  const owned = await git.presentOf(commits, { GIT_OBJECT_DIRECTORY: own, GIT_ALTERNATE_OBJECT_DIRECTORIES: '' });
  const foreign = commits.find((id) => !owned.has(id));
  if (foreign !== undefined)
    throw gitRefused(`commit ${foreign} is in another repository, whose objects this one borrows`);
}
