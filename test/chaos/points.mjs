import { onFullDisk, outOfFiles, STALL_MS, stopped, withoutTracker } from './faults.mjs';
import { isRoot } from './processes.mjs';
import { storeNow } from './read-remains.mjs';

const QUESTION = 'item/commandExecution/requestApproval';

/**
 * Where the daemon is killed, by name. `plan` changes the settings of the trial; `strike` brings the daemon to the point and ends it,
 * and leaves no fault behind, so the rest must finish by itself. `sign`: the log line that shows the fault. `needs` says
 * why a point cannot be tried here.
 */
export const POINTS = [
  atBoundary('after_claim', ['claim_stored']),
  atBoundary('after_note', ['before_note', 'after_note']),
  atBoundary('after_mkdir', ['before_mkdir', 'after_mkdir', 'before_marking', 'after_marking']),
  atHold('in_after_create'),
  atHold('in_before_run'),
  atHold('after_spawn'),
  atHold('in_handshake'),
  atHold('in_turn'),
  { name: 'asking', plan: asksSomebody, strike: whileAsking },
  { name: 'in_after_run', strike: inAfterRun },
  atHold('after_move'),
  atHold('in_before_remove'),
  atBoundary(
    'in_saving',
    ['before_saving', 'after_saving', 'before_copying', 'after_copying', 'before_saved', 'after_saved'],
    { withGit: true },
  ),
  atBoundary('in_cleanup', ['before_trash', 'after_trash', 'before_deleting', 'after_deleting']),
  { name: 'in_backoff', plan: failsTwice, strike: inBackoff },
  { name: 'in_recovery', strike: inRecovery },
  { name: 'at_random', plan: (random) => ({ isBusy: random.chance(0.3) }), strike: atRandom },
  { name: 'shutdown', plan: (random) => (random.chance(0.5) ? asksSomebody(random) : {}), strike: toldToStop },
  { name: 'sigstop', plan: () => ({ stallMs: STALL_MS }), strike: stopped },
  {
    name: 'disk_full',
    sign: /store_failed/,
    needs: isRoot ? null : 'only root can mount a small disk',
    strike: onFullDisk,
  },
  { name: 'out_of_files', sign: /EMFILE|too many open files/, strike: outOfFiles },
  { name: 'tracker_down', sign: /tracker cannot be read/, strike: withoutTracker },
];

/** The scripts of the victim stop there, and the daemon is killed. */
function atHold(name) {
  const strike = async (trial) => {
    trial.world.hold(name, trial.victim);
    const life = trial.start();
    await trial.marked(life, 'at', name);
    await trial.kill(life);
    trial.world.unhold();
  };
  return { name, strike };
}

/** The daemon kills itself right before or after an effect. */
function atBoundary(name, boundaries, plan = {}) {
  const strike = async (trial) => {
    const { random, world } = trial;
    const life = trial.start({ kill: { at: random.pick(boundaries), nth: random.between(1, world.issues.length) } });
    await trial.ended(life);
  };
  return { name, plan: () => plan, strike };
}

function asksSomebody(random) {
  return { asks: true, onInputTimeout: random.chance(0.7) ? 'park' : 'decline', failures: {} };
}

async function whileAsking(trial) {
  trial.world.hold('asking', trial.victim);
  const life = trial.start();
  await trial.marked(life, 'asked', QUESTION);
  // The log line precedes the write, and only stored claims are kept.
  const isStored = () => storeNow(trial.world)?.claims[trial.victim]?.status.run?.questions.length > 0;
  await life.reaches(isStored, `the question of ${trial.victim} stored`);
  await trial.kill(life);
  trial.world.unhold();
  if (trial.plan.onInputTimeout === 'park') trial.expectParked = trial.victim;
}

/** Stopped with SIGTERM while a run asks or is in its turn. */
async function toldToStop(trial) {
  const { world, victim, plan } = trial;
  world.hold(plan.asks ? 'asking' : 'in_turn', victim);
  const life = trial.start();
  await trial.marked(life, ...(plan.asks ? ['asked', QUESTION] : ['at', 'in_turn']));
  if (plan.asks) await life.says('run asks a person');
  await trial.stop(life);
  world.unhold();
  if (plan.asks && plan.onInputTimeout === 'park') trial.expectParked = victim;
}

/** In the hook after a run that ended by itself or by a shutdown. */
async function inAfterRun(trial) {
  trial.world.hold('in_after_run', trial.victim);
  const life = trial.start();
  if (trial.random.chance(0.5)) {
    await trial.marked(life, 'begin', 'agent');
    life.process.kill('SIGTERM');
  }
  await trial.marked(life, 'at', 'in_after_run');
  await trial.kill(life);
  trial.world.unhold();
}

function failsTwice(random, { victim }) {
  return { failures: { [victim]: 2 }, backoffMs: random.between(2_000, 4_000) };
}

async function inBackoff(trial) {
  const life = trial.start();
  const isWaiting = () => storeNow(trial.world)?.claims[trial.victim]?.status.kind === 'waiting';
  await life.says('run failed, retrying');
  await life.reaches(isWaiting, `${trial.victim} waits for its retry`);
  await trial.kill(life);
}

/** Killed once more while the next daemon closes the run of the first. */
async function inRecovery(trial) {
  const { world, victim } = trial;
  world.hold('in_turn', victim);
  const first = trial.start();
  await trial.marked(first, 'at', 'in_turn');
  await trial.kill(first);
  world.unhold();
  world.hold('in_after_run', victim);
  const second = trial.start();
  await trial.marked(second, 'at', 'in_after_run');
  await trial.kill(second);
  world.unhold();
}

async function atRandom(trial) {
  await trial.live(trial.random.chance(0.5) ? 'boundary' : 'moment');
}
