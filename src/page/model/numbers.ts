/** `941`, `12.4k`, `2.4M`: as short as a person can still compare. */
export function shortCount(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size < 1_000) return String(Math.round(value));
  if (size < 999_500) return `${digits(value / 1_000)}k`;
  if (size < 999_500_000) return `${digits(value / 1_000_000)}M`;
  return `${digits(value / 1_000_000_000)}G`;
}

/** `1,234,567`, in the way of whoever looks. */
export function fullCount(value: number): string {
  return Number.isFinite(value) ? value.toLocaleString() : '–';
}

/** `1 issue`, `2 issues`. */
export function counted(count: number, noun: string): string {
  return `${fullCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** Which part of a cap is spent, from 0 to 1; `null` without a cap. */
export function shareOf({ spent, limit }: { readonly spent: number; readonly limit: number | null }): number | null {
  if (limit === null || !(limit > 0)) return null;
  return Math.min(1, Math.max(0, spent / limit));
}

function digits(value: number): string {
  const shown = Math.abs(value) < 99.95 ? value.toFixed(1) : value.toFixed(0);
  return shown.replace(/\.0$/, '');
}
