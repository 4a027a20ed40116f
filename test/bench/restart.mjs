// How long a daemon that was killed with -9 in the middle of its runs takes, when it is started again, until what it left is gone and all
// of these runs are back, beside a cold start of the same runs. With and without namespaces: without them the agents
// outlive their daemon and have to be found. Both in one run, taking turns, so that the ratio holds on any machine.
//   npm run bench
import { KilledDaemon } from './killed-daemon.mjs';
import { median, ms } from './measure.mjs';

const ROUNDS = 7;
const ISSUES = 10;
/** For looking closely: `BENCH_NODE_FLAGS='--cpu-prof --cpu-prof-dir=…'`, and fewer rounds. */
const nodeFlags = (process.env.BENCH_NODE_FLAGS ?? '').split(' ').filter(Boolean);
const rounds = Number(process.env.BENCH_ROUNDS ?? ROUNDS);

const setups = ['none', 'auto'].map((isolation) => ({ isolation, cold: [], restart: [] }));
for (let round = 0; round < rounds; round++) {
  for (const { isolation, cold, restart } of setups) {
    const daemon = new KilledDaemon({ isolation, issues: ISSUES, nodeFlags });
    try {
      cold.push(await daemon.start());
      const left = await daemon.kill();
      restart.push(await daemon.start(left));
    } finally {
      await daemon.close();
    }
  }
}

console.log(`median of ${rounds}, ${ISSUES} runs at a time, from the start of the command`);
for (const { isolation, cold, restart } of setups) {
  console.log(`  runtime.isolation: ${isolation}${' '.repeat(18)}cold   after kill -9`);
  const keys = { dispatched: 'all runs dispatched', prompted: 'all agents have their prompt' };
  for (const [key, title] of Object.entries(keys)) {
    const [before, after] = [cold, restart].map((times) => median(times.map((time) => time[key])));
    console.log(`    ${title.padEnd(32)} ${ms(before)} ${ms(after)}   ${(after / before).toFixed(2)} ×`);
  }
  const gone = median(restart.map((time) => time.gone));
  const left = median(restart.map((time) => time.left));
  console.log(`    ${`the ${left} processes left are gone`.padEnd(32)} ${' '.repeat(8)} ${ms(gone)}`);
}
