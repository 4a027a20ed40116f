import { LEDGER_DAYS, type Ledger } from '../domain/durable.js';

/** What a daemon needs to know of the past; the rest stays in the store. */
export function newestDays(ledger: Ledger): Ledger {
  const days = Object.entries(ledger).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(days.slice(-LEDGER_DAYS));
}
