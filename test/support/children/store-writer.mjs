// Writes the numbers 1, 2, 3 … into a store without an end, and prints each as soon as its write has resolved. To be killed.
//   node store-writer.mjs <folder of the compiled sources> <state directory>
import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, dir] = process.argv.slice(2);
const { openSqliteStore } = await import(pathToFileURL(join(folder, 'src/store/sqlite-store.js')).href);
const store = openSqliteStore({ dir, onWarning: ({ message }) => console.error(message) });

for (let runs = 1; ; runs++) {
  await store.write({
    full: runs % 10 === 0,
    claims: {},
    records: { A: { runs, tokens: 0, budgetFrom: 0, threads: [] } },
    holds: {},
    pausedSinceMs: runs,
    ledger: { '2026-01-01': { tokens: runs, issues: { A: { input: runs, cached: 0, output: 0, tokens: runs } } } },
    runs: [],
    finished: [],
  });
  writeSync(1, `${runs}\n`);
}
