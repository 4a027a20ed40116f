// Runs the built daemon for a while at full speed: issues come and go, agents work, fail, die, stall and ask, hooks fail, the workflow
// is edited, the status is read. Between the waves, when everything is done, a probe in the daemon counts what could grow.
//   npm run soak -- --minutes 10        exits with 1 when something grows or is left behind
//   npm run soak -- --self-test         leaks on purpose: every leak must be caught
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Board, namesIn } from './board.mjs';
import { SoakedDaemon } from './daemon.mjs';
import { printReport } from './report.mjs';
import { LEAKED_SERIES, printSelfTest } from './self-test.mjs';
import { judge, LEAST_SAMPLES } from './verdict.mjs';

const TEND_MS = 50;
const EDIT_MS = 1_500;
const QUIET_LIMIT_MS = 60_000;
const VARIANTS = ['plain', 'asking', 'faulty', 'plain', 'asking'];

const { values: flags } = parseArgs({
  options: {
    minutes: { type: 'string' },
    seconds: { type: 'string' },
    'self-test': { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
});
const isSelfTest = flags['self-test'];
const seconds = Number(flags.seconds ?? Number(flags.minutes ?? (isSelfTest ? 0.75 : 2)) * 60);
if (!(seconds > 0)) throw new Error('--minutes or --seconds must be a number above 0');
// Long waves let slow leaks add up between two samples; short ones give enough samples.
const waveMs = Math.max(500, Math.min(20_000, (seconds * 1000) / 12 - 2_000));

const dir = realpathSync(mkdtempSync(join(tmpdir(), 'baton-soak-')));
// The deliberate leaks do not depend on the work.
const board = new Board(dir, isSelfTest ? 3 : 14);
const daemon = new SoakedDaemon(dir, isSelfTest ? Object.keys(LEAKED_SERIES) : []);
try {
  process.exitCode = (await soak()) ? 0 : 1;
} finally {
  daemon.process.kill('SIGKILL');
  await daemon.exited;
  if (!flags.keep) rmSync(dir, { recursive: true, force: true });
}

async function soak() {
  await daemon.started();
  const endMs = Date.now() + seconds * 1000;
  const counts = [];
  while (Date.now() < endMs || counts.length < LEAST_SAMPLES) {
    await wave();
    await quiet();
    counts.push({ runs: daemon.runs, issues: board.created, ...(await left()) });
    await sampled(counts.length);
    process.stderr.write(`sample ${counts.length}: ${daemon.runs} runs of ${board.created} issues\n`);
  }
  const end = await stopped();
  const samples = daemon.samples().map((sample, n) => ({ ...sample, ...counts[n] }));
  const verdict = judge(samples);
  return isSelfTest ? printSelfTest(verdict) : printReport(verdict, { samples, daemon, end, seconds });
}

async function wave() {
  const endMs = Date.now() + waveMs;
  board.isOpen = true;
  for (let edits = 0, nextMs = Date.now(); Date.now() < endMs; ) {
    if (Date.now() >= nextMs) {
      board.editWorkflow(VARIANTS[edits++ % VARIANTS.length]);
      nextMs += EDIT_MS;
    }
    await tend();
  }
  board.isOpen = false;
  board.editWorkflow();
}

/** Reads the status and edits the board as users do. */
async function tend() {
  const { parked } = await daemon.state();
  board.tend(new Set(parked.map(({ issue_identifier: name }) => name)));
  await wait(TEND_MS);
}

/** Everything is done, and the daemon has noticed it. */
async function quiet() {
  const isBusy = async () => {
    const { counts } = await daemon.state();
    return board.openIssues > 0 || counts.running + counts.retrying + counts.parked > 0;
  };
  await until(async () => {
    await tend();
    return !(await isBusy());
  }, 'the daemon does not come to rest');
}

/** Remains outside the daemon's memory at a quiet moment. Ended processes may take a moment to vanish. */
async function left() {
  const look = () => {
    const state = namesIn(join(dir, 'state')).filter((name) => !name.startsWith('saved/'));
    const transcripts = state.filter((name) => name.endsWith('.jsonl'));
    return {
      processes: daemon.descendants().length,
      workspaces: namesIn(board.workspaces).filter((name) => !name.startsWith('.baton')).length,
      temporary: namesIn(join(dir, 'tmp')).length,
      transcripts: transcripts.length,
      stateFiles: state.length - transcripts.length,
      logFiles: namesIn(join(dir, 'logs')).length,
    };
  };
  for (let tries = 0; tries < 20; tries++) {
    const { processes, temporary } = look();
    if (processes === 0 && temporary <= 1) break;
    await wait(TEND_MS);
  }
  return look();
}

async function sampled(number) {
  daemon.process.kill('SIGUSR2');
  await until(async () => daemon.samples().length >= number, 'the probe does not answer');
}

/** Stops it during work. */
async function stopped() {
  for (let n = 0; n < 4; n++) board.add('waits');
  await until(async () => (await daemon.state()).counts.running > 0, 'nothing starts at the end');
  daemon.process.kill('SIGTERM');
  const code = await daemon.exited;
  return { code, processes: daemon.descendants(), temporary: namesIn(join(dir, 'tmp')) };
}

async function until(isTrue, complaint) {
  const endMs = Date.now() + QUIET_LIMIT_MS;
  while (!(await isTrue())) {
    if (Date.now() < endMs) await wait(TEND_MS);
    else throw new Error(`${complaint}: ${JSON.stringify(await daemon.state())}`);
    if (daemon.process.exitCode !== null) throw new Error(`the daemon ended with ${daemon.process.exitCode}`);
  }
}
