/**
 * Reads tables as GitHub's Markdown does. Readers disagree on backslashes before a pipe: for some it escapes whatever stands before
 * it, for others backslashes escape each other first. A table must be the same to both.
 */
export const ROW_READERS: readonly ((row: string) => string[])[] = [
  (row) => cellsOf(row.split(/(?<!\\)\|/)),
  (row) => {
    const cells = [''];
    for (const [piece] of row.matchAll(/\\[\s\S]|[\s\S]/g)) {
      if (piece === '|') cells.push('');
      else cells[cells.length - 1] += piece;
    }
    return cellsOf(cells);
  },
];

/** What a code span shows; `null`: the text is not one code span and nothing else. */
export function codeOf(text: string): string | null {
  const fence = /^`+/.exec(text)?.[0];
  if (fence === undefined) return null;
  const rest = text.slice(fence.length);
  const close = Array.from(rest.matchAll(/`+/g)).find(([run]) => run.length === fence.length);
  if (close === undefined || close.index + fence.length !== rest.length) return null;
  const content = rest.slice(0, close.index);
  return /^ .*[^ ].* $/s.test(content) ? content.slice(1, -1) : content;
}

function cellsOf(parts: readonly string[]): string[] {
  return parts.slice(1, -1).map((cell) => cell.trim().replaceAll('\\|', '|'));
}
