import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { type KnownSecrets, TOO_LARGE } from '../../src/domain/find-secrets.js';
import {
  type Change,
  type CommitChanges,
  changedSince,
  type Entry,
  entriesOf,
  newCommits,
  touchedPaths,
} from './changed-paths.js';
import { changesInstallSettings, foldedName, type PathRule, ruleFor } from './protected-paths.js';
import { type PushedSecret, secretsIn } from './pushed-secrets.js';
import { printable, type WorkspaceGit } from './workspace-git.js';

/** What a person must approve before it is pushed. */
export interface HeldPush {
  /** Identifies exactly this content on this branch. */
  readonly digest: string;
  /** For people: what is held, and the diff. */
  readonly text: string;
  /** The text does not show all of it, so it can only be declined. */
  readonly isCut: boolean;
}

export interface ReviewRequest {
  readonly url: string;
  readonly branch: string;
  readonly commit: string;
  /** The commit of the branch at the remote; null when it has no such branch. */
  readonly tip: string | null;
  /** The commit of the base branch at the remote. */
  readonly base: string | null;
  /** The commits that the remote does not have. */
  readonly commits: readonly string[];
  readonly rules: readonly PathRule[];
  /** Prints of the secrets that the daemon knows. */
  readonly secrets: KnownSecrets | null;
}

/** Returns null when nothing needs a person. */
export async function reviewPush(git: WorkspaceGit, request: ReviewRequest): Promise<HeldPush | null> {
  const { commit, commits, url, branch, secrets: known } = request;
  const { net, passing, from } = await protectedChanges(git, request);
  const held = [...net, ...passing.flatMap(({ changes }) => changes)];
  const secrets = await secretsIn(git, commits, known);
  if (held.length === 0 && secrets.length === 0) return null;
  const facts = [
    ...[url, branch],
    net.map(nameOf).sort(),
    passing.flatMap(({ changes }) => changes.map(nameOf)).sort(),
    secrets.map(({ path, kind, hash }) => [path, kind, hash].join(' ')).sort(),
  ];
  const digest = createHash('sha256').update(JSON.stringify(facts)).digest('hex');
  const start = from ?? (await git.run(['hash-object', '-w', '-t', 'tree', '--stdin'], { input: '' }));
  const diffs = [await diffOf(git, ['diff', '--ignore-submodules=none', start, commit], net)];
  for (const one of passing.slice(0, MAX_COMMITS)) diffs.push(await diffOfCommit(git, one));
  const hidesDiff = secrets.length > 0 && held.length > 0;
  const body = hidesDiff
    ? 'The diff may contain the secret and is not shown, so this can only be declined.'
    : diffs.map((diff) => diff.text).join('\n');
  const text = [...secretLines(secrets, branch), ...protectedLines(held, branch), body].join('\n');
  const isCut = hidesDiff || passing.length > MAX_COMMITS || diffs.some((diff) => diff.isCut);
  return { digest, text: text.slice(0, MAX_TEXT), isCut: isCut || text.length > MAX_TEXT };
}

/** The same path with the same content has the same name. */
function nameOf({ path, mode, id }: Entry): string {
  return [path, mode, id].join(' ');
}

function secretLines(secrets: readonly PushedSecret[], branch: string): string[] {
  const listed = (heading: string, lines: readonly string[]) => (lines.length === 0 ? [] : [heading, ...lines, '']);
  const found = secrets.filter(({ kind }) => kind !== TOO_LARGE);
  const large = secrets.filter(({ kind }) => kind === TOO_LARGE);
  return [
    ...listed(
      `The push to ${branch} contains what looks like a secret:`,
      found.map(({ path, line, kind, excerpt }) => `  ${path}:${line}  ${kind}  ${excerpt}`),
    ),
    ...listed(
      `The files of the push to ${branch} were not searched for secrets, because these are too large for it:`,
      large.map(({ path }) => `  ${path}`),
    ),
  ];
}

function protectedLines(held: readonly Change[], branch: string): string[] {
  if (held.length === 0) return [];
  const named = [...new Set(held.map(({ path }) => `  ${printable(path)}`))];
  return [`The push to ${branch} changes protected files, which may run something elsewhere:`, ...named, ''];
}

const MAX_TEXT = 32_000;
const MAX_BLOB = 1_000_000;
const MAX_COMMITS = 50;

interface ProtectedChanges {
  /** What merging the branch would change in the base branch, apart from what the branch at the remote would change too. */
  readonly net: readonly Change[];
  /** What single commits contain besides. It is at the remote too, and another branch may begin there. */
  readonly passing: readonly CommitChanges[];
  /** Where the branch leaves the base branch; null when they share no commit. */
  readonly from: string | null;
}

/**
 * What the branch of the issue has at the remote, a person has approved or pushed, so it is not asked again. Other branches of the remote
 * do not count: an agent can begin at any commit of them.
 */
async function protectedChanges(git: WorkspaceGit, request: ReviewRequest): Promise<ProtectedChanges> {
  const { commit, commits, tip, base, rules } = request;
  const touched = await touchedPaths(git, commits);
  const from = await mergeBase(git, commit, base);
  const sides = touched.flatMap(({ changes }) => changes.flatMap(sidesOf));
  const targets = await linkTargets(git, [...(await entriesOf(git, commit)).values(), ...sides], rules);
  const protectedOf = async (changes: readonly Change[]) => {
    const found: Change[] = [];
    for (const change of changes) if (await isProtected(git, change, rules, targets)) found.push(change);
    return found;
  };

  const approved = await onBranch(git, tip, base);
  const changes = (await netChanges(git, commit, base)).map((change) => sinceApproved(change, approved.net));
  const net = await protectedOf(changes.filter((change) => !isSame(change, approved.net.get(change.path))));

  const shown = new Set([...approved.commits, ...net].map(nameOf));
  const trees: ReadonlyMap<string, Entry>[] = [];
  for (const one of [from, base]) if (one !== null) trees.push(await entriesOf(git, one));
  const isInBase = ({ path, mode, id }: Entry) =>
    trees.some((tree) => (tree.has(path) ? isSame({ path, mode, id }, tree.get(path)) : mode === GONE));
  const passing: CommitChanges[] = [];
  for (const one of touched) {
    const asked = one.changes.filter((change) => !shown.has(nameOf(change)) && !isInBase(change));
    const held = await protectedOf(asked.map((change) => sinceApproved(change, approved.net)));
    if (held.length > 0) passing.push({ commit: one.commit, changes: held });
  }
  return { net, passing, from };
}

interface OnBranch {
  /** By path. */
  readonly net: ReadonlyMap<string, Entry>;
  readonly commits: readonly Entry[];
}

/** What the branch changes at the remote: in the end, and in each of its commits. */
async function onBranch(git: WorkspaceGit, tip: string | null, base: string | null): Promise<OnBranch> {
  if (tip === null || base === null) return { net: new Map(), commits: [] };
  const net = await netChanges(git, tip, base);
  const touched = await touchedPaths(git, (await newCommits(git, tip, [base])).commits);
  const commits = [...net, ...touched.flatMap(({ changes }) => changes)];
  return { net: new Map(net.map((change) => [change.path, change])), commits };
}

/** Install settings that the branch has at the remote are not new, whatever else changes in their file. */
function sinceApproved(change: Change, net: OnBranch['net']): Change {
  const approved = net.get(change.path);
  return approved === undefined ? change : { ...change, before: [...change.before, approved] };
}

function isSame(one: Entry, other: Entry | undefined): boolean {
  return other !== undefined && nameOf(one) === nameOf(other);
}

/** What merging a commit into the base branch would change there. */
async function netChanges(git: WorkspaceGit, commit: string, base: string | null): Promise<Change[]> {
  return changedSince(git, [await mergeBase(git, commit, base), ...(base === null ? [] : [base])], commit);
}

async function mergeBase(git: WorkspaceGit, commit: string, base: string | null): Promise<string | null> {
  const found = base === null ? null : await git.attempt(['merge-base', commit, base]);
  return found?.ok === true ? found.stdout.trim() : null;
}

/** The rule `leave_out` counts, too: such a change is here only when it has come from another branch of the remote. */
async function isProtected(
  git: WorkspaceGit,
  change: Change,
  rules: readonly PathRule[],
  targets: readonly string[],
): Promise<boolean> {
  const path = printable(change.path);
  const isAnyLink = sidesOf(change).some(isLink);
  const rule = ruleFor(path, rules, isAnyLink);
  const folded = foldedName(path);
  if (targets.some((target) => folded === target || folded.startsWith(`${target}/`))) return true;
  if (rule?.action === 'allow') return false;
  if (rule?.onlyInstallSettings !== true) return rule !== null;
  return isAnyLink || settingsDiffer(git, change);
}

function sidesOf(change: Change): readonly Entry[] {
  return [change, ...change.before];
}

function isLink({ mode }: Entry): boolean {
  return mode === '120000' || mode === '160000';
}

const GONE = '000000';

/**
 * Where symlinks at protected paths lead, also over further links: a change there is a change of the protected path. Names are folded.
 */
async function linkTargets(
  git: WorkspaceGit,
  entries: readonly Entry[],
  rules: readonly PathRule[],
): Promise<readonly string[]> {
  const links = new Map(entries.filter(({ mode }) => mode === '120000').map((entry) => [nameOf(entry), entry]));
  const targets = new Set<string>();
  for (let round = 0; round < MAX_LINKS_IN_A_ROW; round += 1) {
    const before = targets.size;
    for (const { path, id } of links.values()) {
      const text = printable(path);
      const link = foldedName(text);
      const beyond = [...targets].flatMap((one) => (`${one}/`.startsWith(`${link}/`) ? [one.slice(link.length)] : []));
      const isInTarget = [...targets].some((one) => link.startsWith(`${one}/`));
      if (isInTarget || ruleFor(text, rules, true)?.action === 'ask') beyond.push('');
      if (beyond.length === 0) continue;
      const target = printable((await git.run(['cat-file', 'blob', id])).slice(0, 4096));
      const place = posix.normalize(posix.join(posix.dirname(text), target)).replace(/\/$/, '');
      for (const rest of beyond) targets.add(foldedName(place) + rest);
    }
    if (targets.size === before) break;
  }
  return [...targets];
}

const MAX_LINKS_IN_A_ROW = 8;

async function settingsDiffer(git: WorkspaceGit, change: Change): Promise<boolean> {
  const after = await blob(git, change);
  if (after !== null && after.length > MAX_BLOB) return true;
  for (const before of change.before) if (!changesInstallSettings(await blob(git, before), after)) return false;
  return true;
}

async function blob(git: WorkspaceGit, { mode, id }: Entry): Promise<string | null> {
  return mode === GONE ? null : Buffer.from(await git.run(['cat-file', 'blob', id]), 'latin1').toString();
}

interface Diff {
  readonly text: string;
  readonly isCut: boolean;
}

async function diffOfCommit(git: WorkspaceGit, { commit, changes }: CommitChanges): Promise<Diff> {
  const { text, isCut } = await diffOf(git, ['diff-tree', '-p', '-c', '--root', '--no-commit-id', commit], changes);
  return { text: `Commit ${commit.slice(0, 10)} of the branch contains besides:\n${text}`, isCut };
}

/** `--text`, because a NUL or an attribute must not hide a change from the person who reads it. */
async function diffOf(git: WorkspaceGit, command: readonly string[], held: readonly Change[]): Promise<Diff> {
  if (held.length === 0) return { text: '', isCut: false };
  const names = held.slice(0, MAX_PATHS).map(({ path }) => Buffer.from(path, 'latin1').toString());
  const isText = names.every((name, index) => Buffer.from(name).toString('latin1') === held[index]?.path);
  const [verb = '', ...rest] = command;
  const flags = ['--text', '--no-ext-diff', '--no-textconv', '--no-color', '--no-renames', '--submodule=short'];
  const literal = names.map((name) => `:(top,literal)${name}`);
  const diff = await git.run([verb, ...flags, ...rest, '--', ...literal]);
  return { text: Buffer.from(diff, 'latin1').toString(), isCut: !isText || held.length > MAX_PATHS };
}

const MAX_PATHS = 100;
