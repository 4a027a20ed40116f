import type { BudgetView } from '../../status/shapes/entry-shapes.js';

/** `950`, `12.3k`, `120k`, `1.2M`: what a person compares. */
export function sayCount(count: number): string {
  if (count < 1_000) return String(Math.round(count));
  if (count < 999_500) return `${short(count / 1_000)}k`;
  return `${short(count / 1_000_000)}M`;
}

/** `120k of 10M tokens`. */
export function sayBudget({ spent, limit }: BudgetView): string {
  return `${sayCount(spent)}${limit === null ? '' : ` of ${sayCount(limit)}`} tokens`;
}

function short(value: number): string {
  return value < 99.95 ? value.toFixed(1).replace(/\.0$/, '') : String(Math.round(value));
}
