import { join } from 'node:path';
import { BATON_IDENTITY } from '../../../runner/git/git.js';
import { BUNDLE_FILE, PATCH_FILE } from '../../../runner/workspace/saved-work.js';
import { BatonError } from '../../domain/errors.js';
import { assertNever } from '../../domain/json.js';
import { neutralise } from '../../text/neutralise.js';
import { type BundleHeader, type RecoverableRepository, readBundleHeader, type SavedFolder } from './saved-folders.js';
import type { TargetGit } from './target-git.js';

export interface RestoredBranch {
  readonly part: Part;
  readonly branch: string;
  /** The number of commits that the repository did not have. */
  readonly commits: number;
  /** The summary of the commit with the uncommitted changes, the last one of the branch; null without such changes. */
  readonly changes: string | null;
}

export interface RestoredRepository {
  readonly branches: readonly RestoredBranch[];
  /** The patch of uncommitted changes that applies to no known commit. */
  readonly unappliedPatch: string | null;
}

const NO_BUNDLE: BundleHeader = { prerequisites: [], refs: new Map(), packOffset: 0 };
/** The number of commits to try when the base of the changes was not recorded. */
const MAX_GUESSES = 50;

/** Restores one repository of saved work as new branches, all or none. */
export async function restoreRepository(
  saved: SavedFolder,
  { prefix, head, branch, bundle, patch }: RecoverableRepository,
  git: TargetGit,
): Promise<RestoredRepository> {
  const bundlePath = join(saved.path, prefix + BUNDLE_FILE);
  const header = bundle ? await readBundleHeader(bundlePath) : NO_BUNDLE;
  const isInBundle = (commit: string) => [...header.refs.values()].includes(commit);
  const needed = [...header.prerequisites, ...(head && !isInBundle(head) ? [head] : [])];
  requireFormat([...needed, ...header.refs.values()], git);
  await requireCommits(needed, git);
  if (bundle) await unpack(bundlePath, header, git);

  const patchPath = join(saved.path, prefix + PATCH_FILE);
  const bases = head === undefined ? await guessBases(header, git) : [head];
  const changes = patch ? await commitChanges({ saved, patch: patchPath, bases }, git) : null;
  if (changes?.base && !isInBundle(changes.base)) needed.push(changes.base);
  const wanted = partsOf(header, changes?.commit ?? null, head ?? null, branch);
  const branches = await makeBranches(saved.issue.identifier, wanted, needed, git);
  return {
    branches: branches.map((one) => ({ ...one, changes: one.part.kind === 'work' ? (changes?.stat ?? null) : null })),
    unappliedPatch: patch && changes === null ? patchPath : null,
  };
}

function requireFormat([id]: readonly string[], { dir, objectFormat }: TargetGit): void {
  const saved = id?.length === 64 ? 'sha256' : 'sha1';
  if (id === undefined || saved === objectFormat) return;
  const text = `the saved work uses the object format ${saved}, and ${dir} uses ${objectFormat}. Name a clone of its repository with --into`;
  throw new BatonError('recover_failed', text);
}

async function requireCommits(ids: readonly string[], git: TargetGit): Promise<void> {
  if (ids.length === 0) return;
  const answer = await git.run(['cat-file', '--batch-check=%(objecttype)'], { input: `${ids.join('\n')}\n` });
  const types = answer.split('\n');
  const missing = ids.filter((_, index) => types[index] !== 'commit');
  if (missing.length === 0) return;
  const more = missing.length === 1 ? '' : ` and ${missing.length - 1} more`;
  const fetch = git.isShallow ? 'git fetch --unshallow' : 'git fetch --all';
  throw new BatonError(
    'recover_failed',
    `the saved work builds on commit ${missing[0]}${more}, which ${git.dir} does not have. Fetch it there (${fetch}), or name another clone with --into`,
    { missing },
  );
}

/** Does not use `git fetch`, which before git 2.46 checks no object of a bundle. */
async function unpack(path: string, { packOffset, refs }: BundleHeader, git: TargetGit): Promise<void> {
  const inputFile = { path, offset: packOffset };
  const taken = await git.attempt(['index-pack', '--stdin', '--fix-thin', '--strict'], { inputFile });
  const isIncomplete = /did not receive expected object|unresolved delta/.test(taken.stderr);
  if (!taken.ok && !isIncomplete) {
    const text = `${path} is damaged, or git rejects its content: ${endOf(taken.stderr)}`;
    throw new BatonError('recover_failed', text);
  }
  const input = `${[...new Set(refs.values())].join('\n')}\n`;
  const whole = taken.ok
    ? await git.attempt(['rev-list', '--objects', '--quiet', '--stdin', '--not', '--all'], { input })
    : taken;
  if (whole.ok) return;
  const lacks = `${git.dir} lacks objects that the saved work builds on: ${endOf(whole.stderr)}`;
  throw new BatonError('recover_failed', `${lacks}. Name a complete clone of its repository with --into`);
}

function endOf(stderr: string): string {
  return stderr.trim().slice(-1000);
}

async function guessBases({ prerequisites }: BundleHeader, git: TargetGit): Promise<(string | null)[]> {
  const newest = ['for-each-ref', '--sort=-committerdate', '--format=%(objectname)', `--count=${MAX_GUESSES}`];
  const here = await git.attempt(['rev-parse', '--quiet', '--verify', 'HEAD^{commit}']);
  const tips = (await git.run([...newest, 'refs/remotes', 'refs/heads'])).split('\n');
  const known = [...prerequisites, here.stdout.trim(), ...tips].filter((id) => id !== '');
  return [...new Set(known), null];
}

interface WantedBranch {
  readonly part: Part;
  readonly commit: string;
}

/** The branches to create. The checked-out branch becomes `work`, with the uncommitted changes on top. */
function partsOf(
  { refs }: BundleHeader,
  changes: string | null,
  head: string | null,
  checkedOut: string | null,
): WantedBranch[] {
  const work = changes ?? refs.get('refs/baton/HEAD');
  const wanted: WantedBranch[] = work === undefined ? [] : [{ part: { kind: 'work' }, commit: work }];
  for (const [ref, commit] of refs) {
    const [, kind, name = ''] = /^refs\/(heads|tags|baton\/stash|baton\/staged)(?:\/(.+))?$/.exec(ref) ?? [];
    const isWork = commit === head && work !== undefined && (checkedOut === null || name === checkedOut);
    if (kind === 'heads' && !isWork) wanted.push({ part: { kind: 'branch', name }, commit });
    if (kind === 'tags') wanted.push({ part: { kind: 'tag', name }, commit });
    if (kind === 'baton/stash') wanted.push({ part: { kind: 'stash', number: Number(name) }, commit });
    if (kind === 'baton/staged') wanted.push({ part: { kind: 'staged' }, commit });
  }
  return wanted;
}

async function makeBranches(
  identifier: string,
  wanted: readonly WantedBranch[],
  known: readonly string[],
  git: TargetGit,
) {
  const existing = await git.run(['for-each-ref', '--format=%(refname:lstrip=2)', 'refs/heads/recovered']);
  const parts = wanted.map(({ part }) => part);
  const names = branchNames(identifier, parts, existing.split('\n'));
  if (names === null) {
    const text = `the branch named recovered in ${git.dir} is in the way: rename it (git branch -m recovered <name>)`;
    throw new BatonError('recover_failed', text);
  }
  const made: Omit<RestoredBranch, 'changes'>[] = [];
  const lines: string[] = [];
  for (const [index, { part, commit: object }] of wanted.entries()) {
    const branch = names[index] ?? '';
    // A tag may be an object; a branch needs a commit.
    const commit = await git.run(['rev-parse', '--verify', `${object}^{commit}`]);
    const range = [commit, ...known.map((id) => `^${id}`)].map((word) => `${word}\n`).join('');
    const count = await git.run(['rev-list', '--count', '--stdin'], { input: range });
    made.push({ part, branch, commits: Number(count) });
    lines.push(`create refs/heads/${branch}\0${commit}\0`);
  }
  // All or none.
  if (lines.length > 0)
    await git.run(['update-ref', '--create-reflog', '-m', 'baton recover', '-z', '--stdin'], { input: lines.join('') });
  return made;
}

/** A part of saved work that becomes a branch. */
type Part =
  | { readonly kind: 'work' }
  | { readonly kind: 'branch'; readonly name: string }
  | { readonly kind: 'stash'; readonly number: number }
  | { readonly kind: 'staged' }
  | { readonly kind: 'tag'; readonly name: string };

const FOLDER = 'recovered';
const MAX_LENGTH = 100;

/** New names for the parts, all with the same number. Null when the branch `recovered` prevents all of them. */
function branchNames(identifier: string, parts: readonly Part[], existing: readonly string[]): string[] | null {
  if (existing.includes(FOLDER)) return null;
  for (let number = 1; ; number += 1) {
    const base = `${FOLDER}/${wordOf(identifier)}${number === 1 ? '' : `-${number}`}`;
    const names = parts.map((part) => nameOf(part, base));
    if (!names.some((name) => existing.some((other) => isInTheWay(other, name)))) return names;
  }
}

function nameOf(part: Part, base: string): string {
  switch (part.kind) {
    case 'work':
      return base;
    case 'branch':
      return `${base}-branches/${part.name}`;
    case 'stash':
      return `${base}-stash/${part.number}`;
    case 'staged':
      return `${base}-staged`;
    case 'tag':
      return `${base}-tags/${part.name}`;
    default:
      return assertNever(part);
  }
}

/** Git allows no branch `a` beside a branch `a/b`. Some file systems ignore case. */
function isInTheWay(other: string, name: string): boolean {
  const [one, two] = [other.toLowerCase(), name.toLowerCase()];
  return one === two || one.startsWith(`${two}/`) || two.startsWith(`${one}/`);
}

/** An identifier as a part of a branch name that a person can type. */
function wordOf(identifier: string): string {
  const word = identifier
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/\.{2,}/g, '.')
    .slice(0, MAX_LENGTH)
    .replace(/^[.-]+/, '')
    .replace(/(?:\.lock|[.-])+$/i, '');
  return word === '' ? 'issue' : word;
}

interface ChangesRequest {
  readonly saved: SavedFolder;
  readonly patch: string;
  /** Possible bases of the changes, the likeliest first; null stands for a repository without commits. */
  readonly bases: readonly (string | null)[];
}

/** Commits the uncommitted changes on the first base that they apply to. Null when they apply to none. Moves no branch. */
async function commitChanges(
  { saved, patch, bases }: ChangesRequest,
  git: TargetGit,
): Promise<{ readonly base: string | null; readonly commit: string; readonly stat: string } | null> {
  const env = { GIT_INDEX_FILE: join(git.scratch, 'index') };
  for (const base of bases) {
    await git.run(['read-tree', base ?? '--empty'], { env });
    const apply = ['-c', 'apply.ignoreWhitespace=no', 'apply', '--cached', '--whitespace=nowarn', patch];
    if (!(await git.attempt(apply, { env })).ok) continue;
    const tree = await git.run(['write-tree'], { env });
    const parent = base === null ? [] : ['-p', base];
    const message = messageOf(saved);
    const commit = await git.run(['commit-tree', tree, ...parent], { input: message, env: await identity(git) });
    const stat = await git.run(['diff-tree', '--root', '--no-commit-id', '--shortstat', commit]);
    return { base, commit, stat: stat.trim() };
  }
  return null;
}

function messageOf({ issue, savedAtMs, name }: SavedFolder): string {
  const { identifier, title } = issue;
  return `Uncommitted changes of ${neutralise(identifier)}

${title === '' ? '' : `${neutralise(title)}\n\n`}They were in its workspace when that was removed, at ${new Date(savedAtMs).toISOString()}.
Saved as ${name}.
`;
}

/** The identity of the user, if git knows it. */
async function identity(git: TargetGit): Promise<{ readonly [name: string]: string }> {
  const isKnown =
    (await git.attempt(['var', 'GIT_COMMITTER_IDENT'])).ok && (await git.attempt(['var', 'GIT_AUTHOR_IDENT'])).ok;
  return isKnown ? {} : BATON_IDENTITY;
}
