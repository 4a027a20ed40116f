// What storing costs: the real core works off issues with the real store on the disk of the system's temp folder, while tracker and
// runner answer at once. Beside it, taking turns, what no store could do without: appending as many bytes to a file and flushing it.
//   npm run bench
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClock } from '../../dist/src/clock.js';
import { openSqliteStore } from '../../dist/src/store/sqlite-store.js';
import { InstantWork } from './instant-work.mjs';
import { median, ms } from './measure.mjs';

const RUNS = 1_000;
/** Every so many writes the bare file has its turn. */
const TURN = 10;
const BYTES = 1_000;

const dir = mkdtempSync(join(tmpdir(), 'baton-bench-'));
const bare = openSync(join(dir, 'bare'), 'a');
const text = Buffer.alloc(BYTES, 'x');
const times = { write: [], openRuns: [], bare: [] };
let writes = 0;
try {
  const store = openSqliteStore({ dir, onWarning: ({ message }) => console.error(message) });
  const clock = createClock();
  await new InstantWork(measured(store), clock, RUNS).done();
  clock.close();
  await store.close();
  report(statSync(join(dir, 'baton.db')).size);
} finally {
  closeSync(bare);
  rmSync(dir, { recursive: true, force: true });
}

/** The same store with a watch beside it. Its calls are done when they return, promise or not. */
function measured(store) {
  const timed =
    (kind, act) =>
    (...args) => {
      const promise = stopwatch(times[kind], () => act(...args));
      if (++writes % TURN === 0) stopwatch(times.bare, appendBare);
      return promise;
    };
  return {
    load: () => store.load(),
    write: timed('write', (...changes) => store.write(...changes)),
    openRuns: {
      all: () => store.openRuns.all(),
      put: timed('openRuns', (...runs) => store.openRuns.put(...runs)),
      // Waits for the next write.
      remove: (marker) => store.openRuns.remove(marker),
    },
    addEvent: (event) => store.addEvent(event),
    close: () => store.close(),
  };
}

function appendBare() {
  writeSync(bare, text);
  fdatasyncSync(bare);
}

function stopwatch(list, act) {
  const begin = performance.now();
  const result = act();
  list.push(performance.now() - begin);
  return result;
}

function report(bytes) {
  const titles = {
    write: 'changes of the state',
    openRuns: 'what runs have under way',
  };
  const flush = median(times.bare);
  console.log(`${RUNS} runs, ${writes} writes, median (and the slowest of a hundred) of each`);
  console.log(`  append ${BYTES} bytes to a file, flush              ${spread(times.bare)}`);
  for (const [kind, title] of Object.entries(titles)) {
    const perRun = (times[kind].length / RUNS).toFixed(1).padStart(5);
    const ratio = (median(times[kind]) / flush).toFixed(1);
    console.log(`  ${title.padEnd(28)} ${perRun} a run   ${spread(times[kind])}   ${ratio} × the append`);
  }
  const all = Object.keys(titles).flatMap((kind) => times[kind]);
  const spent = all.reduce((a, b) => a + b, 0) / RUNS;
  console.log(`  all of it, per run           ${(all.length / RUNS).toFixed(1).padStart(5)} writes  ${ms(spent, 1)}`);
  console.log(`  on disk                      ${(bytes / RUNS / 1000).toFixed(1).padStart(5)} KB a run`);
}

function spread(list) {
  const sorted = list.toSorted((a, b) => a - b);
  return `${ms(median(list), 2)} (${sorted[Math.floor(sorted.length * 0.99)].toFixed(2)})`;
}
