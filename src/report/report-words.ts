import type { Cost, RunState } from './report.js';

/** Without the currency. `?`: nothing of it has a price. */
export function amountOf({ amount, isPartial }: Cost): string {
  if (!isPartial) return amount > 0 && amount < 0.005 ? '<0.01' : amount.toFixed(2);
  return amount === 0 ? '?' : `≥ ${amount.toFixed(2)}`;
}

/** In a sentence. */
export function moneyOf({ amount, isPartial }: Cost, currency: string): string {
  if (!isPartial) return `${amountOf({ amount, isPartial })} ${currency}`;
  return amount === 0 ? 'no price known' : `at least ${amount.toFixed(2)} ${currency}`;
}

export function duration(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

export const RUN_WORDS: { readonly [state in RunState]: string } = {
  success: 'succeeded',
  failed: 'failed',
  timeout: 'took too long',
  cancelled: 'stopped',
  running: 'not ended yet',
};
