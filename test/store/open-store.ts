import { onTestFinished } from 'vitest';
import type { Store } from '../../src/domain/ports.js';
import type { StoreWarning } from '../../src/store/sqlite-file.js';
import { openSqliteStore } from '../../src/store/sqlite-store.js';
import { tempFolder } from '../runner/workspace/temp-folder.js';

/** A store on disk that is closed after the test. Its folder is new unless one is given. */
export async function openStore(
  given?: string,
): Promise<{ readonly dir: string; readonly store: Store; readonly warnings: readonly StoreWarning[] }> {
  const dir = given ?? (await tempFolder());
  const warnings: StoreWarning[] = [];
  const store = openSqliteStore({ dir, onWarning: (warning) => warnings.push(warning) });
  onTestFinished(() => store.close().catch(() => {}));
  return { dir, store, warnings };
}
