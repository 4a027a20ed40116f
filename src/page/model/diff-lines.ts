/** One file of a unified diff. */
export interface DiffFile {
  readonly path: string;
  readonly added: number;
  readonly removed: number;
  readonly lines: readonly DiffLine[];
}

export interface DiffLine {
  readonly kind: 'added' | 'removed' | 'hunk' | 'meta' | 'same';
  readonly text: string;
}

export function diffFiles(diff: string): DiffFile[] {
  const files: { path: string; lines: DiffLine[] }[] = [];
  let inHunk = false;
  for (const text of diff.replace(/\n$/, '').split('\n')) {
    const begins = text.startsWith('diff --git ');
    // Without a `diff --git` line a file begins with `--- `, which can also be a removed line inside a hunk.
    const beginsPlain = !inHunk && text.startsWith('--- ') && files.at(-1)?.lines.some(({ kind }) => kind === 'hunk');
    if (begins || beginsPlain || files.length === 0) {
      files.push({ path: '', lines: [] });
      inHunk = false;
    }
    const file = files.at(-1);
    if (!file) break;
    if (text.startsWith('@@')) inHunk = true;
    const kind = inHunk ? lineKind(text) : 'meta';
    const path = pathIn(text, kind);
    file.path = path ?? file.path;
    // Lines that only name the file are shown as its heading.
    if (kind !== 'meta' || !/^(?:diff --git |index |--- |\+\+\+ )/.test(text)) file.lines.push({ kind, text });
  }
  return files.map(({ path, lines }) => ({
    path: path === '' ? 'changes' : path,
    added: lines.filter(({ kind }) => kind === 'added').length,
    removed: lines.filter(({ kind }) => kind === 'removed').length,
    lines,
  }));
}

/** Also for text that is a diff only in part, such as a question about file changes. */
export function lineKind(text: string): DiffLine['kind'] {
  if (text.startsWith('@@')) return 'hunk';
  if (text.startsWith('+')) return 'added';
  if (text.startsWith('-')) return 'removed';
  return 'same';
}

/** The new name of the file, or the old one of a deleted file. */
function pathIn(text: string, kind: DiffLine['kind']): string | null {
  if (kind !== 'meta') return null;
  const [, git] = /^diff --git a\/.* b\/(.*)$/.exec(text) ?? [];
  const [, after] = /^\+\+\+ (?:b\/)?(.*)$/.exec(text) ?? [];
  const [, before] = /^--- (?:a\/)?(.*)$/.exec(text) ?? [];
  const found = git ?? after ?? before;
  return found === undefined || found === '/dev/null' ? null : found;
}
