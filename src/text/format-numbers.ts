/**
 * `950`, `4.5k`, `120k`, `1.2M`: a number of tokens as people compare it. Everything that people read says it like this; what programs
 * read has the exact number.
 */
export function formatTokens(tokens: number): string {
  if (tokens < 1_000) return String(Math.round(tokens));
  if (tokens < 999_500) return `${short(tokens / 1_000)}k`;
  if (tokens < 999_500_000) return `${short(tokens / 1_000_000)}M`;
  return `${short(tokens / 1_000_000_000)}G`;
}

function short(value: number): string {
  return value < 99.95 ? value.toFixed(1).replace(/\.0$/, '') : String(Math.round(value));
}

/** `120k of 10M tokens`. */
export function formatBudget({ spent, limit }: { readonly spent: number; readonly limit: number | null }): string {
  return `${formatTokens(spent)}${limit === null ? '' : ` of ${formatTokens(limit)}`} tokens`;
}
