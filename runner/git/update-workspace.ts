import { constants } from 'node:fs';
import { copyFile, lstat, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type AgentRepository,
  moveHead,
  readAgentRepository,
  replaceFile,
  writeRemoteRefs,
} from './agent-repository.js';
import { issueBranch } from './branch-name.js';
import { gitRefused, initRepository } from './git.js';
import { askRemote, fetchRemote, type HostRepository, remoteRefs, shown, withLock } from './host-repository.js';
import { WorkspaceGit } from './workspace-git.js';

export interface UpdateRequest {
  readonly workspace: string;
  readonly identifier: string;
  /** The rendered `delivery.branch`; null for the default. */
  readonly branch: string | null;
  /** Null: the default branch of the remote. */
  readonly baseBranch: string | null;
}

const REMOTE = 'refs/remotes/origin/';

/** Clones the remote into an empty workspace, or updates the clone. Never changes local commits and files. Returns lines for users. */
export async function updateWorkspace(host: HostRepository, request: UpdateRequest): Promise<string[]> {
  const remote = await askRemote(host, []);
  const git = await WorkspaceGit.open(host, request.workspace);
  const base = request.baseBranch ?? remote.defaultBranch;
  const branch = issueBranch(request.identifier, request.branch, [remote.defaultBranch, base]);
  const agent = await settleWorkspace(git);
  const { refs, start } = await withLock(host, async () => {
    await fetchRemote(host);
    const refs = await remoteRefs(host);
    const start = refs.get(REMOTE + branch) ?? refs.get(REMOTE + base);
    if (agent !== null) return { refs, start };
    if (start === undefined) throw gitRefused(`${shown(host.url)} has no branch ${base}`);
    await populate(git, { branch, start, refs, defaultBranch: remote.defaultBranch });
    return { refs, start };
  });
  await rememberRemote(git);
  if (agent === null) return [`${branch} at ${start?.slice(0, 10)}`];
  // Without the lock: an agent can make git wait for a file, until the time of the hook is over.
  await exportRemote(git, agent, refs, remote.defaultBranch);
  return fastForward(git, agent, branch, refs.get(REMOTE + branch) ?? null);
}

/** The mark of a workspace that is being filled: a crash leaves it, and the next call begins again. */
const FILLING = 'filling';

/** Returns the repository of a workspace that has one. Empties a workspace whose clone was interrupted. */
async function settleWorkspace(git: WorkspaceGit): Promise<AgentRepository | null> {
  const { workspace, folder } = git;
  const mark = join(folder, FILLING);
  const isFilling = (await lstat(mark).catch(() => null)) !== null;
  const gitEntry = await lstat(join(workspace, '.git')).catch(() => null);
  if (gitEntry?.isFile())
    throw gitRefused(
      `${join(workspace, '.git')} is a file: the workspace is a worktree of another repository, which an earlier version of worktree-from-cache.sh made, or an agent. Baton runs no git on it. Keep what you need, then remove the folder, and the next run clones it anew`,
    );
  const agent = gitEntry === null ? null : await readAgentRepository(workspace);
  if (agent !== null && (agent.head !== null || agent.refs.size > 0)) {
    // Later the folder contains work, which a mark that a crash has left would delete.
    await rm(mark, { force: true });
    return agent;
  }
  const files = (await readdir(workspace)).filter((name) => name !== '.git');
  if (files.length > 0 && !isFilling)
    throw gitRefused(`${workspace} is neither empty nor a git repository: nothing is cloned over it`);
  for (const name of [...files, '.git']) await rm(join(workspace, name), { recursive: true, force: true });
  return null;
}

interface Beginning {
  readonly branch: string;
  readonly start: string;
  readonly refs: ReadonlyMap<string, string>;
  readonly defaultBranch: string;
}

/** `.git` comes last, so a workspace with one is always whole. */
async function populate(git: WorkspaceGit, { branch, start, refs, defaultBranch }: Beginning): Promise<void> {
  const { workspace, folder, host } = git;
  await replaceFile(join(folder, FILLING), '');
  const made = join(folder, 'new');
  await rm(made, { recursive: true, force: true });
  await mkdir(made);
  const format = start.length === 64 ? 'sha256' : 'sha1';
  await initRepository(made, [`--object-format=${format}`], host.env);

  const dir = join(made, '.git');
  await copyPacks(join(host.path, 'objects/pack'), join(dir, 'objects/pack'));
  await writeRemoteRefs({ dir, refs: new Map(), loose: new Set() }, refs, defaultBranch);
  await replaceFile(join(dir, 'HEAD'), `ref: refs/heads/${branch}\n`);
  await moveHead({ dir, branch: `refs/heads/${branch}` }, start);
  await appendRemote(dir, host.url);

  await rm(git.index, { force: true });
  await git.run(['read-tree', '-m', '-u', start]);
  await git.exportIndex(dir);
  await rename(dir, join(workspace, '.git'));
  await rm(made, { recursive: true, force: true });
  await rm(join(folder, FILLING), { force: true });
}

/** Copies, not links: the agent can write to its own. */
async function copyPacks(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  const names = (await readdir(from)).filter((name) => /^pack-[0-9a-f]+\.(?:pack|idx|rev)$/.test(name));
  for (const name of names) await copyFile(join(from, name), join(to, name), constants.COPYFILE_FICLONE);
}

/** Without a password, which the agent could read. */
async function appendRemote(dir: string, url: string): Promise<void> {
  const config = await readFile(join(dir, 'config'), 'utf8');
  const text = shown(url).replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n');
  const section = `[remote "origin"]\n\turl = "${text}"\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n`;
  await replaceFile(join(dir, 'config'), config + section);
}

/** Gives the agent's repository what the remote has since. */
async function exportRemote(
  git: WorkspaceGit,
  agent: AgentRepository,
  refs: ReadonlyMap<string, string>,
  defaultBranch: string,
): Promise<void> {
  const known = await git.presentOf([...agent.refs].flatMap(([name, id]) => (name.startsWith(REMOTE) ? [id] : [])));
  const missing = [...refs].flatMap(([name, id]) => (agent.refs.get(name) === id || known.has(id) ? [] : [id]));
  if (missing.length > 0) await git.exportCommits([...new Set(missing)], [...known], agent);
  await writeRemoteRefs(agent, refs, defaultBranch);
}

/** Takes over commits that others pushed to the branch of the issue, if no local commit or file can get lost. */
async function fastForward(
  git: WorkspaceGit,
  agent: AgentRepository,
  branch: string,
  remote: string | null,
): Promise<string[]> {
  const { head } = agent;
  const name = agent.branch?.replace('refs/heads/', '') ?? 'HEAD';
  const stays = (why: string) => [why, `${name} at ${head?.slice(0, 10) ?? 'no commit'}`];
  if (remote === null || head === remote) return stays(`${branch} has no new commits`);
  if (agent.branch !== `refs/heads/${branch}`) return stays(`HEAD is not on ${branch}: left as it is`);
  if (head !== null && (await git.isAncestor(remote, head, agent.objects)))
    return stays(`${branch} has no new commits`);
  if (await hasChanges(git, agent)) return stays(`uncommitted changes: left as they are, ${branch} is not updated`);
  if (head === null || !(await git.has(head)) || !(await git.isAncestor(head, remote)))
    return stays(`${branch} has commits of its own: left as it is`);
  const moved = await git.attempt(['read-tree', '-m', '-u', head, remote]);
  if (!moved.ok) return stays(`${branch} is not updated, local files are in the way: ${moved.stderr.trim()}`);
  await moveHead(agent, remote);
  await git.exportIndex(agent.dir);
  return [`${name} at ${remote.slice(0, 10)}`];
}

async function hasChanges(git: WorkspaceGit, agent: AgentRepository): Promise<boolean> {
  if (agent.head === null || agent.merging.length > 0) return true;
  await git.importCommits([agent.head], [...(await remoteRefs(git.host)).values()], agent);
  const { tree } = await git.stage(agent, agent.head);
  return tree !== (await git.treeOf(agent.head));
}

const REMOTE_FILE = 'remote';

/** The remote that Baton cloned the workspace from, for a push that names none. The agent cannot change it. */
async function rememberRemote({ folder, host }: WorkspaceGit): Promise<void> {
  await replaceFile(join(folder, REMOTE_FILE), host.url);
}

export async function rememberedRemote(folder: string): Promise<string | null> {
  return readFile(join(folder, REMOTE_FILE), 'utf8').catch(() => null);
}
