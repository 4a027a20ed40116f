import { join } from 'node:path';
import type { KnownSecrets } from '../../src/domain/find-secrets.js';
import { inertText } from '../../src/domain/inert-text.js';
import { type AgentRepository, moveHead, readAgentRepository, replaceFile } from './agent-repository.js';
import { issueBranch, OWN_BRANCHES } from './branch-name.js';
import { changedPaths, changedSince, type Entry, entriesOf, newCommits, touchedPaths } from './changed-paths.js';
import { gitRefused } from './git.js';
import {
  askRemote,
  fetchRemote,
  type HostRepository,
  pushedCommit,
  recordPush,
  remoteGit,
  remoteRefs,
  userSetting,
  withLock,
} from './host-repository.js';
import { type PathRule, ruleFor } from './protected-paths.js';
import { type HeldPush, reviewPush } from './review-push.js';
import { printable, WorkspaceGit } from './workspace-git.js';

export interface PushRequest {
  readonly workspace: string;
  readonly identifier: string;
  readonly title: string;
  readonly url: string;
  /** The rendered `delivery.branch`; null for the default. */
  readonly branch: string | null;
  readonly baseBranch: string | null;
  readonly rules: readonly PathRule[];
  /** Prints of the secrets that the daemon knows. */
  readonly secrets: KnownSecrets | null;
  /** The digest of a hold that a person approved; null when there is none. */
  readonly approved: string | null;
  /** For commits when the user's git has no identity. */
  readonly author: { readonly name: string; readonly email: string };
}

export interface PushResult {
  /** Lines for users. */
  readonly lines: readonly string[];
  /** The push waits for a person. */
  readonly hold: HeldPush | null;
}

/** Commits the changes in the workspace and pushes them to the branch of the issue. */
export async function pushWork(host: HostRepository, request: PushRequest): Promise<PushResult> {
  const agent = await readAgentRepository(request.workspace);
  if (agent === null) return done(['no git repository in the workspace: nothing to push']);
  const remote = await askRemote(host, []);
  const refs = await withLock(host, async () => {
    await fetchRemote(host);
    return remoteRefs(host);
  });
  const git = await WorkspaceGit.open(host, request.workspace);
  const heads = new Map([...refs].filter(([name]) => name.startsWith(REMOTE)));
  const base = request.baseBranch ?? remote.defaultBranch;
  const branch = issueBranch(request.identifier, request.branch, [remote.defaultBranch, base]);
  const target: Target = {
    branch,
    tip: heads.get(REMOTE + branch) ?? null,
    base: heads.get(REMOTE + base) ?? heads.get(REMOTE + remote.defaultBranch) ?? null,
    known: [...new Set(heads.values())],
    pushed: await pushedCommit(host, branch, heads.get(REMOTE + branch) ?? null),
  };
  const { commit, lines } = await commitWork(git, agent, target, request);
  if (commit === null) return done([...lines, 'no commits: nothing to push']);
  const work = await workToPush(git, commit, target, request);
  lines.push(...work.lines);
  if (work.commit === null) return done([...lines, 'nothing new to push']);
  const force = await judgeTarget(git, work.commit, target);
  const hold = await reviewPush(git, { ...request, ...work, ...target, url: host.url, commit: work.commit });
  if (hold !== null && hold.digest !== request.approved) return { lines, hold };
  await push(git, work.commit, target, force);
  // What the remote has is not saved when the workspace is removed. The agent may have made a folder of this name a file.
  if (work.commit === commit) await replaceFile(join(agent.dir, REMOTE + branch), `${commit}\n`).catch(() => {});
  return done([...lines, `pushed ${work.commit.slice(0, 10)} to ${branch}`]);
}

const REMOTE = 'refs/remotes/origin/';

/** Where the work goes. */
interface Target {
  readonly branch: string;
  /** The commit of the branch at the remote; null when it has no such branch. */
  readonly tip: string | null;
  /** The commit of the base branch at the remote. */
  readonly base: string | null;
  /** The commits of all branches of the remote. */
  readonly known: readonly string[];
  /** What Baton pushed there last. */
  readonly pushed: string | null;
}

function done(lines: readonly string[]): PushResult {
  return { lines, hold: null };
}

interface Committed {
  readonly commit: string | null;
  readonly lines: string[];
}

/** Commits the files of the workspace on top of the agent's HEAD, which then moves there. */
async function commitWork(
  git: WorkspaceGit,
  agent: AgentRepository,
  { known }: Target,
  request: PushRequest,
): Promise<Committed> {
  const { head, merging } = agent;
  const parents = head === null ? [] : [head, ...merging];
  await git.importCommits(parents, known, agent);
  const staged = await git.stage(agent, head);
  const lines = [...staged.notes];
  const cleaned = await leaveOut(git, staged.tree, parents, request.rules);
  lines.push(...notesOf(cleaned.paths));
  if (cleaned.tree === (await git.treeOf(head)) && merging.length === 0) return { commit: head, lines };
  const commit = await makeCommit(git, cleaned.tree, parents, request);
  await git.exportCommits([commit], parents, agent);
  await moveHead(agent, commit);
  await git.exportIndex(agent.dir);
  return { commit, lines };
}

/** Puts back what is never pushed to what the parents have, in the index. */
async function leaveOut(
  git: WorkspaceGit,
  tree: string,
  parents: readonly string[],
  rules: readonly PathRule[],
): Promise<{ readonly tree: string; readonly paths: readonly string[] }> {
  const changes = await changedSince(git, parents, tree);
  const out = changes.filter((change) => isLeftOut(change, rules));
  if (out.length === 0) return { tree, paths: [] };
  await restoreEntries(git, out, parents[0] ?? null);
  return { tree: await git.run(['write-tree']), paths: out.map(({ path }) => path) };
}

function isLeftOut({ path, mode }: Entry, rules: readonly PathRule[]): boolean {
  return ruleFor(printable(path), rules, isLink(mode))?.action === 'leave_out';
}

/** A symlink or a nested repository, which may stand for a folder. */
function isLink(mode: string): boolean {
  return mode === '120000' || mode === '160000';
}

async function restoreEntries(
  git: WorkspaceGit,
  changes: readonly Entry[],
  from: string | null,
  env: { readonly [name: string]: string } = {},
): Promise<void> {
  const lines: string[] = [];
  const gone: string[] = [];
  const entries = from === null ? new Map<string, Entry>() : await entriesOf(git, from);
  for (const { path, id } of changes) {
    const entry = entries.get(path);
    if (entry === undefined) gone.push(`0 ${'0'.repeat(id.length)}\t${path}\0`);
    else lines.push(`${entry.mode} ${entry.id} 0\t${path}\0`);
  }
  // A file may have been replaced by a folder: what is gone makes room first.
  const input = [...gone, ...lines].join('');
  await git.run(['update-index', '--replace', '-z', '--index-info'], { input, env });
}

const MAX_NAMED = 5;

function notesOf(paths: readonly string[]): string[] {
  const named = paths.slice(0, MAX_NAMED).map(printable).join(', ');
  const more = paths.length > MAX_NAMED ? ` and ${paths.length - MAX_NAMED} more` : '';
  return paths.length === 0 ? [] : [`changes of ${named}${more} are never pushed (delivery.protected_paths): left out`];
}

async function makeCommit(
  git: WorkspaceGit,
  tree: string,
  parents: readonly string[],
  request: PushRequest,
): Promise<string> {
  // The title is by the author of the issue. In a commit, "fixes #1" would close another issue and `@name` mention somebody.
  const title = inertText(request.title.replace(/\p{Cc}+/gu, ' ').trim(), {
    isMarkdown: false,
    ownIssue: request.identifier,
  });
  const message = `${request.identifier}: ${title}\n${request.url === '' ? '' : `\n${request.url}\n`}`;
  const args = ['commit-tree', tree, ...parents.flatMap((parent) => ['-p', parent]), '-F', '-'];
  const input = Buffer.from(message).toString('latin1');
  return git.run(args, { input, env: await identity(git.host, request.author) });
}

async function identity(
  host: HostRepository,
  author: PushRequest['author'],
): Promise<{ readonly [name: string]: string }> {
  const { env } = host;
  const userEmail = (await userSetting(host, ['--get', 'user.email'])) || env.EMAIL || '';
  const userName = await userSetting(host, ['--get', 'user.name']);
  const email = userEmail || author.email;
  const name = userName || (userEmail === '' ? author.name : userEmail);
  return {
    GIT_AUTHOR_NAME: env.GIT_AUTHOR_NAME || name,
    GIT_AUTHOR_EMAIL: env.GIT_AUTHOR_EMAIL || email,
    GIT_COMMITTER_NAME: env.GIT_COMMITTER_NAME || name,
    GIT_COMMITTER_EMAIL: env.GIT_COMMITTER_EMAIL || email,
  };
}

export interface WorkToPush {
  /** Null when the remote has all of it. */
  readonly commit: string | null;
  /** The commits that the remote does not have. */
  readonly commits: readonly string[];
  readonly lines: readonly string[];
}

/** The agent's commits; or one commit of ours with their files, when they change what is never pushed. */
async function workToPush(
  git: WorkspaceGit,
  commit: string,
  target: Target,
  request: PushRequest,
): Promise<WorkToPush> {
  const { known, tip, base, pushed } = target;
  const seen = pushed !== null && (await git.has(pushed)) ? [...known, pushed] : known;
  const { commits, boundary } = await newCommits(git, commit, seen);
  if (commits.length === 0) return { commit: null, commits, lines: [] };
  const changes = (await touchedPaths(git, commits)).flatMap((touched) => touched.changes);
  const touched = changes.filter((change) => isLeftOut(change, request.rules));
  if (touched.length === 0) return { commit, commits, lines: [] };

  const parent = await lastKnown(git, commit, tip, base, boundary);
  const clean = await cleanTree(git, commit, parent, request.rules);
  const lines = [
    ...notesOf([...new Set(touched.map(({ path }) => path))]),
    'commits of the agent change them, so one commit without them is pushed',
  ];
  const onto = parent === null ? [] : [parent];
  if ((await sameTree(git, clean, [tip, parent])) !== null) return { commit: null, commits: [], lines };
  const made = await makeCommit(git, clean, onto, request);
  return { commit: made, commits: [made], lines };
}

/** The commit with this tree; null when none has it. */
async function sameTree(git: WorkspaceGit, tree: string, commits: readonly (string | null)[]): Promise<string | null> {
  for (const commit of commits) {
    if (commit !== null && (await git.run(['rev-parse', '--verify', `${commit}^{tree}`])) === tree) return commit;
  }
  return null;
}

/** The commit of the remote that the work builds on: of its own branch, else of the base branch. */
async function lastKnown(
  git: WorkspaceGit,
  commit: string,
  tip: string | null,
  base: string | null,
  boundary: readonly string[],
): Promise<string | null> {
  if (tip !== null && (await git.isAncestor(tip, commit))) return tip;
  if (base !== null) {
    const found = await git.attempt(['merge-base', commit, base]);
    if (found.ok) return found.stdout.trim();
  }
  return boundary[0] ?? null;
}

async function cleanTree(
  git: WorkspaceGit,
  commit: string,
  parent: string | null,
  rules: readonly PathRule[],
): Promise<string> {
  const env = { GIT_INDEX_FILE: `${git.index}-clean` };
  await git.run(['read-tree', commit], { env });
  const changes = await changedPaths(git, parent, commit);
  await restoreEntries(
    git,
    changes.filter((change) => isLeftOut(change, rules)),
    parent,
    env,
  );
  return git.run(['write-tree'], { env });
}

/** Whether the push replaces commits, which it may only when they are ours. Throws when others own the branch. */
async function judgeTarget(git: WorkspaceGit, commit: string, { branch, tip, pushed }: Target): Promise<boolean> {
  if (tip === null) return false;
  const isForward = await git.isAncestor(tip, commit);
  if (isForward && (pushed !== null || branch.startsWith(OWN_BRANCHES))) return false;
  if (pushed === null)
    throw gitRefused(
      branch.startsWith(OWN_BRANCHES)
        ? `${branch} could not be pushed: the remote has commits that are not here`
        : `${branch} is not pushed: the remote has such a branch, and Baton did not make it. Choose another name with delivery.branch`,
    );
  if (tip === pushed) return true;
  throw gitRefused(`${branch} could not be pushed: somebody else pushed to it`);
}

async function push(git: WorkspaceGit, commit: string, { branch, tip, pushed }: Target, force: boolean): Promise<void> {
  const { host } = git;
  const ref = `refs/heads/${branch}`;
  const objects = git.environment();
  const extra = {
    GIT_OBJECT_DIRECTORY: objects.GIT_OBJECT_DIRECTORY ?? '',
    GIT_ALTERNATE_OBJECT_DIRECTORIES: objects.GIT_ALTERNATE_OBJECT_DIRECTORIES ?? '',
  };
  // The lease holds for a new branch too: it must not exist yet.
  const lease = force || tip === null ? [`--force-with-lease=${ref}:${tip ?? ''}`] : [];
  const args = ['push', '--quiet', '--no-verify', ...lease, '--', host.url, `${commit}:${ref}`];
  await recordPush(host, branch, { pushed, pushing: commit });
  const { ok, stderr } = await remoteGit(host, args, true, extra);
  if (!ok)
    throw gitRefused(
      `${branch} could not be pushed: the remote refuses it, or somebody else pushed to it: ${stderr.trim().slice(-1000)}`,
    );
  await recordPush(host, branch, { pushed: commit, pushing: null });
}
