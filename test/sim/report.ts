import type { BatchResult } from './batch.js';
import { LAWS } from './laws.js';
import type { Report } from './simulate.js';

/** Reports the law, the breach, the end of the history, and the command that replays it. */
export function tellBreach({ seed, breach, last, hash }: Report, plantName: string | null = null): string {
  const replay = `npm run test:sim -- --seed ${seed}${plantName === null ? '' : ` --plant '${plantName}'`}`;
  if (!breach) return `seed ${seed} keeps every law (history ${hash})`;
  return [
    `seed ${seed} breaks the law ${breach.law}: ${LAWS[breach.law]}`,
    `  ${breach.message}`,
    `the end of its history (${hash}):`,
    ...last,
    `replay: ${replay}`,
  ].join('\n');
}

export function tellBatch({ seeds, runs, kills, events, replayed }: BatchResult, seconds: number): string {
  const perSecond = Math.round(runs / seconds);
  return [
    `${count(seeds)} seeds, ${count(runs)} issue runs, ${count(kills)} kills, ${count(events)} events`,
    `${seconds.toFixed(1)} s, ${count(perSecond)} runs/s; ${count(replayed)} seeds played twice with the same history`,
  ].join('\n');
}

export function tellCoverage(coverage: ReadonlyMap<string, number>): string {
  const rows = [...coverage].sort(([a], [b]) => (a < b ? -1 : 1));
  return rows.map(([name, times]) => `  ${count(times).padStart(11)}  ${name}`).join('\n');
}

function count(value: number): string {
  return value.toLocaleString('en-US');
}
