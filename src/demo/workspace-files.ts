import { lstatSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';

// Access to the files of the workspace, and to the agent's notes in `.demo/`, which git ignores. Nothing outside is changed.

const NOTES = '.demo';

interface FileChange {
  readonly path: string;
  readonly kind: { readonly type: 'add' } | { readonly type: 'update'; readonly move_path: null };
  /** The whole text of a new file, or a unified diff of a changed one, as codex sends it. */
  readonly diff: string;
}

/** Returns `null` when the path leads outside the workspace, into `.git` or `.demo`, or through a symlink. */
export function fileChange(root: string, path: string, text: string): FileChange | null {
  const target = resolve(root, path);
  const parts = relative(root, target).split(sep);
  if (isAbsolute(path) || parts.some((part) => ['', '..', '.git', NOTES].includes(part))) return null;
  if (!isOrdinary(root, parts)) return null;
  const before = readIfExists(target);
  if (before === null) return { path: target, kind: { type: 'add' }, diff: text };
  return { path: target, kind: { type: 'update', move_path: null }, diff: unifiedDiff(before, text) };
}

export function writeText(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

export function readNote(root: string, name: string): string | null {
  return isOrdinary(root, [NOTES, name]) ? readIfExists(join(root, NOTES, name)) : null;
}

export function writeNote(root: string, name: string, text: string): void {
  if (![name, '.gitignore'].every((each) => isOrdinary(root, [NOTES, each])))
    throw new Error(`${NOTES} in the workspace is not a folder of the demo agent`);
  writeText(join(root, NOTES, '.gitignore'), '*\n');
  writeFileSync(join(root, NOTES, name), text);
}

/** True when the path consists of folders and ends in a file or does not exist. */
function isOrdinary(root: string, parts: readonly string[]): boolean {
  let path = realpathSync(root);
  for (const [index, part] of parts.entries()) {
    path = join(path, part);
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (!stats) return true;
    if (index < parts.length - 1 ? !stats.isDirectory() : !stats.isFile()) return false;
  }
  return true;
}

function readIfExists(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** One hunk from the first different line to the last. */
function unifiedDiff(before: string, after: string): string {
  const [old, now] = [linesOf(before), linesOf(after)];
  let head = 0;
  while (head < Math.min(old.length, now.length) && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < Math.min(old.length, now.length) - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  const removed = old.slice(head, old.length - tail);
  const added = now.slice(head, now.length - tail);
  if (removed.length + added.length === 0) return '';
  const range = (lines: readonly string[]) => `${lines.length === 0 ? head : head + 1},${lines.length}`;
  const hunk = [...removed.map((line) => `-${line}`), ...added.map((line) => `+${line}`)];
  return `@@ -${range(removed)} +${range(added)} @@\n${hunk.join('\n')}\n`;
}

function linesOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
