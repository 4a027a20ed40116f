// What a step costs beside the process that it starts: 1,000 external steps in one run of the built daemon, and the same command
// spawned 1,000 times by hand, with the same input and as many at a time. Both in one run, so that the ratios hold on any machine.
// The command is a small Node.js program, as executors are, and then a shell that does nothing but read, where only the overhead shows.
// With namespaces, the command by hand is the same one that builds the namespace.
//   npm run bench
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { detectContainment } from '../../dist/runner/contain/detect-containment.js';
import { foldersToFix } from '../../dist/runner/contain/hidden-directories.js';
import { namespaceCommand } from '../../dist/runner/contain/start-process.js';
import { createClock } from '../../dist/src/clock.js';
import { ended, median, now } from './measure.mjs';

const ROUNDS = 5;
const STEPS = Number(process.env.BATON_BENCH_STEPS ?? 1_000) / ROUNDS;
const AT_A_TIME = 2;
const main = fileURLToPath(new URL('../../dist/src/main.js', import.meta.url));

const COMMANDS = {
  'node that reads its input': [process.execPath, '-e', 'process.stdin.resume()'],
  'sh that reads its input': ['/bin/sh', '-c', 'exec cat > /dev/null'],
};

console.log(
  `${STEPS * ROUNDS} external steps, ${AT_A_TIME} at a time, beside the same command by hand (median of ${ROUNDS} rounds)`,
);
for (const [name, command] of Object.entries(COMMANDS)) {
  for (const isolation of ['none', 'auto']) {
    // Alternating, so other load affects both alike.
    const rounds = [];
    for (let round = 0; round < ROUNDS; round++) rounds.push(await compare(command, isolation));
    const each = (key) => `${(median(rounds.map((one) => one[key])) / STEPS).toFixed(1).padStart(5)} ms`;
    const ratio = median(rounds.map(({ handMs, stepsMs }) => stepsMs / handMs)).toFixed(2);
    const form = isolation === 'none' ? 'no namespaces' : 'namespaces   ';
    console.log(`  ${name.padEnd(26)} ${form}  by hand ${each('handMs')}  as steps ${each('stepsMs')}  ${ratio} ×`);
  }
}

async function compare(command, isolation) {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'baton-bench-')));
  try {
    const { stepsMs, envelope } = await bySteps(dir, command, isolation);
    return { stepsMs, handMs: await byHand(dir, command, isolation, envelope) };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function bySteps(dir, [command, ...args], isolation) {
  mkdirSync(join(dir, 'backlog', 'tasks'), { recursive: true });
  writeFileSync(join(dir, 'backlog/tasks/task-1 - A.md'), '---\nid: TASK-1\ntitle: A\nstatus: To Do\n---\nWork.\n');
  const items = Array.from({ length: STEPS }, (_, index) => index);
  const work = { id: 'one', kind: 'external', executor: 'trivial', input: { n: '${item}', task_id: '${issue.id}' } };
  const settings = {
    tracker: { kind: 'local' },
    workspace: { root: 'workspaces', min_free_mb: 1 },
    runtime: { isolation },
    executors: { trivial: { command, args }, keep: { command: 'sh', args: ['-c', 'cat > ../../envelope.json'] } },
    steps: [
      { id: 'keep', kind: 'external', executor: 'keep', input: { n: 0, task_id: '${issue.id}' } },
      { id: 'all', fan_out: { items, max_workers: AT_A_TIME, steps: [work] }, fan_in: {} },
    ],
  };
  writeFileSync(join(dir, 'WORKFLOW.md'), `---\n${JSON.stringify(settings)}\n---\n{{ issue.title }}\n`);
  const log = join(dir, 'log');
  const flags = ['--once', '--state-dir', join(dir, 'state'), '--log-file', log, '--log-level', 'info'];
  const child = spawn(process.execPath, [main, 'run', ...flags], {
    cwd: dir,
    env: environment(dir),
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  await ended(child);
  const lines = readFileSync(log, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const done = lines.find(({ msg, step }) => msg === 'step finished' && step === 'all');
  if (!done)
    throw new Error(
      `the steps did not finish:\n${lines
        .slice(-5)
        .map((line) => JSON.stringify(line))
        .join('\n')}`,
    );
  return { stepsMs: done.duration_ms, envelope: readFileSync(join(dir, 'envelope.json')) };
}

async function byHand(dir, command, isolation, envelope) {
  const { file, args, env, report } = await commandLine(dir, command, isolation);
  let left = STEPS;
  const worker = async () => {
    while (left-- > 0) {
      const child = spawn(file, args, { cwd: dir, env, stdio: ['pipe', 'pipe', 'pipe', ...(report ? ['pipe'] : [])] });
      if (report) child.stdio[3].once('data', () => child.stdio[3].write('go\n'));
      child.stdin.end(envelope);
      child.stdout.resume();
      child.stderr.resume();
      await ended(child);
    }
  };
  const begin = now();
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  return now() - begin;
}

/** The same for both, because node's start depends on it. */
function environment(dir) {
  return { PATH: process.env.PATH, HOME: dir };
}

async function commandLine(dir, [file, ...args], isolation) {
  const env = environment(dir);
  if (isolation === 'none') return { file, args, env, report: false };
  const clock = createClock();
  // As the daemon hides its state and its locks.
  const hide = ['state', 'locks'].map((name) => join(dir, name));
  for (const folder of hide) mkdirSync(folder, { recursive: true });
  const containment = await detectContainment({ isolation: 'auto', hide, clock });
  clock.close();
  if (containment.kind !== 'pidns') return { file, args, env, report: false };
  const { dev, ino } = statSync(dir, { bigint: true });
  const fix = await foldersToFix(containment.hide, dir);
  const options = { ...containment, fix, workspace: { dev, ino }, limits: null };
  return { ...namespaceCommand({ file, args, env }, options), report: true };
}
