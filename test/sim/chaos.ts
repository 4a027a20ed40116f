import type { Fault } from './coverage.js';
import { operators } from './operators.js';
import type { World } from './world.js';

const EVERY_MS = 8_000;
const HEARTBEAT_MS = 1_000;
const SET_BACK_TOLD_MS = 1_000;

/** People, operators, the machine and chance act every few seconds, until the calm phase. */
export function stir(world: World): void {
  const { random, time } = world;
  time.after(random.wait(1, 3 * EVERY_MS), () => {
    if (world.isCalm) return;
    random.weighted(actionsOf(world), () => {})();
    stir(world);
  });
}

function actionsOf(world: World): readonly (readonly [number, () => void])[] {
  const { has } = world.traits;
  const when = (is: boolean, weight: number) => (is ? weight : 0);
  return [
    [14, () => newIssue(world)],
    [when(has.people, 20), () => people(world)],
    [when(has.operators, 16), () => operators(world)],
    [when(has.tracker, 12), () => trackerMood(world)],
    [when(has.tracker, 12), () => announce(world)],
    [when(has.store, 8), () => storeMood(world)],
    [when(has.service, 8), () => serviceMood(world)],
    [when(has.clock, 5), () => clocks(world)],
    [when(has.kills, 1), () => kill(world)],
    [20, () => clearUp(world)],
  ];
}

function newIssue(world: World): void {
  const made = world.board.create();
  if (made) world.happened('people: new issue', made.id);
}

function people(world: World): void {
  const { random, board } = world;
  const id = random.chance(0.4) ? world.anyClaimedId() : board.anyId();
  const acts: readonly (readonly [number, Fault, () => void])[] = [
    [10, 'people: move', () => board.move(id)],
    [6, 'people: edit', () => board.edit(id)],
    [3, 'people: labels', () => board.relabel(id)],
    [3, 'people: block', () => board.block(id)],
    [1, 'people: delete', () => board.delete(id)],
    [2, 'people: reload of the workflow', () => reload(world)],
  ];
  const chosen = random.weighted(
    acts.map(([weight, ...act]) => [weight, act] as const),
    null,
  );
  if (!chosen) return;
  chosen[1]();
  world.happened(chosen[0], id);
}

function reload(world: World): void {
  world.reload();
  // Otherwise the watcher misses the edit.
  if (world.random.chance(0.6)) world.life?.tellWorkflow();
}

function trackerMood(world: World): void {
  const tracker = world.random.pick(['down', 'locked', 'limited', 'slow', 'vague', 'split'] as const);
  world.moods = { ...world.moods, tracker };
  world.tell(() => `the tracker is ${tracker}`);
}

/** With a webhook. */
function announce(world: World): void {
  const { life } = world;
  if (!life || life.isDead) return;
  world.happened('tracker: announces a change', '');
  life.dispatch({ type: 'change_announced' });
}

function storeMood(world: World): void {
  const { random, moods } = world;
  if (random.chance(0.3)) world.moods = { ...moods, disk: 'low' };
  else world.moods = { ...moods, store: random.pick(['full', 'slow']) };
  world.tell(() => `the store is ${world.moods.store}, space is ${world.moods.disk}`);
}

function serviceMood(world: World): void {
  const service = world.random.pick(['locked_out', 'out_of_quota', 'unreachable', 'bad_prompt'] as const);
  world.moods = { ...world.moods, service };
  world.tell(() => `the model service: ${service}`);
}

function clearUp(world: World): void {
  const part = world.random.pick(['tracker', 'store', 'service', 'disk'] as const);
  world.moods = { ...world.moods, [part]: 'fine' };
}

function clocks(world: World): void {
  const { random, time, life } = world;
  const kind = random.pick(['clock: set back', 'clock: set back a little', 'clock: jumps forward', 'machine: sleeps']);
  world.happened(kind as Fault, '');
  switch (kind) {
    case 'clock: set back': {
      const byMs = random.int(SET_BACK_TOLD_MS + 1, 3_600_000);
      time.setBack(byMs);
      // The daemon notices at its next heartbeat.
      time.after(random.int(1, HEARTBEAT_MS), () => {
        if (life && !life.isDead) life.dispatch({ type: 'clock_set_back', byMs });
      });
      return;
    }
    case 'clock: set back a little':
      time.setBack(random.int(1, SET_BACK_TOLD_MS));
      return;
    case 'clock: jumps forward':
      time.wallOffsetMs += random.int(1_000, 3_600_000);
      return;
    default:
      time.wallOffsetMs += random.int(60_000, 43_200_000);
      people(world);
  }
}

function kill(world: World): void {
  if (!world.life || world.life.isDead) return;
  world.coverage.mark('kill: at a random moment');
  world.life.die();
}
