// What one poll of a large board costs: the real adapter reads 10,000 issues page by page from a server on loopback, and the real core decides on them. Beside it,
// taking turns, what no adapter could do without: receiving the same answers, and JSON.parse of them. Then the same poll again, when nothing has changed.
//   npm run bench
import { spawn } from 'node:child_process';
import { Agent, request } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ended, median, ms } from './measure.mjs';
import { PolledBoard } from './polled-board.mjs';
import { BOARDS } from './tracker-boards.mjs';

const ISSUES = 10_000;
const ROUNDS = 5;
export const KINDS = Object.keys(BOARDS);
/** The interval of the event-loop monitor, which measures itself too. */
const RESOLUTION_MS = 1;

/** Medians of processor time and of the longest block, in milliseconds: `receive`, `parse`, `poll`, and `again` when nothing has changed. */
export async function measurePoll(kind, { issues = ISSUES, rounds = ROUNDS } = {}) {
  const script = fileURLToPath(new URL('tracker-server.mjs', import.meta.url));
  const server = spawn(process.execPath, [script, kind, String(issues)], { stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    const url = await new Promise((resolve) => createInterface({ input: server.stdout }).once('line', resolve));
    // The first answers are made by the server, and the code is not warm yet.
    const board = await PolledBoard.open(kind, url, issues);
    await board.poll();
    const told = await (await fetch(`${url}/told`)).json();
    const answers = told.map((one) => ({ ...one, bytes: Buffer.from(one.payload) }));
    await board.poll();
    await board.close();
    const measures = [];
    for (let n = 0; n < rounds; n++) measures.push(await round(kind, url, answers, issues));
    const of = (part) => ({
      cpuMs: median(measures.map((one) => one[part].cpuMs)),
      blockMs: median(measures.map((one) => one[part].blockMs)),
    });
    const megabytes = answers.reduce((sum, { bytes }) => sum + bytes.length, 0) / 1e6;
    const parts = { receive: of('receive'), parse: of('parse'), poll: of('poll'), again: of('again') };
    return { ...parts, megabytes, answers: answers.length };
  } finally {
    server.stdin.end();
    await ended(server);
  }
}

async function round(kind, url, answers, issues) {
  const receive = await measured(() => receiveAll(url, answers));
  const parse = await measured(async () => {
    const kept = [];
    for (const { bytes } of answers) {
      kept.push(JSON.parse(bytes));
      await nextTurn();
    }
  });
  const board = await PolledBoard.open(kind, url, issues);
  const poll = await measured(() => board.poll());
  // An adapter may ask for other pages once it knows how long the list is.
  await board.poll();
  const again = await measured(() => board.poll());
  await board.close();
  return { receive, parse, poll, again };
}

/** The same questions and the bytes of their answers, by Node's own client and nothing else. */
async function receiveAll(url, answers) {
  const agent = new Agent({ keepAlive: true });
  for (const { method, path, body } of answers) {
    await new Promise((resolve, reject) => {
      const asked = request(`${url}${path}`, { method, agent }, (response) => {
        const chunks = [];
        response.on('data', (chunk) => chunks.push(chunk)).on('end', () => resolve(Buffer.concat(chunks)));
      });
      asked.on('error', reject).end(body);
    });
  }
  agent.destroy();
}

/** CPU time and the longest time in which nothing else had its turn. */
async function measured(work) {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  await nextTurn();
  delay.enable();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  // The last block is seen by the next timer.
  await new Promise((resolve) => setTimeout(resolve, 3));
  delay.disable();
  return { cpuMs: (user + system) / 1000, blockMs: Math.max(0, delay.max / 1e6 - RESOLUTION_MS) };
}

function report(kind, { megabytes, answers, receive, parse, poll, again }) {
  const times = (cpuMs) => `${(cpuMs / parse.cpuMs).toFixed(1)} ×`;
  const line = (title, { cpuMs, blockMs }, more = '') =>
    console.log(`    ${title.padEnd(24)} ${ms(cpuMs)}   longest block ${ms(blockMs, 1)}${more}`);
  const against = ({ cpuMs }) => `   ${times(cpuMs)} JSON.parse`;
  const apart = `, ${times(poll.cpuMs - receive.cpuMs)} without receiving`;
  console.log(`  ${kind.padEnd(8)} ${megabytes.toFixed(0).padStart(3)} MB in ${answers} answers`);
  line('receiving alone', receive);
  line('JSON.parse alone', parse);
  line('first poll, decision', poll, `${against(poll)}${apart}`);
  line('again, nothing changed', again, against(again));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log(
    `${ISSUES} issues, one poll and its decision, CPU time, median of ${ROUNDS}, taking turns with JSON.parse of the same answers`,
  );
  const kinds = process.argv.length > 2 ? process.argv.slice(2) : KINDS;
  for (const kind of kinds) report(kind, await measurePoll(kind));
}
