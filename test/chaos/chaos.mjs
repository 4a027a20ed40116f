// Kills the built daemon at named points and checks that nothing is lost or left behind: see README.md.
//   node test/chaos/chaos.mjs [--trials N] [--point name] [--seed N] [--lanes N] [--keep]
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { install } from './installation.mjs';
import { judge } from './judge.mjs';
import { planFor } from './plan.mjs';
import { POINTS } from './points.mjs';
import { endProcess, processesWith } from './processes.mjs';
import { runTrial } from './trial.mjs';
import { World } from './world.mjs';

const PER_POINT = 20;
/** Violations per trial that are printed. */
const SHOWN = 4;
/** The active trials, for an interrupted run. */
const openWorlds = new Set();

const { values } = parseArgs({
  options: {
    trials: { type: 'string' },
    point: { type: 'string' },
    seed: { type: 'string' },
    lanes: { type: 'string', default: String(cpus().length * 2) },
    keep: { type: 'boolean', default: false },
  },
});
if (values.point !== undefined && !POINTS.some(({ name }) => name === values.point)) {
  console.error(`There is no point "${values.point}". Points: ${POINTS.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}
process.exit(await main());

async function main() {
  const startedAtMs = Date.now();
  const installation = install();
  const results = [];
  const queue = seeds();
  const leave = () => {
    openWorlds.forEach(clear);
    installation.remove();
    process.exit(130);
  };
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, leave);
  const lane = async () => {
    for (let seed = queue.shift(); seed !== undefined; seed = queue.shift())
      results.push(await tryOne(installation, seed));
  };
  try {
    await Promise.all(Array.from({ length: Number(values.lanes) }, lane));
  } finally {
    if (!values.keep) installation.remove();
  }
  tell(results, Date.now() - startedAtMs);
  return results.some(({ violations }) => violations.length > 0) ? 1 : 0;
}

/** A seed determines everything about a trial, including its point. */
function seeds() {
  if (values.seed !== undefined) return [Number(values.seed)];
  const points = POINTS.flatMap(({ name, needs }, index) => (!needs && (values.point ?? name) === name ? [index] : []));
  const count = values.trials === undefined ? PER_POINT * points.length : Number(values.trials);
  const base = Math.floor(Math.random() * 1e7);
  console.log(`${count} trials, base seed ${base}`);
  return Array.from({ length: count }, (_, n) => (base + n) * POINTS.length + points[n % points.length]);
}

async function tryOne(installation, seed) {
  const point = POINTS[seed % POINTS.length];
  const plan = planFor(point, seed);
  const world = new World(installation, plan);
  openWorlds.add(world);
  const { violations, lives } = await runTrial(world, point, seed).then(
    (evidence) => ({ violations: judge(evidence), lives: evidence.lives }),
    (error) => ({ violations: [`the trial itself failed: ${error.stack}`], lives: [] }),
  );
  const isFelt = point.sign?.test(world.log()) ?? true;
  const kills = lives.filter(({ wasKilled }) => wasKilled).length;
  if (violations.length > 0) tellViolations(violations, { world, point, plan, seed, kills });
  if (values.keep && violations.length > 0) world.keep();
  else clear(world);
  openWorlds.delete(world);
  return { point: point.name, violations, kills, isFelt };
}

function clear(world) {
  for (const { pid } of processesWith(world.number)) endProcess(pid);
  world.remove();
}

function tellViolations(violations, { world, point, plan, seed, kills }) {
  const user = plan.uid === null ? 'own user' : 'ordinary user';
  const more = violations.length > SHOWN ? `; and ${violations.length - SHOWN} more` : '';
  const how = `isolation ${plan.isolation}, ${user}, ${kills} kills`;
  console.log(`✗ ${point.name}, seed ${seed} (${how}): ${violations.slice(0, SHOWN).join('; ')}${more}`);
  console.log(`    npm run test:chaos -- --seed ${seed} --keep${values.keep ? `    # ${world.dir}` : ''}`);
}

function tell(results, tookMs) {
  console.log(`\n${'point'.padEnd(18)} trials   felt  kills  violations`);
  for (const { name, needs } of POINTS) {
    const own = results.filter(({ point }) => point === name);
    const sum = (count) => own.reduce((total, result) => total + count(result), 0);
    const cells = [
      own.length,
      sum(({ isFelt }) => Number(isFelt)),
      sum(({ kills }) => kills),
      sum(({ violations }) => violations.length),
    ];
    if (own.length > 0)
      console.log(`${name.padEnd(18)} ${cells.map((cell, n) => String(cell).padStart([6, 6, 6, 11][n])).join(' ')}`);
    else if (needs) console.log(`${name.padEnd(18)}   left out: ${needs}`);
  }
  const failed = results.filter(({ violations }) => violations.length > 0).length;
  const { user, system } = process.cpuUsage();
  console.log(`\n${(tookMs / 1000).toFixed(0)} s; the driver itself ${((user + system) / 1e6).toFixed(0)} s`);
  console.log(`${results.length - failed} passed, ${failed} failed`);
}
