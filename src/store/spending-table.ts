import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { LEDGER_DAYS, type Ledger, type Spending } from '../domain/durable.js';
import { fromKey, toKey } from './json-table.js';

export interface SpendingTable {
  put(ledger: Ledger): void;
  newestDays(): Ledger;
}

interface Row extends Spending {
  readonly day: string;
  readonly issue_id: string;
}

/** What was spent, by local day and issue. The sum of a day is computed, so that the two cannot disagree. */
export function spendingTable(db: DatabaseSyncInstance): SpendingTable {
  const put = db.prepare(
    'INSERT INTO spending (day, issue_id, input, cached, output, tokens) VALUES (?, ?, ?, ?, ?, ?) ' +
      // What was spent never gets less, whatever a daemon whose clock was elsewhere for a week remembers of that day.
      'ON CONFLICT DO UPDATE SET input = max(input, excluded.input), cached = max(cached, excluded.cached), ' +
      'output = max(output, excluded.output), tokens = max(tokens, excluded.tokens)',
  );
  const newest = db.prepare(
    `SELECT * FROM spending WHERE day IN (SELECT DISTINCT day FROM spending ORDER BY day DESC LIMIT ${LEDGER_DAYS})`,
  );
  return {
    put(ledger) {
      for (const [day, { issues }] of Object.entries(ledger)) {
        for (const [issueId, { input, cached, output, tokens }] of Object.entries(issues)) {
          put.run(day, toKey(issueId), input, cached, output, tokens);
        }
      }
    },
    newestDays() {
      const days = new Map<string, { tokens: number; issues: [string, Spending][] }>();
      for (const { day, issue_id, input, cached, output, tokens } of newest.all() as unknown as Row[]) {
        const entry = days.get(day) ?? { tokens: 0, issues: [] };
        entry.tokens += tokens;
        entry.issues.push([fromKey(issue_id), { input, cached, output, tokens }]);
        days.set(day, entry);
      }
      const ledger = [...days].map(
        ([day, { tokens, issues }]) => [day, { tokens, issues: Object.fromEntries(issues) }] as const,
      );
      return Object.fromEntries(ledger);
    },
  };
}
