const WORDS: { readonly [word: string]: number } = { critical: 1, urgent: 1, high: 2, medium: 3, low: 4 };

/** For trackers without priorities, so that people write them into labels: `p1`, `priority: p1`, `priority/high`, `priority::1`. The most urgent counts. */
export function priorityOf(labels: readonly string[]): number | null {
  let urgent: number | null = null;
  for (const label of labels) {
    const found = priorityIn(label.trim().toLowerCase());
    if (found !== null && (urgent === null || found < urgent)) urgent = found;
  }
  return urgent;
}

function priorityIn(label: string): number | null {
  if (!label.startsWith('p')) return null;
  const [, bare] = /^p([1-4])$/.exec(label) ?? [];
  if (bare !== undefined) return Number(bare);
  const [, digit, word = ''] = /^priority[:/ -]{1,3}(?:p?([1-4])|([a-z]+))$/.exec(label) ?? [];
  return digit === undefined ? (Object.hasOwn(WORDS, word) ? (WORDS[word] ?? null) : null) : Number(digit);
}
