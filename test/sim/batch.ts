import type { Plant } from './plant.js';
import { type Report, simulate } from './simulate.js';

/** Some seeds are played twice: a history that differs the second time could not be replayed. */
const TWICE_EVERY = 40;
const MOST_FAILURES = 5;

export interface BatchOrder {
  readonly fromSeed: number;
  /** Each of n workers takes every n-th seed. */
  readonly stride: number;
  readonly runs: number;
}

export interface BatchResult {
  seeds: number;
  runs: number;
  kills: number;
  events: number;
  replayed: number;
  /** Seeds whose second history differed from the first. */
  readonly unlike: number[];
  readonly failures: Report[];
  readonly coverage: Map<string, number>;
}

/** Plays seeds until this many issue runs have started, or too many seeds have failed. */
export async function playBatch(
  order: BatchOrder,
  onReport: (report: Report) => void = () => {},
): Promise<BatchResult> {
  const { fromSeed, stride, runs } = order;
  const result: BatchResult = {
    seeds: 0,
    runs: 0,
    kills: 0,
    events: 0,
    replayed: 0,
    unlike: [],
    failures: [],
    coverage: new Map(),
  };
  for (let seed = fromSeed; result.runs < runs && result.failures.length < MOST_FAILURES; seed += stride) {
    const report = await simulate(seed);
    take(result, report);
    if (result.seeds % TWICE_EVERY === 1) {
      result.replayed += 1;
      if ((await simulate(seed)).hash !== report.hash) result.unlike.push(seed);
    }
    onReport(report);
  }
  return result;
}

/** The first seed whose history reveals the bug, or null when this many runs did not reveal it. */
export async function hunt(plant: Plant, mostRuns: number): Promise<{ report: Report; runs: number } | null> {
  let runs = 0;
  for (let seed = 1; runs < mostRuns; seed++) {
    const report = await simulate(seed, plant);
    runs += report.runs;
    // A breach without the planted bug proves nothing about it.
    if (report.breach && (await simulate(seed)).breach === null) return { report, runs };
  }
  return null;
}

function take(result: BatchResult, report: Report): void {
  result.seeds += 1;
  result.runs += report.runs;
  result.kills += report.kills;
  result.events += report.events;
  if (report.breach) result.failures.push(report);
  for (const [name, count] of report.coverage) result.coverage.set(name, (result.coverage.get(name) ?? 0) + count);
}
