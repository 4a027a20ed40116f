// Prints { ready: true }, takes locks at the first line of its stdin, and prints the result: { taken: true } or { code, message }, JSON
// lines all. Keeps the locks until its stdin ends or it is killed.
//   node lock-taker.mjs <folder of the compiled sources> <JSON: { dir, keys, workflow, drop }>
// With `drop` it drops the lock object and collects garbage (node --expose-gc) before it prints the result.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, json] = process.argv.slice(2);
const { dir, keys, workflow, drop } = JSON.parse(json);
const { takeLocks } = await import(pathToFileURL(join(folder, 'src/store/instance-lock.js')).href);
const say = (result) => console.log(JSON.stringify({ pid: process.pid, ...result }));
const ended = new Promise((resolve) => process.stdin.on('end', resolve));
say({ ready: true });
await new Promise((resolve) => process.stdin.once('data', resolve));

try {
  const holder = { pid: process.pid, since: '2026-01-01T00:00:00.000Z', workflow };
  let locks = await takeLocks({ dir, keys, holder });
  if (drop) {
    locks = null;
    for (let round = 0; round < 10; round++) {
      globalThis.gc();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  say({ taken: true });
  await ended;
  await locks?.release();
} catch ({ code, message }) {
  say({ code, message });
  process.exitCode = 2;
}
