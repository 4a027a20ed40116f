/**
 * `950`, `4.5k`, `120k`, `1.2M`: a count in its short form, above all of tokens. All output for people uses this form; output for
 * programs has the exact number.
 */
export function formatTokens(tokens: number): string {
  if (!Number.isFinite(tokens)) return '–';
  if (tokens < 1_000) return String(Math.round(tokens));
  if (tokens < 999_500) return `${threeDigits(tokens / 1_000)}k`;
  if (tokens < 999_500_000) return `${threeDigits(tokens / 1_000_000)}M`;
  return `${threeDigits(tokens / 1_000_000_000)}G`;
}

function threeDigits(value: number): string {
  return value < 99.95 ? value.toFixed(1).replace(/\.0$/, '') : String(Math.round(value));
}

/** `120k of 10M tokens`. */
export function formatBudget({ spent, limit }: { readonly spent: number; readonly limit: number | null }): string {
  return `${formatTokens(spent)}${limit === null ? '' : ` of ${formatTokens(limit)}`} tokens`;
}

/** `1 run`, `2 runs`, `1,500 runs`. */
export function counted(count: number, noun: string): string {
  return `${String(count).replace(/\B(?=(?:\d{3})+$)/g, ',')} ${noun}${count === 1 ? '' : 's'}`;
}
