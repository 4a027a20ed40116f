import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import type { KnownSecrets } from '../../src/domain/find-secrets.js';
import { type Change, changedSince, entriesOf } from './changed-paths.js';
import { changesInstallScripts, type PathRule, ruleFor } from './protected-paths.js';
import { type PushedSecret, secretsIn } from './pushed-secrets.js';
import { printable, type WorkspaceGit } from './workspace-git.js';

/** What a person must approve before it is pushed. */
export interface Hold {
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
  /** The commits of the remote that it builds on. */
  readonly bases: readonly string[];
  /** The commits that the remote does not have. */
  readonly commits: readonly string[];
  readonly rules: readonly PathRule[];
  /** Prints of the secrets that the daemon knows. */
  readonly secrets: KnownSecrets | null;
}

/** Returns null when nothing needs a person. */
export async function reviewPush(git: WorkspaceGit, request: ReviewRequest): Promise<Hold | null> {
  const { bases, commit, commits, url, branch, secrets: known } = request;
  const held = await protectedChanges(git, await changedSince(git, bases, commit), request);
  const secrets = await secretsIn(git, commits, known);
  if (held.length === 0 && secrets.length === 0) return null;
  const facts = [
    ...[url, branch],
    held.map(({ path, mode, id }) => [path, mode, id].join(' ')).sort(),
    secrets.map(({ path, kind, hash }) => [path, kind, hash].join(' ')).sort(),
  ];
  const digest = createHash('sha256').update(JSON.stringify(facts)).digest('hex');
  const diff = await diffOf(git, bases[0] ?? null, commit, held);
  const hidesDiff = secrets.length > 0 && held.length > 0;
  const body = hidesDiff
    ? 'The diff may contain the secret and is not shown, so this can only be declined.'
    : diff.text;
  const text = [...secretLines(secrets, branch), ...protectedLines(held, branch), body].join('\n');
  return { digest, text: text.slice(0, MAX_TEXT), isCut: hidesDiff || diff.isCut || text.length > MAX_TEXT };
}

function secretLines(secrets: readonly PushedSecret[], branch: string): string[] {
  if (secrets.length === 0) return [];
  const named = secrets.map(({ path, line, kind, excerpt }) => `  ${path}:${line}  ${kind}  ${excerpt}`);
  return [`The push to ${branch} contains what looks like a secret:`, ...named, ''];
}

function protectedLines(held: readonly Change[], branch: string): string[] {
  if (held.length === 0) return [];
  const named = held.map(({ path }) => `  ${printable(path)}`);
  return [`The push to ${branch} changes protected files, which may run something elsewhere:`, ...named, ''];
}

const MAX_TEXT = 32_000;
const MAX_BLOB = 1_000_000;

async function protectedChanges(
  git: WorkspaceGit,
  changes: readonly Change[],
  { commit, bases, rules }: ReviewRequest,
): Promise<Change[]> {
  if (changes.length === 0) return [];
  const entries = await entriesOf(git, commit);
  const targets = await linkTargets(git, [...entries.values()], rules);
  const held: Change[] = [];
  for (const change of changes) {
    const path = printable(change.path);
    const rule = ruleFor(path, rules, isLink(change.mode));
    const isLedTo = targets.some((target) => path === target || path.startsWith(`${target}/`));
    if (rule?.action === 'allow' || (rule?.action !== 'ask' && !isLedTo)) continue;
    if (isLedTo || rule?.onlyInstallScripts !== true || (await scriptsDiffer(git, change, bases))) held.push(change);
  }
  return held;
}

function isLink(mode: string): boolean {
  return mode === '120000' || mode === '160000';
}

/** Where symlinks at protected paths lead: a change there is a change of the protected path. */
async function linkTargets(
  git: WorkspaceGit,
  entries: readonly Change[],
  rules: readonly PathRule[],
): Promise<string[]> {
  const targets: string[] = [];
  for (const { path, mode, id } of entries) {
    if (mode !== '120000' || ruleFor(printable(path), rules, true)?.action !== 'ask') continue;
    const target = printable((await git.run(['cat-file', 'blob', id])).slice(0, 4096));
    targets.push(posix.normalize(posix.join(posix.dirname(printable(path)), target)).replace(/\/$/, ''));
  }
  return targets;
}

async function scriptsDiffer(git: WorkspaceGit, change: Change, bases: readonly string[]): Promise<boolean> {
  if (isLink(change.mode)) return true;
  const after = await blob(git, change.mode === '000000' ? null : change.id);
  if (after !== null && after.length > MAX_BLOB) return true;
  const olds = bases.length === 0 ? [null] : bases;
  for (const base of olds) {
    const before = base === null ? null : (await entriesOf(git, base)).get(change.path);
    if (!changesInstallScripts(await blob(git, before?.id ?? null), after)) return false;
  }
  return true;
}

async function blob(git: WorkspaceGit, id: string | null): Promise<string | null> {
  return id === null ? null : Buffer.from(await git.run(['cat-file', 'blob', id]), 'latin1').toString();
}

/** `--text`, because a NUL or an attribute must not hide a change from the person who reads it. */
async function diffOf(
  git: WorkspaceGit,
  base: string | null,
  commit: string,
  held: readonly Change[],
): Promise<{ readonly text: string; readonly isCut: boolean }> {
  if (held.length === 0) return { text: '', isCut: false };
  const from = base ?? (await git.run(['hash-object', '-w', '-t', 'tree', '--stdin'], { input: '' }));
  const names = held.slice(0, MAX_PATHS).map(({ path }) => Buffer.from(path, 'latin1').toString());
  const isText = names.every((name, index) => Buffer.from(name).toString('latin1') === held[index]?.path);
  const flags = ['--text', '--no-ext-diff', '--no-textconv', '--no-color', '--no-renames', '--submodule=short'];
  const literal = names.map((name) => `:(top,literal)${name}`);
  const diff = await git.run(['diff', ...flags, '--ignore-submodules=none', from, commit, '--', ...literal]);
  return { text: Buffer.from(diff, 'latin1').toString(), isCut: !isText || held.length > MAX_PATHS };
}

const MAX_PATHS = 100;
