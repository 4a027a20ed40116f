import { type DayLedger, LEDGER_DAYS, type Ledger, type Spending } from '../src/domain/durable.js';
import { addTokens } from './run-record.js';

const EMPTY_DAY: DayLedger = { tokens: 0, issues: {} };
const NOTHING: Spending = { input: 0, cached: 0, output: 0, tokens: 0 };

export function tokensOn(ledger: Ledger, day: string): number {
  return ledger[day]?.tokens ?? 0;
}

/** Adds the spending of an issue to a day. The state keeps the newest days; the store keeps all of them. */
export function addSpending(ledger: Ledger, day: string, issueId: string, spent: Spending): Ledger {
  const before = ledger[day] ?? EMPTY_DAY;
  const known = (Object.hasOwn(before.issues, issueId) ? before.issues[issueId] : undefined) ?? NOTHING;
  const entry = { ...addTokens(known, spent), tokens: known.tokens + spent.tokens };
  const today = { tokens: before.tokens + spent.tokens, issues: { ...before.issues, [issueId]: entry } };
  const days = Object.entries({ ...ledger, [day]: today }).sort(([a], [b]) => (a < b ? -1 : 1));
  const newest = days.slice(-LEDGER_DAYS);
  // Keep today even when entries with a later date exist because the clock was ahead.
  return Object.fromEntries(newest.some(([one]) => one === day) ? newest : [[day, today], ...newest.slice(1)]);
}

/** The entries of these issues on these days. */
export function spendingOf(ledger: Ledger, days: readonly string[], issueIds: readonly string[]): Ledger {
  const parts = days.flatMap((day) => {
    const { tokens, issues } = ledger[day] ?? EMPTY_DAY;
    const entries = issueIds.flatMap((id) => {
      const spent = Object.hasOwn(issues, id) ? issues[id] : undefined;
      return spent ? [[id, spent] as const] : [];
    });
    return entries.length === 0 ? [] : [[day, { tokens, issues: Object.fromEntries(entries) }] as const];
  });
  return Object.fromEntries(parts);
}
