const CONTEXT = 3;
/** Beyond this many comparisons, the changed middle is shown as one block. */
const MAX_CELLS = 4_000_000;

/** The changes of one text file in the unified format; empty when there are none. */
export function unifiedDiff(name: string, before: string, after: string): string {
  if (before === after) return '';
  const lines = diffLines(before.split('\n'), after.split('\n'));
  const hunks = hunksOf(lines).map(([from, to]) => formatHunk(lines, from, to));
  return [`--- ${name} (allowed)`, `+++ ${name} (now)`, ...hunks].join('\n');
}

/** The first lines of a diff. Cut at the end of a line, because half a secret is not masked. */
export function cutDiff(diff: string, maxChars: number): string {
  return diff.length > maxChars ? diff.slice(0, diff.lastIndexOf('\n', maxChars) + 1) : diff;
}

interface Line {
  readonly mark: ' ' | '-' | '+';
  readonly text: string;
}

/** The lines of both texts in order. Common lines at both ends are set aside, because most edits are small. */
function diffLines(before: readonly string[], after: readonly string[]): Line[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head++;
  let tail = 0;
  const rest = Math.min(before.length, after.length) - head;
  while (tail < rest && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  const same = (text: string): Line => ({ mark: ' ', text });
  return [
    ...before.slice(0, head).map(same),
    ...diffMiddle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...before.slice(before.length - tail).map(same),
  ];
}

/** By the longest common subsequence. */
function diffMiddle(before: readonly string[], after: readonly string[]): Line[] {
  const width = after.length + 1;
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  if (before.length * after.length <= MAX_CELLS) {
    const common = new Uint32Array((before.length + 1) * width);
    const at = (row: number, column: number) => common[row * width + column] ?? 0;
    for (let row = before.length - 1; row >= 0; row--)
      for (let column = after.length - 1; column >= 0; column--)
        common[row * width + column] =
          before[row] === after[column]
            ? at(row + 1, column + 1) + 1
            : Math.max(at(row + 1, column), at(row, column + 1));
    while (i < before.length && j < after.length) {
      if (before[i] === after[j]) {
        lines.push({ mark: ' ', text: before[i] ?? '' });
        i++;
        j++;
      } else if (at(i + 1, j) >= at(i, j + 1)) lines.push({ mark: '-', text: before[i++] ?? '' });
      else lines.push({ mark: '+', text: after[j++] ?? '' });
    }
  }
  for (; i < before.length; i++) lines.push({ mark: '-', text: before[i] ?? '' });
  for (; j < after.length; j++) lines.push({ mark: '+', text: after[j] ?? '' });
  return lines;
}

/** The ranges of lines to show, with context; close ones are one. */
function hunksOf(lines: readonly Line[]): [from: number, to: number][] {
  const hunks: [number, number][] = [];
  for (const [index, { mark }] of lines.entries()) {
    if (mark === ' ') continue;
    const last = hunks.at(-1);
    const [from, to] = [Math.max(0, index - CONTEXT), Math.min(lines.length, index + CONTEXT + 1)];
    if (last && from <= last[1]) last[1] = to;
    else hunks.push([from, to]);
  }
  return hunks;
}

function formatHunk(lines: readonly Line[], from: number, to: number): string {
  const shown = lines.slice(from, to);
  const count = (part: readonly Line[], mark: '-' | '+') =>
    part.filter((line) => [' ', mark].includes(line.mark)).length;
  const start = (mark: '-' | '+') => count(lines.slice(0, from), mark) + 1;
  const range = (mark: '-' | '+') => `${mark}${start(mark)},${count(shown, mark)}`;
  return [`@@ ${range('-')} ${range('+')} @@`, ...shown.map(({ mark, text }) => `${mark}${text}`)].join('\n');
}
