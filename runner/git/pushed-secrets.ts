import { createHash } from 'node:crypto';
import { findSecrets, type KnownSecrets, TOO_LARGE } from '../../src/domain/find-secrets.js';
import { type Entry, touchedPaths } from './changed-paths.js';
import { printable, type WorkspaceGit } from './workspace-git.js';

/** A secret in what a push would add. */
export interface PushedSecret {
  /** The file, or `commit message`. */
  readonly path: string;
  readonly kind: string;
  readonly line: number;
  /** Masked. */
  readonly excerpt: string;
  /** Of the text that contains it, for the digest of an approval. */
  readonly hash: string;
}

const MAX_BLOB_BYTES = 32 * 1024 * 1024;
const MAX_TOTAL_BYTES = 128 * 1024 * 1024;
const EMPTY = '0'.repeat(40);

/** Looks at the lines that the commits add, at their messages and at the names of their files. A secret that a later commit removes counts too. */
export async function secretsIn(
  git: WorkspaceGit,
  commits: readonly string[],
  known: KnownSecrets | null,
): Promise<PushedSecret[]> {
  const changes = (await touchedPaths(git, commits)).flatMap((touched) => touched.changes);
  const names = [...new Set(changes.map(({ path }) => printable(path)))].join('\n');
  const messages = Buffer.from(await git.run(['cat-file', '--batch'], { input: lines(commits) }), 'latin1').toString();
  const found = [...inText('names of files', names, null, known), ...inText('commit message', messages, null, known)];
  const large = await tooLarge(git, changes);
  if (large.length > 0)
    return [...found, ...large.map(({ path, id }) => ({ path, kind: TOO_LARGE, line: 1, excerpt: '', hash: id }))];
  for (const { path, text, numbers } of addedTexts(await patchOf(git, commits)))
    found.push(...inText(path, text, numbers, known));
  return found;
}

function lines(words: readonly string[]): string {
  return words.map((word) => `${word}\n`).join('');
}

function inText(
  path: string,
  text: string,
  numbers: readonly number[] | null,
  known: KnownSecrets | null,
): PushedSecret[] {
  const all = text.split('\n');
  return findSecrets(text, known).map(({ kind, line, excerpt }) => {
    const hash = createHash('sha256')
      .update(all.slice(line - 1, line + 1).join('\n'))
      .digest('hex');
    return { path, kind, line: numbers?.[line - 1] ?? line, excerpt, hash };
  });
}

/** Files that cannot be scanned; all of them when they are too much together. */
async function tooLarge(
  git: WorkspaceGit,
  changes: readonly Entry[],
): Promise<readonly { readonly path: string; readonly id: string }[]> {
  const blobs = changes.filter(({ id, mode }) => !id.startsWith(EMPTY) && mode !== '160000');
  if (blobs.length === 0) return [];
  const input = lines(blobs.map(({ id }) => id));
  const sizes = (await git.run(['cat-file', '--batch-check=%(objectsize)'], { input })).split('\n').map(Number);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const isTooMuch = total > MAX_TOTAL_BYTES;
  return blobs.flatMap(({ path, id }, index) =>
    isTooMuch || (sizes[index] ?? 0) > MAX_BLOB_BYTES ? [{ path: printable(path), id }] : [],
  );
}

/** `--text`, because neither a NUL nor an attribute may hide a line. */
async function patchOf(git: WorkspaceGit, commits: readonly string[]): Promise<string> {
  const args = ['--stdin', '-r', '-c', '--root', '-p', '-U0', '--text', '--no-renames', '--no-commit-id'];
  const safe = ['--no-ext-diff', '--no-textconv', '--no-color', '--src-prefix=a/', '--dst-prefix=b/'];
  const patch = await git.run(['diff-tree', ...args, ...safe], { input: lines(commits) });
  return Buffer.from(patch, 'latin1').toString();
}

interface AddedText {
  readonly path: string;
  readonly text: string;
  /** The line in the file of each line of the text. */
  readonly numbers: readonly number[];
}

/** The added lines of each file of a patch, also of one with several parents. */
function* addedTexts(patch: string): Generator<AddedText> {
  let path = '';
  let parents = 0;
  let number = 0;
  let added: string[] = [];
  let numbers: number[] = [];
  for (const line of patch.split('\n')) {
    const hunk = /^(@@+) .*?\+(\d+)(?:,\d+)? @@/.exec(line);
    if (line.startsWith('diff --')) {
      if (added.length > 0) yield { path, text: added.join('\n'), numbers };
      [path, parents, added, numbers] = ['', 0, [], []];
    } else if (parents === 0 && line.startsWith('+++ ')) {
      path = line
        .slice(4)
        .replace(/^"?b\//, '')
        .replace(/"$/, '');
    } else if (hunk !== null && !line.startsWith('+')) {
      parents = (hunk[1]?.length ?? 2) - 1;
      number = Number(hunk[2]);
    } else if (parents > 0 && line.slice(0, parents).includes('+')) {
      added.push(line.slice(parents));
      numbers.push(number);
      number += 1;
    } else if (parents > 0 && line.slice(0, parents).trim() === '' && line !== '') number += 1;
  }
  if (added.length > 0) yield { path, text: added.join('\n'), numbers };
}
