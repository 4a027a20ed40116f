// The table of docs/performance.md: what the daemon takes, what the same work takes without it in the same run, and the goal.
//   npm run bench                        everything, about ten minutes
//   npm run bench -- --quick             under two minutes, as in CI
//   npm run bench -- --json <file>       writes the rows, too
// Ends with 1 when a ratio is worse than twice its goal. Times alone fail nothing.
import { writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { bareLoop, burst } from './burst.mjs';
import { bareReader, flood } from './flood.mjs';
import { idle } from './idle.mjs';
import { median } from './measure.mjs';
import { measureStart } from './start.mjs';
import { stop } from './stop.mjs';
import { KINDS, measurePoll } from './trackers.mjs';

const { values: flags } = parseArgs({ options: { quick: { type: 'boolean' }, json: { type: 'string' } } });
const isQuick = flags.quick === true;
const rows = [];

/** A ratio to something in the same run, so it holds on any machine. `most` or `least` is the goal. */
function ratio(name, [ours, reference], { unit, against, most, least }) {
  const value = ours / reference;
  const isOk = most === undefined ? value >= least : value <= most;
  const isFar = most === undefined ? value < least / 2 : value > most * 2;
  rows.push({
    name,
    ours,
    unit,
    against,
    reference,
    ratio: value,
    goal: most ?? least,
    isAtMost: most !== undefined,
    isOk,
    isFar,
  });
}

/** A number that has no reference, or depends on the machine. Fails nothing. */
function number(name, ours, { unit, most }) {
  rows.push({ name, ours, unit, goal: most, isAtMost: true, isOk: ours <= most, isFar: false });
}

await part('start', async () => {
  const { node, handshake, prompt, help, status, logs } = await measureStart(isQuick ? 5 : 15);
  const toNode = { unit: 'ms', against: 'node', most: 1.5 };
  ratio('start to first prompt', [prompt, node + handshake], { unit: 'ms', against: 'node + agent', most: 3 });
  ratio('baton --help', [help, node], toNode);
  ratio('baton status', [status, node], toNode);
  ratio('baton logs', [logs, node], toNode);
});

await part('burst', async () => {
  const issues = isQuick ? 60 : 100;
  const [bare, limit, ours] = await taking(isQuick ? 3 : 7, [
    () => bareLoop({ issues, isNamespaced: false }),
    () => bareLoop({ issues, isNamespaced: true }),
    () => burst({ issues, isolation: 'auto' }),
  ]);
  const name = `${issues} issues, ten at a time`;
  const cpu = (run) => run.user + run.system;
  ratio(name, [of(ours, 'rate'), of(limit, 'rate')], {
    unit: 'issues/s',
    against: 'namespace and login shell',
    least: 0.7,
  });
  ratio(`${name}: processor time`, [middle(ours, cpu), of(bare, 'cpu')], {
    unit: 's',
    against: 'bare loop',
    most: 4.3,
  });
  if (isQuick) return;
  const [few, more, many] = await taking(
    3,
    [100, 400, 1_600].map((count) => () => burst({ issues: count, isolation: 'auto' })),
  );
  const growth = { unit: 'issues/s', against: '100 issues', least: 0.9 };
  ratio('400 issues', [of(more, 'rate'), of(few, 'rate')], growth);
  ratio('1,600 issues', [of(many, 'rate'), of(few, 'rate')], growth);
});

await part('events', async () => {
  const size = { agents: 10, events: isQuick ? 5_000 : 20_000 };
  const [bare, ours] = await taking(isQuick ? 3 : 5, [() => bareReader(size), () => flood(size)]);
  const name = `10 agents × ${size.events} events`;
  ratio(name, [of(ours, 'rate'), of(bare, 'rate')], { unit: 'events/s', against: 'read and JSON.parse', least: 0.5 });
  number(`${name}: peak memory`, of(ours, 'peakMb'), { unit: 'MB', most: 130 });
  if (isQuick) return;
  const many = await flood({ agents: 100, events: 10_000 });
  number('100 agents × 10,000 events: delay of the loop, p99', many.delay.p99, { unit: 'ms', most: 25 });
});

await part('stop', async () => {
  const [ends] = await taking(isQuick ? 1 : 5, [() => stop({ isolation: 'auto' })]);
  number('SIGTERM with ten agents to the end', of(ends, 'ms'), { unit: 'ms', most: 1_000 });
  number('processes left', Math.max(...ends.map(({ left }) => left)), { unit: '', most: 0 });
});

await part('polls', async () => {
  for (const kind of isQuick ? ['github', 'linear'] : KINDS) {
    const { parse, poll, again } = await measurePoll(kind, { rounds: isQuick ? 3 : 5 });
    const toParse = { unit: 'ms', against: 'JSON.parse', most: 1.5 };
    ratio(`first poll of 10,000 issues, ${kind}`, [poll.cpuMs, parse.cpuMs], toParse);
    if (isQuick) continue;
    ratio(`the same poll again, ${kind}`, [again.cpuMs, parse.cpuMs], toParse);
    number(`longest block of the first poll, ${kind}`, poll.blockMs, { unit: 'ms', most: 50 });
  }
});

if (!isQuick)
  await part('idle', async () => {
    const { kbPerAgent, corePerHundred } = await idle({ agents: 300 });
    number('memory for each of 300 silent agents', kbPerAgent, { unit: 'KB', most: 75 });
    number('processor for 100 silent agents', corePerHundred * 100, { unit: '% of a core', most: 0.2 });
  });

print();
if (flags.json !== undefined) writeFileSync(flags.json, `${JSON.stringify({ ...machine(), rows }, null, 2)}\n`);
process.exitCode = rows.some(({ isFar }) => isFar) ? 1 : 0;

async function part(name, measure) {
  const begin = Date.now();
  await measure();
  console.error(`${name}: ${((Date.now() - begin) / 1000).toFixed(0)} s`);
}

/** Lets the measures take turns, so that the ratios hold on a busy machine. */
async function taking(rounds, measures) {
  const results = measures.map(() => []);
  for (let round = 0; round < rounds; round += 1)
    for (const [index, measure] of measures.entries()) results[index].push(await measure());
  return results;
}

function middle(results, value) {
  return median(results.map(value));
}

function of(results, key) {
  return middle(results, (one) => one[key]);
}

function machine() {
  return { node: process.versions.node, cores: cpus().length, load: loadavg()[0], isQuick };
}

function print() {
  const { node, cores, load } = machine();
  console.log(`node ${node}, ${cores} cores, load ${load.toFixed(1)}`);
  const table = rows.map((row) => [
    row.name,
    `${short(row.ours)} ${row.unit}`.trim(),
    row.reference === undefined ? '' : `${short(row.reference)} ${row.unit} (${row.against})`,
    row.ratio === undefined ? '' : row.ratio.toFixed(2),
    `${row.isAtMost ? '≤' : '≥'} ${row.goal}`,
    row.isOk ? 'ok' : row.isFar ? 'FAR' : 'missed',
  ]);
  const all = [['what', 'ours', 'reference', 'ratio', 'goal', ''], ...table];
  const widths = all[0].map((_, column) => Math.max(...all.map((cells) => cells[column].length)));
  for (const cells of all)
    console.log(
      cells
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('  ')
        .trimEnd(),
    );
  console.log('A real agent sends about one event a second while its model works: none of these limits is near then.');
}

function short(value) {
  return value >= 10_000 ? `${(value / 1000).toFixed(0)}k` : value >= 100 ? value.toFixed(0) : value.toPrecision(2);
}
