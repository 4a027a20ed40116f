// What looking at a busy daemon costs, for those who look and for the daemon: 1,000 issues on its board, 100 agents that say ten things a
// second each; then 20 requests a second for the whole state, 10 for a single issue and two readers of the stream. Beside it, with the same
// machine and the same requests, a daemon without agents, and the same daemon with nobody looking.
// Agents, daemon and this program share the machine, so each part says how busy it was: near 100 % the numbers are about the machine.
// Meant are, with agents and somebody looking: answers within 50 ms and an event loop that is late by less than 50 ms, both at p99.
//   npm run bench
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { now } from './measure.mjs';
import { StatusDaemon } from './status-daemon.mjs';
import { look } from './status-load.mjs';

const ISSUES = 1_000;
const AGENTS = Number(process.env.BENCH_AGENTS ?? 100);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 20);
const isolations = (process.env.BENCH_ISOLATION ?? 'none auto').split(' ');
/** For looking closely: `BENCH_NODE_FLAGS='--cpu-prof --cpu-prof-dir=…'`. */
const nodeFlags = (process.env.BENCH_NODE_FLAGS ?? '').split(' ').filter(Boolean);
/** Waits until the start-up work is over. */
const WARM_UP_MS = 5_000;
const TICKS_PER_SECOND = 100;

console.log(`${ISSUES} issues, ${SECONDS} s each; node ${process.versions.node}, ${cpus().length} cores`);
const base = await measured({ agents: 0, isolation: 'none' }, ['somebody looks']);
report('no agents', base);
for (const isolation of isolations) {
  const phases = await measured({ agents: AGENTS, isolation }, ['nobody looks', 'somebody looks']);
  report(`${AGENTS} agents, runtime.isolation: ${isolation}`, phases, base.at(-1));
}

async function measured({ agents, isolation }, phases) {
  const daemon = new StatusDaemon({ issues: ISSUES, agents, isolation, nodeFlags });
  try {
    const startMs = await daemon.start();
    await wait(WARM_UP_MS);
    const results = [];
    for (const phase of phases)
      results.push({ phase, startMs, ...(await measure(daemon, phase === 'somebody looks')) });
    return results;
  } finally {
    await daemon.close();
  }
}

async function measure(daemon, isLooking) {
  const { pid } = daemon;
  await metrics(daemon); // the event loop's delay is told since the last time
  const before = { lines: daemon.linesHeard(), cpu: cpuOf(pid), machine: machine(), rss: rssOf(pid), at: now() };
  const seen = isLooking ? await look(daemon, SECONDS) : await wait(SECONDS * 1_000, null);
  const seconds = (now() - before.at) / 1_000;
  const cpu = (cpuOf(pid) - before.cpu) / seconds;
  const busy = machine();
  const told = await metrics(daemon);
  const delay = (quantile) => 1_000 * told(`baton_event_loop_delay_seconds{quantile="${quantile}"}`);
  return {
    ...{ seen, cpu, rssBefore: before.rss, rss: rssOf(pid), alive: told('baton_agents_alive') },
    events: (daemon.linesHeard() - before.lines) / seconds,
    delay: [delay('0.5'), delay('0.99'), delay('1')],
    busy: (busy.busy - before.machine.busy) / (busy.all - before.machine.all),
  };
}

function report(title, phases, baseline) {
  console.log(`\n${title}: at work after ${(phases[0].startMs / 1_000).toFixed(1)} s`);
  for (const { phase, seen, cpu, rssBefore, rss, alive, events, delay, busy } of phases) {
    const heard = alive > 0 ? `, ${alive} agents alive, ${events.toFixed(0)} events/s heard` : '';
    console.log(`  ${phase}${heard}, machine ${(100 * busy).toFixed(0)} % busy`);
    console.log(`    event loop late by (p50, p99, max)        ${three(delay)}`);
    const times = baseline && seen ? `   ${(cpu / baseline.cpu).toFixed(1)} × without agents` : '';
    console.log(`    CPU of the daemon                         ${cpu.toFixed(2)} s per second${times}`);
    console.log(`    memory of the daemon                      ${mb(rssBefore)} before, ${mb(rss)} after`);
    if (!seen) continue;
    answers('GET /api/v1/state', seen.states, baseline?.seen.states);
    answers('GET /api/v1/<identifier>', seen.issues, baseline?.seen.issues);
    const perSecond = `${seen.patches.toFixed(1)} events/s, ${(seen.streamBytes / 1_000).toFixed(0)} KB/s`;
    console.log(`    a reader of the stream gets               ${perSecond}`);
  }
}

/** From the request to the last byte. */
function answers(name, list, baseline) {
  const times = list.map(({ ms }) => ms);
  const spread = [0.5, 0.99, 1].map((part) => quantile(times, part));
  const ratio = baseline
    ? `   p99 ${(
        spread[1] /
          quantile(
            baseline.map(({ ms }) => ms),
            0.99,
          )
      ).toFixed(1)} × without agents`
    : '';
  const size = `${(
    quantile(
      list.map(({ bytes }) => bytes),
      0.5,
    ) / 1_000
  ).toFixed(0)} KB`;
  console.log(`    ${name.padEnd(30)} ${size.padStart(8)}   ${three(spread)}${ratio}`);
}

function quantile(values, part) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * part) - 1];
}

function three(values) {
  return `${values.map((value) => value.toFixed(1).padStart(6)).join(' ')} ms`;
}

function mb(bytes) {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}

/** Reads the metrics and returns the value of a series. */
async function metrics({ url, headers }) {
  const text = await (await fetch(`${url}/metrics`, { headers })).text();
  const values = new Map(text.split('\n').map((line) => [line.slice(0, line.lastIndexOf(' ')), line]));
  return (series) => Number(values.get(series)?.slice(series.length));
}

function cpuOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return (user + system) / TICKS_PER_SECOND;
}

function rssOf(pid) {
  return 1_024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]);
}

function machine() {
  const ticks = readFileSync('/proc/stat', 'latin1').split('\n')[0].split(/\s+/).slice(1, 9).map(Number);
  const all = ticks.reduce((a, b) => a + b, 0);
  return { all, busy: all - ticks[3] - ticks[4] };
}
