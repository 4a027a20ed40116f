import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Past, pastSince } from '../../report/past-since.js';
import { withStoredCopy } from '../../store/read-stored.js';
import { openSqliteStore } from '../../store/sqlite-store.js';

/** From a copy: a daemon may be at work. `null`: nothing was ever stored there. Throws `store_failed`. */
export async function readPast(dir: string, sinceMs: number): Promise<Past | null> {
  if (!existsSync(join(dir, 'baton.db'))) return null;
  return withStoredCopy(dir, async (copy) => {
    const store = openSqliteStore({ dir: copy, onWarning: () => {} });
    try {
      return await pastSince(store.past, sinceMs);
    } finally {
      await store.close();
    }
  });
}
