/** Redmine keeps them in 32 bits: a larger one is no issue, and some databases fail over it. */
const MAX_NUMBER = 2 ** 31 - 1;

/** The number of an issue from what people and we write: `12`, `#12`, `RM-12`. `null`: it is none. */
export function issueNumberOf(written: string): number | null {
  const digits = /^(?:RM-|#)?([1-9]\d{0,9})$/i.exec(written.trim())?.[1];
  const number = Number(digits ?? Number.NaN);
  return number <= MAX_NUMBER ? number : null;
}

export function identifierOf(number: number): string {
  return `RM-${number}`;
}

/** An id in an answer. */
export function numberIn(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : null;
}
