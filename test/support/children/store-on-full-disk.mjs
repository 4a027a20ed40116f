// Writes into a store on a small disk, fills the disk, writes, frees it, writes again. Prints the result as JSON.
//   node store-on-full-disk.mjs <folder of the compiled sources> <state directory on a small disk>
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, dir] = process.argv.slice(2);
const { openSqliteStore } = await import(pathToFileURL(join(folder, 'src/store/sqlite-store.js')).href);
const store = openSqliteStore({ dir, onWarning: ({ message }) => console.error(message) });
const write = (runs, size) =>
  store.write({
    full: false,
    claims: {},
    records: { A: { runs, tokens: 0, budgetFrom: 0, threads: [], padding: 'x'.repeat(size) } },
    holds: {},
    pausedSinceMs: null,
    ledger: {},
    finished: [],
    runs: [],
  });

await write(1, 0);
try {
  for (;;) writeFileSync(join(dir, 'ballast'), Buffer.alloc(4096), { flag: 'a' });
} catch {}
const failure = await write(2, 100_000).then(
  () => null,
  (error) => ({ code: error.code, message: error.message }),
);
const { records } = await store.load();
rmSync(join(dir, 'ballast'));
await write(3, 0);
await store.close();
const again = openSqliteStore({ dir, onWarning: ({ message }) => console.error(message) });
console.log(JSON.stringify({ failure, during: records.A.runs, after: (await again.load()).records.A.runs }));
