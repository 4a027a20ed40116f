// Only the soak loads this into the daemon: on SIGUSR2 it writes one JSON line to the file named by BATON_SOAK_PROBE,
// with everything in this process that could grow. Transient objects (a poll that reads a folder right now)
// is read several times, and the lowest reading counts.

import { appendFileSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import { leakOnPurpose } from './leaks.mjs';
import { listenersOf, livingObjects } from './living-objects.mjs';

const READINGS = 5;
const PAUSE_MS = 40;
const delay = monitorEventLoopDelay({ resolution: 10 });
delay.enable();

process.on('SIGUSR2', () => void sample());

async function sample() {
  leakOnPurpose();
  const readings = [];
  for (let i = 0; i < READINGS; i++) {
    await wait(PAUSE_MS);
    readings.push(reading());
  }
  const fewest = readings.reduce((a, b) => (b.descriptors < a.descriptors ? b : a));
  const line = {
    ...fewest,
    children: Math.min(...readings.map(({ children }) => children)),
    handles: Math.min(...readings.map(({ handles }) => handles)),
    loopMs: { p50: ms(delay.percentile(50)), p99: ms(delay.percentile(99)), max: ms(delay.max) },
    ...(await afterCollection()),
  };
  delay.reset();
  appendFileSync(process.env.BATON_SOAK_PROBE, `${JSON.stringify(line)}\n`);
}

function reading() {
  const kinds = countBy(descriptors());
  const resources = countBy(process.getActiveResourcesInfo());
  return {
    descriptors: sum(kinds),
    descriptorKinds: kinds,
    handles: sum(resources),
    resources,
    children: children().length,
    processListeners: listenersOf(process),
  };
}

/** The heap after garbage collection. */
async function afterCollection() {
  for (let i = 0; i < 3; i++) {
    globalThis.gc();
    // Cleans up what a collection frees (registries, unreferenced timers) before the next one.
    await wait(PAUSE_MS);
  }
  const objects = await livingObjects();
  globalThis.gc();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { objects, heapMb: mb(heapUsed), externalMb: mb(external), rssMb: mb(rss) };
}

/** The target of each descriptor, without numbers and random names, so the same kind has the same name. */
function descriptors() {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [
        readlinkSync(`/proc/self/fd/${fd}`)
          .replace(/:\[\d+\]$/, '')
          .replaceAll(/[0-9a-f]{8}|\d+/g, '#'),
      ];
    } catch {
      return []; // the descriptor with which the folder itself was read
    }
  });
}

function children() {
  return readdirSync('/proc/self/task').flatMap((task) => {
    try {
      return readFileSync(`/proc/self/task/${task}/children`, 'utf8').split(' ').filter(Boolean);
    } catch {
      return []; // a thread that ended meanwhile
    }
  });
}

function countBy(names) {
  const counts = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

function sum(counts) {
  return Object.values(counts).reduce((a, b) => a + b, 0);
}

function ms(nanoseconds) {
  return Number((nanoseconds / 1e6).toFixed(1));
}

function mb(bytes) {
  return Number((bytes / 1e6).toFixed(2));
}
