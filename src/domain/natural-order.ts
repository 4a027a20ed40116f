/**
 * Names as people order them: `TASK-2` before `TASK-10`, digits compared as numbers. A total order: only equal texts are equal, so the
 * order of a list never depends on how it was before. The same on every machine, whatever its language.
 */
export function naturalOrder(a: string, b: string): number {
  const left = partsOf(a);
  const right = partsOf(b);
  for (let index = 0; index < Math.min(left.length, right.length); index += 1) {
    const order = comparePart(left[index] ?? '', right[index] ?? '');
    if (order !== 0) return order;
  }
  return left.length - right.length || compareText(a, b);
}

/** Texts and numbers in turn; the first one is a text, and may be empty. */
function partsOf(text: string): string[] {
  return text.split(/(\d+)/);
}

/** Without a limit: a number of any length is compared by its digits. */
function comparePart(a: string, b: string): number {
  if (!/^\d+$/.test(a) || !/^\d+$/.test(b)) return compareText(a, b);
  const left = a.replace(/^0+(?=\d)/, '');
  const right = b.replace(/^0+(?=\d)/, '');
  return left.length - right.length || compareText(left, right);
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
