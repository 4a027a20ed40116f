import type { IneligibleView } from '../../status/shapes/entry-shapes.js';

/** How many issues each rule keeps out, by the first rule that they fail; the most frequent first. */
export function groupByRule(ineligible: readonly IneligibleView[]): { rule: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const { reasons } of ineligible) {
    const rule = reasons[0]?.rule ?? 'other';
    counts.set(rule, (counts.get(rule) ?? 0) + 1);
  }
  return [...counts].map(([rule, count]) => ({ rule, count })).sort((a, b) => b.count - a.count);
}
