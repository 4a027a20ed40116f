import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { type BatchOrder, type BatchResult, hunt, playBatch } from './batch.js';
import { Coverage, FAULTS } from './coverage.js';
import { KILL_POINTS } from './killer.js';
import { LAWS } from './laws.js';
import { PLANTED } from './planted.js';
import { REACHED } from './reached.js';
import { tellBatch, tellBreach, tellCoverage } from './report.js';
import { type Report, simulate } from './simulate.js';

const RUNS = 20_000;
const LONG_RUNS = 1_000_000;
const WORKERS = 2;

/** The task of a worker and its report. */
type Task =
  | { readonly kind: 'batch'; readonly order: BatchOrder }
  | { readonly kind: 'hunt'; readonly names: readonly string[] };
type Word =
  | { readonly kind: 'runs'; readonly runs: number }
  | { readonly kind: 'breach'; readonly report: Report }
  | { readonly kind: 'batch'; readonly result: BatchResult }
  | { readonly kind: 'hunt'; readonly name: string; readonly found: Awaited<ReturnType<typeof hunt>> };

if (isMainThread) process.exitCode = await main();
else await work(workerData as Task, (word) => parentPort?.postMessage(word));

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string' },
      plant: { type: 'string' },
      runs: { type: 'string' },
      from: { type: 'string' },
      long: { type: 'boolean', default: false },
      trace: { type: 'boolean', default: false },
      verbose: { type: 'boolean', default: false },
    },
  });
  if (values.seed !== undefined) return playOne(Number(values.seed), values.plant ?? null, values.trace);
  const runs = Number(values.runs ?? (values.long ? LONG_RUNS : RUNS));
  const isFine = await playMany(runs, Number(values.from ?? 1), values.long || values.verbose);
  if (values.long || values.runs !== undefined) return isFine ? 0 : 1;
  return (await huntAll()) && isFine ? 0 : 1;
}

async function playOne(seed: number, plantName: string | null, isTraced: boolean): Promise<number> {
  const planted = PLANTED.find(({ name }) => name === plantName);
  const report = await simulate(seed, planted?.plant, isTraced ? (line) => console.log(line) : null);
  console.log(tellBreach(report, planted ? plantName : null));
  return report.breach ? 1 : 0;
}

async function playMany(runs: number, fromSeed: number, isVerbose: boolean): Promise<boolean> {
  const startedMs = performance.now();
  const seconds = () => (performance.now() - startedMs) / 1000;
  console.log(`${runs.toLocaleString('en-US')} issue runs, seeds from ${fromSeed}`);
  const results: BatchResult[] = [];
  let done = 0;
  const tellEvery = Math.max(10_000, runs / 20);
  await inWorkers(
    Array.from({ length: WORKERS }, (_, index) => ({
      kind: 'batch',
      order: { fromSeed: fromSeed + index, stride: WORKERS, runs: Math.ceil(runs / WORKERS) },
    })),
    (word) => {
      if (word.kind === 'batch') results.push(word.result);
      // Report at once, because a long batch may be interrupted.
      if (word.kind === 'breach') console.log(`\n${tellBreach(word.report)}\n`);
      if (word.kind !== 'runs') return;
      const before = done;
      done += word.runs;
      if (Math.floor(before / tellEvery) !== Math.floor(done / tellEvery))
        console.log(`  ${done.toLocaleString('en-US')} runs after ${seconds().toFixed(0)} s`);
    },
  );
  const all = merge(results);
  console.log(tellBatch(all, seconds()));
  if (all.unlike.length > 0) console.log(`not the same history again: seeds ${all.unlike.join(', ')}`);
  if (isVerbose) console.log(tellCoverage(all.coverage));
  const missing = missingFaults(all);
  if (missing.length > 0) console.log(`never happened: ${missing.join(', ')}`);
  else
    console.log(
      `each of ${FAULTS.length} faults, ${KILL_POINTS.length} points of a kill and ${REACHED.length} places in the core was met`,
    );
  console.log(
    all.failures.length === 0 ? `no breach of ${Object.keys(LAWS).length} laws` : `${all.failures.length} seeds FAILED`,
  );
  const isCovered = missing.length === 0 || all.runs < RUNS;
  return all.failures.length === 0 && all.unlike.length === 0 && isCovered;
}

function missingFaults({ coverage }: BatchResult): string[] {
  const met = new Coverage();
  met.add(coverage);
  return met.missing([...FAULTS, ...KILL_POINTS, ...REACHED]);
}

/** Each planted bug must be caught within the number of runs that CI plays, and each law must catch one. */
async function huntAll(): Promise<boolean> {
  console.log(`\n${PLANTED.length} planted bugs, each to be caught within ${RUNS.toLocaleString('en-US')} runs`);
  const names = PLANTED.map(({ name }) => name);
  const tasks = Array.from({ length: WORKERS }, (_, index): Task => {
    return { kind: 'hunt', names: names.filter((_name, at) => at % WORKERS === index) };
  });
  const caughtBy = new Set<string>();
  let isFine = true;
  await inWorkers(tasks, (word) => {
    if (word.kind !== 'hunt') return;
    const { found, name } = word;
    if (!found?.report.breach) {
      isFine = false;
      return console.log(`  NOT CAUGHT  ${name}`);
    }
    caughtBy.add(found.report.breach.law);
    console.log(`  ${String(found.runs).padStart(6)} runs  ${found.report.breach.law.padEnd(24)} ${name}`);
  });
  const idle = Object.keys(LAWS).filter((law) => !caughtBy.has(law));
  if (idle.length > 0) console.log(`laws that caught nothing: ${idle.join(', ')}`);
  return isFine && idle.length === 0;
}

async function work(task: Task, say: (word: Word) => void): Promise<void> {
  if (task.kind === 'batch') {
    const result = await playBatch(task.order, (report) => {
      if (report.breach) say({ kind: 'breach', report });
      say({ kind: 'runs', runs: report.runs });
    });
    return say({ kind: 'batch', result });
  }
  for (const name of task.names) {
    const planted = PLANTED.find((one) => one.name === name);
    if (planted) say({ kind: 'hunt', name, found: await hunt(planted.plant, RUNS) });
  }
}

async function inWorkers(tasks: readonly Task[], onWord: (word: Word) => void): Promise<void> {
  const ends = tasks.map((task) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: task });
    worker.on('message', onWord);
    return new Promise<void>((resolve, reject) => {
      worker.on('error', reject);
      worker.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`a worker exited with ${code}`))));
    });
  });
  await Promise.all(ends);
}

function merge(results: readonly BatchResult[]): BatchResult {
  const coverage = new Coverage();
  for (const result of results) coverage.add(result.coverage);
  const sum = (of: (result: BatchResult) => number) => results.reduce((total, result) => total + of(result), 0);
  return {
    seeds: sum((one) => one.seeds),
    runs: sum((one) => one.runs),
    kills: sum((one) => one.kills),
    events: sum((one) => one.events),
    replayed: sum((one) => one.replayed),
    unlike: results.flatMap((one) => one.unlike),
    failures: results.flatMap((one) => one.failures),
    coverage: coverage.counts,
  };
}
