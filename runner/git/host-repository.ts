import { createHash } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { nullIfMissing, readText, replaceFile } from './agent-repository.js';
import {
  type GitResult,
  gitRefused,
  initRepository,
  isLocalPath,
  localEnvironment,
  remoteEnvironment,
  runGit,
} from './git.js';

/**
 * A bare repository of our own for one remote, outside of every workspace. It contains what the remote has and nothing that an agent
 * made: objects of agents are kept per workspace (`WorkspaceGit`). Everything that talks to the remote happens here.
 */
export interface HostRepository {
  /** The remote, as git gets it. */
  readonly url: string;
  readonly path: string;
  readonly env: { readonly [name: string]: string | undefined };
}

type Environment = HostRepository['env'];

const ATTRIBUTES = `# Attributes of the files that agents write have no effect here.
* -filter -merge diff
`;

/** `gitDir` is the folder of our repositories, `<workspace root>/.baton/git`. */
export async function openHostRepository(given: string, gitDir: string, env: Environment): Promise<HostRepository> {
  const url = await plainUrl(given);
  const path = join(gitDir, `${shortHash(url)}.git`);
  await mkdir(gitDir, { recursive: true, mode: 0o700 });
  return { url, path, env };
}

/** A path becomes absolute, because git does not run in the current folder. */
async function plainUrl(url: string): Promise<string> {
  if (!isLocalPath(url)) return url;
  const path = resolve(url.replace(/^~(?=\/|$)/, homedir()));
  return (await realpath(path).catch(nullIfMissing)) ?? path;
}

export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** The remote's default branch, and the commits of the asked branches that it has. Also makes the repository if there is none. */
export interface RemoteState {
  readonly defaultBranch: string;
  readonly tips: ReadonlyMap<string, string>;
}

export async function askRemote(host: HostRepository, branches: readonly string[]): Promise<RemoteState> {
  await mkdir(host.path, { recursive: true, mode: 0o700 });
  const refs = branches.map((name) => `refs/heads/${name}`);
  const answer = await remoteGit(host, ['ls-remote', '--symref', '--', host.url, 'HEAD', ...refs], false);
  if (!answer.ok) throw gitRefused(`cannot read from ${shown(host.url)}: ${answer.stderr.trim()}`);
  const defaultBranch = /^ref: refs\/heads\/(.*)\tHEAD$/m.exec(answer.stdout)?.[1];
  if (defaultBranch === undefined) throw gitRefused(`${shown(host.url)} has no default branch; is it empty?`);
  const tips = new Map<string, string>();
  for (const [, id = '', name = ''] of answer.stdout.matchAll(/^([0-9a-f]{40,64})\trefs\/heads\/(.*)$/gm)) {
    if (branches.includes(name)) tips.set(name, id);
  }
  const head = /^([0-9a-f]{40,64})\tHEAD$/m.exec(answer.stdout)?.[1] ?? '';
  await withLock(host, () => makeRepository(host, head.length === 64 ? 'sha256' : 'sha1'));
  return { defaultBranch, tips };
}

async function makeRepository({ path, env }: HostRepository, format: string): Promise<void> {
  await removeForeign(path);
  if ((await lstat(join(path, 'info/attributes')).catch(nullIfMissing)) !== null) return;
  await initRepository(path, ['--bare', `--object-format=${format}`], env);
  await mkdir(join(path, 'objects/pack'), { recursive: true });
  await replaceFile(join(path, 'info/attributes'), ATTRIBUTES);
}

/** What `git init` writes, on every system and file system. */
const OWN_SETTINGS =
  /^(?:\[core\]|\[extensions\]|\t(?:repositoryformatversion|filemode|bare|ignorecase|precomposeunicode|symlinks|objectformat|refstorage) = \w+|)$/;
const LEADS_ELSEWHERE = ['commondir', 'objects/info/alternates', 'objects/info/http-alternates'];

/** Removes settings that are not ours, such as `core.sshCommand`: an agent outside of a namespace can write here. */
async function removeForeign(path: string): Promise<void> {
  for (const name of LEADS_ELSEWHERE) await rm(join(path, name), { force: true });
  const config = join(path, 'config');
  const lines = (await readText(config))?.split('\n') ?? [];
  const own = lines.filter((line) => OWN_SETTINGS.test(line));
  if (own.length < lines.length) await replaceFile(config, own.join('\n'));
}

/** Fetches all branches. Call it under the lock. */
export async function fetchRemote(host: HostRepository): Promise<void> {
  await removeLeftLocks(host.path);
  const specs = ['+refs/heads/*:refs/remotes/origin/*'];
  const args = ['fetch', '--quiet', '--prune', '--no-write-fetch-head', '--', host.url, ...specs];
  const { ok, stderr } = await remoteGit(host, args, true);
  if (!ok) throw gitRefused(`cannot fetch from ${shown(host.url)}: ${stderr.trim()}`);
  await joinPacks(host);
}

const MANY_PACKS = 40;

async function joinPacks({ path, env }: HostRepository): Promise<void> {
  const packs = (await readdir(join(path, 'objects/pack'))).filter((name) => name.endsWith('.pack'));
  if (packs.length <= MANY_PACKS) return;
  await runGit({ args: ['repack', '-a', '-d', '-q'], cwd: path, env: { ...localEnvironment(env), GIT_DIR: path } });
}

/** A killed git leaves its lock files. Under our lock no other git can own them. */
async function removeLeftLocks(path: string): Promise<void> {
  for (const name of ['packed-refs.lock', 'config.lock', 'shallow.lock']) await rm(join(path, name), { force: true });
  const refs = await readdir(join(path, 'refs'), { recursive: true, withFileTypes: true });
  for (const { name, parentPath } of refs)
    if (name.endsWith('.lock')) await rm(join(parentPath, name), { force: true });
}

/** The references of the remote's branches and tags. */
export async function remoteRefs({ path, env }: HostRepository): Promise<Map<string, string>> {
  const args = ['for-each-ref', '--format=%(objectname) %(refname)', 'refs/remotes/origin', 'refs/tags'];
  const { ok, stdout, stderr } = await runGit({
    args,
    cwd: path,
    env: { ...localEnvironment(env), GIT_DIR: path },
  });
  if (!ok) throw gitRefused(`${path} cannot be read: ${stderr.trim()}`);
  const lines = stdout.split('\n').filter((line) => line !== '');
  return new Map(lines.map((line) => [line.slice(line.indexOf(' ') + 1), line.slice(0, line.indexOf(' '))]));
}

/** Git with the network. `hasRepository`: the command works on the host repository, not only on a URL. */
export async function remoteGit(
  { url, path, env }: HostRepository,
  args: readonly string[],
  hasRepository: boolean,
  extra: { readonly [name: string]: string } = {},
): Promise<GitResult> {
  const pointers = { GIT_DIR: hasRepository ? path : '/dev/null' };
  const result = await runGit({ args, cwd: path, env: { ...remoteEnvironment(env, url), ...pointers, ...extra } });
  return { ...result, stderr: result.stderr.replace(/(\bhttps?:\/\/)[^/@\s']*@/gi, '$1') };
}

/** A setting of the user, read as a value. */
export async function userSetting(host: HostRepository, args: readonly string[]): Promise<string> {
  const { ok, stdout } = await remoteGit(host, ['config', '--includes', ...args], true);
  return ok ? Buffer.from(stdout, 'latin1').toString().trim() : '';
}

export interface PushRecord {
  /** The commit that Baton pushed last; null when there is none. */
  readonly pushed: string | null;
  /** The commit that is being pushed. After a kill it may be at the remote. */
  readonly pushing: string | null;
}

/**
 * The commit that Baton pushed last to a branch; null when Baton has not made the branch. `tip`: the commit of the branch at the remote,
 * which shows whether a push that was killed has arrived.
 */
export async function pushedCommit(
  { path }: HostRepository,
  branch: string,
  tip: string | null,
): Promise<string | null> {
  const text = await readFile(join(path, 'baton-pushed', shortHash(branch)), 'utf8').catch(nullIfMissing);
  const [pushed = '', , pushing = ''] = text?.split('\n') ?? [];
  if (pushing !== '' && pushing === tip) return pushing;
  return pushed === '' ? null : pushed;
}

export async function recordPush(
  { path }: HostRepository,
  branch: string,
  { pushed, pushing }: PushRecord,
): Promise<void> {
  await replaceFile(join(path, 'baton-pushed', shortHash(branch)), `${pushed ?? ''}\n${branch}\n${pushing ?? ''}\n`);
}

/** A URL without its user and password, for people and for the settings of the workspace. */
export function shown(url: string): string {
  return url.replace(/^(https?:\/\/)[^/@]*@/i, '$1');
}

const LOCK_WAIT_MS = 24 * 60 * 60_000;

/**
 * One user of a repository at a time. The lock is a write transaction, which the kernel ends with its process. Process ids would not do,
 * because hooks run in namespaces of their own. Waiting blocks this program, whose time the hook limits.
 */
export async function withLock<T>({ path }: Pick<HostRepository, 'path'>, act: () => Promise<T>): Promise<T> {
  const db = new DatabaseSync(`${path}.lock`, { timeout: LOCK_WAIT_MS });
  try {
    db.exec('PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE');
    return await act();
  } finally {
    db.close();
  }
}
