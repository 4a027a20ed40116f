/** The candidate that `word` is probably a misspelling of, or null. Words that differ only in digits do not match. */
export function nearestWord(word: string, candidates: readonly string[]): string | null {
  const wanted = canonical(word);
  // A longer word is not a typing error, and the cost is quadratic.
  if (wanted.length > 60) return null;
  let best: { word: string; distance: number } | null = null;
  for (const candidate of candidates) {
    const other = canonical(candidate);
    if (other !== wanted && withoutDigits(other) === withoutDigits(wanted)) continue;
    const distance = editDistance(wanted, other);
    const limit = Math.max(1, Math.floor(Math.min(wanted.length, candidate.length) / 3));
    if (distance <= limit && (best === null || distance < best.distance)) best = { word: candidate, distance };
  }
  return best?.word ?? null;
}

/** Treats `maxTurns`, `max-turns` and `max_turns` as one word. */
function canonical(word: string): string {
  return word
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase();
}

function withoutDigits(word: string): string {
  return word.replace(/\d+/g, '');
}

/** The number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
      );
      const isSwap = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (isSwap) cost = Math.min(cost, (beforeLast[column - 2] ?? 0) + 1);
      current.push(cost);
    }
    beforeLast = last;
    last = current;
  }
  return last[b.length] ?? 0;
}
