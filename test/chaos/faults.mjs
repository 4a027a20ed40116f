import { setTimeout as pause } from 'node:timers/promises';

/** Longer than ending processes that ignore SIGTERM may take: that is silence too. */
export const STALL_MS = 7_000;
/** Longer than the stall limit, and than any gap that the daemon's clock could take for being busy. */
const STOPPED_MS = 9_000;

export async function stopped(trial) {
  const { world, victim, random } = trial;
  world.hold('in_turn', victim);
  const life = trial.start();
  await trial.marked(life, 'at', 'in_turn');
  life.process.kill('SIGSTOP');
  await pause(STOPPED_MS);
  if (random.chance(0.3)) {
    await trial.kill(life);
    world.unhold();
    return;
  }
  life.process.kill('SIGCONT');
  world.release('in_turn', victim);
  await trial.finishedOrEnded(life);
  await trial.kill(life);
}

export async function onFullDisk(trial) {
  const { world, victim, random } = trial;
  // The log of the store alone may grow to 4 MB before it is written back.
  world.mountState(8_192);
  world.hold('in_turn', victim);
  const life = trial.start();
  await trial.marked(life, 'at', 'in_turn');
  world.fillState();
  world.release('in_turn', victim);
  await life.says('holding: nothing new is started');
  if (random.chance(0.5)) {
    await trial.kill(life);
    // With nowhere to write it may refuse to start; it must not forget.
    const next = trial.start({ mayRefuse: true });
    await life.reaches(() => next.exit !== undefined || next.lines().some(({ msg }) => msg === 'started'), 'a start');
    await trial.kill(next);
    world.emptyState();
  } else {
    world.emptyState();
    if (random.chance(0.5)) await life.says('hold lifted');
    await trial.kill(life);
  }
}

/** At its start, where it may refuse; or in the middle of its work, where it must get over it. */
export async function outOfFiles(trial) {
  const { world, victim, random } = trial;
  if (random.chance(0.2)) {
    const life = trial.start({ maxFiles: random.between(24, 64), mayRefuse: true });
    await trial.within(life, 4_000);
    await trial.kill(life);
    return;
  }
  world.hold('in_turn', victim);
  const life = trial.start();
  await trial.marked(life, 'at', 'in_turn');
  life.limitFiles(life.openFiles() + random.between(0, 12));
  if (random.chance(0.5)) world.release('in_turn', victim);
  await trial.within(life, random.between(500, 4_000));
  if (random.chance(0.4)) {
    life.limitFiles(1_024);
    await trial.within(life, 1_000);
  }
  await trial.kill(life);
  world.unhold();
}

export async function withoutTracker(trial) {
  const { world, victim, random } = trial;
  world.hold('in_turn', victim);
  const life = trial.start();
  await trial.marked(life, 'at', 'in_turn');
  world.hideBacklog();
  await life.says('tracker cannot be read');
  if (random.chance(0.5)) world.release('in_turn', victim);
  await trial.kill(life);
  world.unhold();
  const next = trial.start({ mayRefuse: true });
  await next.says('tracker cannot be read');
  await trial.kill(next);
  world.showBacklog();
}
