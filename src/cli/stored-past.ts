import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { RunRecord } from '../domain/durable.js';
import { findIssue } from '../domain/issue.js';
import { withStoredCopy } from '../store/read-stored.js';
import { openSqliteStore } from '../store/sqlite-store.js';

interface StoredIssue {
  /** Null when nothing is stored of the issue. */
  readonly identifier: string | null;
  readonly records: readonly RunRecord[];
  /** All identifiers of the store. */
  readonly known: readonly string[];
}

const MAX_RUNS = 50;
/** Identifiers of so many recent runs are known. */
const MAX_RECENT = 1_000;

/** What is stored of the runs of an issue. */
export async function readPast(stateDir: string, issue: string): Promise<StoredIssue> {
  if (!existsSync(join(stateDir, 'baton.db'))) return { identifier: null, records: [], known: [] };
  return withStoredCopy(stateDir, async (dir) => {
    const store = openSqliteStore({ dir, onWarning: () => {} });
    try {
      const [recent, { claims, finished }] = await Promise.all([store.past.runs({ limit: MAX_RECENT }), store.load()]);
      const claimed = Object.values(claims).map((claim) => claim.issue);
      const known = [...new Set([...claimed, ...finished, ...recent].map((one) => one.identifier))];
      const name = findIssue(known, issue, (identifier) => ({ id: identifier, identifier })) ?? issue;
      const records = await store.past.runs({ issue: name, limit: MAX_RUNS });
      // The store also finds an issue by its id.
      const identifier = records[0]?.identifier ?? (known.includes(name) ? name : null);
      return { identifier, records, known };
    } finally {
      await store.close();
    }
  });
}
