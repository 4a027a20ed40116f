/** How Backlog.md names files: `task-12.1 - Some-title.md`. */
const FILE_NAME = /^([a-z]+-[a-z0-9]+(?:[._-][a-z0-9]+)*)(?= -|\.md$)/i;
const ID_LINE = /^["']?id["']?[ \t]*:[ \t]*["']?([a-z]+-[a-z0-9]+(?:[._-][a-z0-9]+)*)/im;
/** An id stands among the first lines; what looks like one further down is text. */
const HEAD_CHARS = 4_096;

/**
 * One form for all spellings that Backlog.md takes for the same task: `task-1`, `TASK-01` and, with that prefix, `1` are
 * `TASK-1`.
 */
export function canonicalId(written: string, prefix: string): string {
  const text = written.trim();
  const parts = /^(?:([a-z]+)-)?(\d+(?:\.\d+)*)$/i.exec(text);
  if (!parts) return text.toUpperCase();
  const numbers = (parts[2] ?? '').split('.').map((digits) => digits.replace(/^0+(?=\d)/, ''));
  return `${(parts[1] ?? prefix).toUpperCase()}-${numbers.join('.')}`;
}

/** The id that a file's name tells, as written there; null for names that Backlog.md does not give. */
export function idInFileName(name: string): string | null {
  return FILE_NAME.exec(name)?.[1] ?? null;
}

/** The id of a task whose text as a whole makes no sense (yet). */
export function idInBrokenText(text: string): string | null {
  return ID_LINE.exec(text.slice(0, HEAD_CHARS))?.[1] ?? null;
}
