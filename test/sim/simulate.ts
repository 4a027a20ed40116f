import { isEligible, RULES } from '../../orchestrator/eligibility.js';
import type { State } from '../../orchestrator/state.js';
import { standingOf } from '../../src/domain/issue.js';
import { stir } from './chaos.js';
import type { Breach } from './laws.js';
import { NO_PLANT, type Plant } from './plant.js';
import { World } from './world.js';

const MOST_STEPS = 6_000;
const CHAOS_MS = 4 * 3_600_000;
const CALM_MS = 4 * 3_600_000;
const MOST_CALM_STEPS = 30_000;
const LOOK_EVERY_MS = 5_000;

export interface Report {
  readonly seed: number;
  readonly runs: number;
  readonly kills: number;
  readonly events: number;
  readonly hash: string;
  readonly breach: Breach | null;
  readonly last: readonly string[];
  readonly coverage: ReadonlyMap<string, number>;
}

/** Plays one history from its seed: faults and kills first, then a calm phase in which everything must finish. */
export async function simulate(
  seed: number,
  plant: Plant = NO_PLANT,
  onLine: ((line: string) => void) | null = null,
): Promise<Report> {
  const world = new World(seed, plant, onLine);
  world.boot();
  stir(world);
  const enoughRuns = world.random.int(15, 50);
  await drained();
  const isEnough = () => world.runs >= enoughRuns || world.time.nowMs >= CHAOS_MS;
  await play(world, MOST_STEPS, isEnough);
  if (!world.laws.breach) await calmDown(world);
  const { laws, history, coverage, runs, kills } = world;
  return {
    seed,
    runs,
    kills,
    events: laws.events,
    hash: history.hash,
    breach: laws.breach,
    last: history.last,
    // What is still under way when a law is broken goes on counting.
    coverage: new Map(coverage.counts),
  };
}

/** Runs steps one by one. Returns true when `isDone` holds within this many steps. */
async function play(world: World, mostSteps: number, isDone: () => boolean): Promise<boolean> {
  for (let steps = 0; steps < mostSteps; steps++) {
    if (world.laws.breach || isDone()) return true;
    if (!world.time.step()) return true;
    if (!world.isStirred) continue;
    world.isStirred = false;
    await drained();
  }
  return false;
}

async function calmDown(world: World): Promise<void> {
  const { laws, time } = world;
  world.calmDown();
  world.tell(() => 'the calm begins');
  soothe(world);
  const untilMs = time.nowMs + CALM_MS;
  let unfinished: string[] = [];
  let lookedMs = -1;
  const isAtRest = () => {
    if (time.nowMs - lookedMs < LOOK_EVERY_MS) return false;
    lookedMs = time.nowMs;
    unfinished = restOf(world);
    return unfinished.length === 0;
  };
  const isInTime = await play(world, MOST_CALM_STEPS, () => isAtRest() || time.nowMs >= untilMs);
  if (laws.breach) return;
  if (!isInTime)
    return laws.broke('core_never_throws', `no rest after ${MOST_CALM_STEPS} steps: ${restOf(world).join('; ')}`);
  if (unfinished.length > 0) return laws.broke('everything_ends', unfinished.join('; '));
  const all = new Set([...laws.startedRuns, ...world.disk.runs.keys()]);
  const open = [...all].find((runId) => !world.disk.runs.get(runId)?.end);
  if (open !== undefined) return laws.broke('runs_recorded', `${open} is over, and no record says how it ended`);
  await tidied(world);
}

/** An operator tends the daemon every few seconds until everything is at rest. */
function soothe(world: World): void {
  const { time, laws } = world;
  const state = world.life?.state;
  if (world.life && !world.life.isDead && state && state.shutdown === null) {
    world.life.tellWorkflow();
    laws.operatorSaid('resume_requested');
    if (state.pausedSinceMs !== null) world.life.dispatch({ type: 'resume_requested' });
    // Includes a night, so a daily budget can reset.
    if (state.holds.budget) time.wallOffsetMs += 12 * 3_600_000;
  }
  time.after(30_000, () => soothe(world));
}

/** A finished issue has no workspace after a restart. */
async function tidied(world: World): Promise<void> {
  const { laws, disk, board, time, life } = world;
  life?.dispatch({ type: 'shutdown_requested' });
  await drained();
  const untilMs = time.nowMs + 600_000;
  const litter = () =>
    [...disk.folders].filter((id) => {
      const issue = board.issues.get(id);
      return issue && standingOf(issue, world.workflow.config.tracker) === 'terminal';
    });
  const isTidy = () => world.life !== life && world.life?.state?.poll.lastOkAtMs != null && litter().length === 0;
  await play(world, MOST_CALM_STEPS, () => isTidy() || time.nowMs >= untilMs);
  if (!isTidy()) laws.broke('everything_ends', `workspaces of finished issues are left: ${litter().join(', ')}`);
}

/** What is not at rest, one sentence each. */
function restOf(world: World): string[] {
  const { life, trees, board, disk, workflow } = world;
  const state = life?.state;
  if (!life || !state) return ['there is no daemon'];
  const { claims } = state;
  return [
    ...trees.alive.map((tree) => `the tree ${tree.marker} of ${tree.issueId} lives`),
    ...Object.keys(state.runs).map((runId) => `the run ${runId} has its slot`),
    ...Object.keys(state.removals).map((id) => `the workspace of ${id} is being removed`),
    ...[...disk.owing.keys()].map((runId) => `${runId} owes its after_run`),
    ...(state.poll.slowMs !== null ? ['polls are slow'] : []),
    ...(state.persist.settledSeq < state.persist.orderedSeq ? ['not everything is stored'] : []),
    ...[...board.issues.values()]
      .filter((issue) => standingOf(issue, workflow.config.tracker) === 'active')
      .filter((issue) => claims[issue.id]?.status.kind !== 'parked' && !isKeptOut(state, issue.id))
      .map((issue) => `${issue.id} is active and ${claims[issue.id]?.status.kind ?? 'not claimed'}`),
  ];
}

/** Not claimed, and the daemon can explain why. */
function isKeptOut(state: State, issueId: string): boolean {
  const issue = state.candidates[issueId];
  return issue !== undefined && !isEligible(issue, state) && RULES.some((rule) => !rule.passes(issue, state));
}

/** All pending promises have settled. */
function drained(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
