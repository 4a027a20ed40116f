import { constants } from 'node:fs';
import { lstat, mkdir, open, readdir, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import { gitRefused } from './git.js';

/**
 * The `.git` of a workspace as data: an agent can write all of it. Git never runs with it as its repository, and its settings are never
 * read. Its shape is checked before anything of it is used, so no path in it leads outside.
 */
export interface AgentRepository {
  /** The folder of HEAD and the index: `.git`, or that of a linked worktree. */
  readonly dir: string;
  /** The folder of objects and references; another one than `dir` in a linked worktree. */
  readonly common: string;
  readonly objects: string;
  /** The branch of HEAD, such as `refs/heads/main`; null when HEAD is detached. */
  readonly branch: string | null;
  /** The commit of HEAD; null before the first one. */
  readonly head: string | null;
  /** The further parents of a merge that is not committed yet. */
  readonly merging: readonly string[];
  /** All references with their objects. */
  readonly refs: ReadonlyMap<string, string>;
  /** References that are files of their own, so not packed when the repository was made. */
  readonly loose: ReadonlySet<string>;
}

/** An index of a million files fits. */
const MAX_FILE_BYTES = 256 * 1024 * 1024;
const OBJECT_ID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** Returns null when the folder has no `.git`. Throws `git_refused` when that is not a plain repository. */
export async function readAgentRepository(folder: string): Promise<AgentRepository | null> {
  const dir = join(folder, '.git');
  const stats = await lstat(dir).catch(nullIfMissing);
  if (stats === null) return null;
  if (stats.isFile()) throw refused(dir, 'is a file that leads to another repository');
  if (!stats.isDirectory()) throw refused(dir, 'is not a folder');
  if (process.geteuid !== undefined && stats.uid !== process.geteuid()) throw refused(dir, 'belongs to another user');
  await refuseParts(dir, FOREIGN);
  return readLinkedRepository(folder, folder);
}

/**
 * Reads a repository whose work is to be saved: also a submodule, a linked worktree, and one that borrows objects. Throws `git_refused`
 * when it leads to another repository that does not know it as its worktree.
 */
export async function readLinkedRepository(folder: string, workspace: string): Promise<AgentRepository> {
  const git = join(folder, '.git');
  const stats = await lstat(git);
  if (stats.isDirectory()) {
    await refuseParts(git, ['commondir']);
    await refuseLinks(git);
    return readParts(git, git);
  }
  if (!stats.isFile()) throw refused(git, 'is neither a folder nor a file');
  const target = /^gitdir: (.+)\n?$/.exec((await readText(git)) ?? '')?.[1];
  if (target === undefined) throw refused(git, 'is a file that leads to no repository');
  const dir = await realpath(resolve(folder, target));
  const common = await realpath(resolve(dir, (await readText(join(dir, 'commondir')))?.trim() ?? '.'));
  const inside = (await realpath(workspace)) + sep;
  if (dir.startsWith(inside)) {
    if (!common.startsWith(inside)) throw refused(dir, `leads to ${common}, outside of the workspace`);
    await refuseLinks(common);
  } else {
    const back = (await readText(join(dir, 'gitdir')))?.trim();
    if (back === undefined || (await realpath(dirname(back)).catch(() => null)) !== (await realpath(folder)))
      throw refused(git, `leads to ${dir}, which does not know it as its worktree`);
  }
  return readParts(dir, common);
}

async function readParts(dir: string, common: string): Promise<AgentRepository> {
  const { refs, loose } = await readRefs(common);
  const { branch, head } = await readHead(dir, refs);
  const merging = ((await readText(join(dir, 'MERGE_HEAD'))) ?? '').split('\n').filter((line) => OBJECT_ID.test(line));
  return { dir, common, objects: join(common, 'objects'), branch, head, merging, refs, loose };
}

function refused(path: string | Buffer, why: string): Error {
  return gitRefused(
    `${path} ${why}. Baton runs no git on it, because an agent could have made it so. Look at the workspace: keep what you need, then remove the folder, and the next run makes it again`,
  );
}

/** What leads elsewhere, and parts that only git itself can read. */
const FOREIGN = ['commondir', 'gitdir', 'reftable', 'objects/info/alternates', 'objects/info/http-alternates'];
const PLAIN_FILES = ['HEAD', 'packed-refs', 'index', 'MERGE_HEAD', 'info/exclude', 'shallow'];

async function refuseParts(dir: string, names: readonly string[]): Promise<void> {
  for (const name of names)
    if ((await lstat(join(dir, name)).catch(nullIfMissing)) !== null)
      throw refused(dir, `has ${name}, which leads to another repository`);
}

/** Throws `git_refused` when a part of the repository is a link, which could lead to the files of another one. */
async function refuseLinks(dir: string): Promise<void> {
  for (const name of ['info', ...PLAIN_FILES]) {
    const stats = await lstat(join(dir, name)).catch(nullIfMissing);
    if (stats !== null && !(name === 'info' ? stats.isDirectory() : stats.isFile()))
      throw refused(join(dir, name), 'is not plain');
  }
  await checkTree(join(dir, 'objects'));
  await checkTree(join(dir, 'refs'));
  if ((await lstat(join(dir, 'logs')).catch(nullIfMissing)) !== null) await checkTree(join(dir, 'logs'));
}

/** Only folders and files: a link could lead to the objects of another repository. */
async function checkTree(path: string): Promise<void> {
  const stats = await lstat(path).catch(nullIfMissing);
  if (!stats?.isDirectory()) throw refused(path, 'is not a folder');
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (entry.isDirectory()) await checkTree(join(path, entry.name));
    else if (!entry.isFile()) throw refused(join(path, entry.name), 'is not a file');
  }
}

async function readRefs(dir: string): Promise<Pick<AgentRepository, 'refs' | 'loose'>> {
  const refs = new Map<string, string>();
  const packed = (await readText(join(dir, 'packed-refs'))) ?? '';
  for (const line of packed.split('\n')) {
    const [id = '', name = ''] = line.split(' ');
    if (OBJECT_ID.test(id) && isRefName(name)) refs.set(name, id);
  }
  const loose = new Set<string>();
  // Names are read as bytes: a branch whose name is not valid text contains work, too.
  const walk = async (folder: Buffer, prefix: string): Promise<void> => {
    for (const entry of await readdir(folder, { withFileTypes: true, encoding: 'buffer' })) {
      const path = Buffer.concat([folder, Buffer.from(sep), entry.name]);
      const name = prefix + entry.name;
      if (entry.isDirectory()) await walk(path, `${name}/`);
      if (!entry.isFile() || !isRefName(name)) continue;
      const id = ((await readText(path)) ?? '').trim();
      if (!OBJECT_ID.test(id)) continue;
      refs.set(name, id);
      loose.add(name);
    }
  };
  await walk(Buffer.from(join(dir, 'refs')), 'refs/');
  return { refs, loose };
}

async function readHead(
  dir: string,
  refs: ReadonlyMap<string, string>,
): Promise<Pick<AgentRepository, 'branch' | 'head'>> {
  const text = ((await readText(join(dir, 'HEAD'))) ?? '').trim();
  if (OBJECT_ID.test(text)) return { branch: null, head: text };
  const branch = /^ref: (refs\/heads\/.+)$/.exec(text)?.[1];
  if (branch === undefined || !isRefName(branch))
    throw refused(join(dir, 'HEAD'), 'names neither a commit nor a branch');
  return { branch, head: refs.get(branch) ?? null };
}

/** The rules of `git check-ref-format`. */
export function isRefName(name: string): boolean {
  if (!name.startsWith('refs/') || name.length > 1000 || name.includes('..') || name.includes('@{')) return false;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  if (/[\x00-\x20\x7f~^:?*[\\]/.test(name)) return false;
  return name.split('/').every((word) => word !== '' && !word.startsWith('.') && !/\.(?:lock)?$/.test(word));
}

/** Null when there is no such file. Follows no link and waits for no pipe. */
export async function readText(path: string | Buffer): Promise<string | null> {
  return (await readPlainFile(path))?.toString() ?? null;
}

export async function readPlainFile(path: string | Buffer): Promise<Buffer | null> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await open(path, flags).catch(nullIfMissing);
  if (handle === null) return null;
  try {
    const stats = await handle.stat();
    if (!stats.isFile() || stats.size > MAX_FILE_BYTES) throw refused(path, 'is not a plain file of a sensible size');
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

/** The commit of a nested repository or a submodule. Null before the first commit. `workspace` is a real path. */
export async function nestedHead(workspace: string, path: Buffer): Promise<string | null> {
  const folder = Buffer.concat([Buffer.from(workspace + sep), path]).toString();
  // A link on the way would lead to a repository elsewhere.
  if ((await realpath(folder).catch(nullIfMissing)) !== folder) return null;
  if ((await lstat(join(folder, '.git')).catch(nullIfMissing)) === null) return null;
  const { dir, head } = await readLinkedRepository(folder, workspace);
  await refuseParts(dir, FOREIGN);
  return head;
}

/** Replaces a file of the repository. A link in its place is replaced too, not followed. */
export async function replaceFile(path: string, content: string | Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const temporary = `${path}.baton-${process.pid}`;
  await rm(temporary, { force: true });
  await writeFile(temporary, content, { flag: 'wx' });
  await rename(temporary, path);
}

/** Moves HEAD, or the branch that it stands on, to a commit. */
export async function moveHead(
  { dir, branch }: Pick<AgentRepository, 'dir' | 'branch'>,
  commit: string,
): Promise<void> {
  await replaceFile(join(dir, branch ?? 'HEAD'), `${commit}\n`);
  for (const name of ['MERGE_HEAD', 'MERGE_MSG', 'MERGE_MODE', 'CHERRY_PICK_HEAD', 'REVERT_HEAD'])
    await rm(join(dir, name), { force: true });
}

/** Replaces what the repository knows about its remote, and adds tags that it does not have. */
export async function writeRemoteRefs(
  { dir, refs, loose }: Pick<AgentRepository, 'dir' | 'refs' | 'loose'>,
  remote: ReadonlyMap<string, string>,
  defaultBranch: string,
): Promise<void> {
  const packed = new Map([...refs].filter(([name]) => !loose.has(name) && !name.startsWith(REMOTE)));
  for (const [name, id] of remote) if (name.startsWith(REMOTE) || !refs.has(name)) packed.set(name, id);
  await rm(join(dir, REMOTE), { recursive: true, force: true });
  await writePackedRefs(dir, packed);
  if (remote.has(`${REMOTE}${defaultBranch}`))
    await replaceFile(join(dir, REMOTE, 'HEAD'), `ref: ${REMOTE}${defaultBranch}\n`);
}

export async function writePackedRefs(dir: string, refs: ReadonlyMap<string, string>): Promise<void> {
  const lines = [...refs].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, id]) => `${id} ${name}\n`);
  await replaceFile(join(dir, 'packed-refs'), `# pack-refs with: sorted \n${lines.join('')}`);
}

const REMOTE = 'refs/remotes/origin/';

export function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
  throw error;
}
