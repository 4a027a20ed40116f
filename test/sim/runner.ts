import type { StartOrder } from '../../src/domain/effects.js';
import type { Issue } from '../../src/domain/issue.js';
import { cancelled, type Outcome, success } from '../../src/domain/outcome.js';
import type { RemovalReport, Runner } from '../../src/domain/ports.js';
import type { StopReason } from '../../src/domain/run.js';
import type { Life } from './life.js';
import { SimRun } from './run.js';
import type { World } from './world.js';

/** The runner of one life. Runs and removals are process trees of the world; their messages go to the daemon that started them. */
export class SimRunner implements Runner {
  readonly #runs = new Map<string, SimRun>();
  #removals = 0;

  constructor(
    private readonly world: World,
    private readonly life: Life,
  ) {}

  start(order: StartOrder): void {
    const { world, life } = this;
    world.laws.runStarts(order, life);
    const run = new SimRun(world, life, order, (over, outcome) => this.#ended(over, outcome));
    this.#runs.set(order.runId, run);
    world.runs += 1;
    run.begin();
  }

  /** Leftover processes were killed at start. Survivors are waited for, then the pending `after_run` runs. */
  close(order: StartOrder): void {
    const { world, life } = this;
    const { trees, time, random, disk, laws } = world;
    const { runId, issue } = order;
    const done = () => {
      if (life.isDead) return;
      disk.owing.delete(runId);
      if (!life.reaches('run closed, not told'))
        life.dispatch({ type: 'run_exited', runId, outcome: cancelled('shutdown') });
    };
    const pay = () => {
      if (life.isDead) return;
      if (!disk.owing.has(runId) || !disk.folders.has(issue.id)) return done();
      const tree = trees.start(runId, issue.id, life.number);
      if (life.reaches('owed after_run begins')) return;
      time.after(random.wait(1, 3_000), () => {
        if (life.isDead) return;
        laws.afterRunPaid(runId, issue.id, life.number);
        trees.end(tree);
        if (!life.reaches('owed after_run ended')) done();
      });
    };
    const survivor = trees
      .of(issue.id)
      .find(({ marker, stubbornUntilMs }) => marker === runId && stubbornUntilMs > time.nowMs);
    if (!survivor) return void time.after(random.wait(1, 500), pay);
    world.coverage.mark('close: survivor outlives SIGKILL');
    time.after(random.wait(1, 500), () => life.dispatch({ type: 'run_unkillable', runId }));
    time.after(survivor.stubbornUntilMs - time.nowMs + 500, pay);
  }

  stop(runId: string, reason: StopReason): void {
    this.world.laws.stopAsked(runId, reason, this.life);
    this.#runs.get(runId)?.stop(reason);
  }

  answer(runId: string, questionId: string): void {
    this.#runs.get(runId)?.answer(questionId);
  }

  steer(): void {}

  removeWorkspace(issue: Issue): Promise<RemovalReport> {
    const { world, life } = this;
    const { disk, random, time, coverage, trees, laws } = world;
    laws.removalStarts(issue, life);
    if (!disk.owners.has(issue.id)) return Promise.resolve({ ok: true });
    this.#removals += 1;
    const tree = trees.start(`remove-${life.number}-${this.#removals}`, issue.id, life.number);
    return new Promise((resolve) => {
      time.after(random.wait(1, world.isCalm ? 2_000 : 30_000), () => {
        if (life.isDead) return;
        world.stirred();
        if (!world.isCalm && random.chance(0.1)) {
          coverage.mark('hook: removal fails');
          trees.end(tree);
          return resolve({ ok: false, message: 'the work could not be saved' });
        }
        disk.folders.delete(issue.id);
        if (life.reaches('folder deleted')) return;
        disk.owners.delete(issue.id);
        trees.end(tree);
        if (life.reaches('owner forgotten')) return;
        resolve({ ok: true });
      });
    });
  }

  freeDiskMb(): Promise<number | null> {
    if (this.world.moods.disk === 'low') this.world.coverage.mark('disk: low');
    return Promise.resolve(this.world.moods.disk === 'low' ? 100 : 100_000);
  }

  /** A forced exit: KILL for all, without waiting. */
  killAll(): void {
    const { trees, time } = this.world;
    for (const tree of trees.alive) {
      if (tree.life === this.life.number && tree.stubbornUntilMs <= time.nowMs) trees.end(tree);
    }
  }

  #ended(run: SimRun, outcome: Outcome): void {
    const { world, life } = this;
    const { runId, issue } = run.order;
    this.#runs.delete(runId);
    life.dispatch({ type: 'run_exited', runId, outcome });
    if (world.isCalm || !world.random.chance(0.15)) return;
    world.time.after(world.random.wait(1, 20_000), () => {
      if (life.isDead) return;
      world.coverage.mark('agent: speaks after its end');
      const late = world.random.chance(0.5)
        ? ({ type: 'run_exited', runId, outcome: success(null) } as const)
        : ({ type: 'run_unkillable', runId } as const);
      world.laws.oldRunSpeaks(life, issue.id, late);
    });
  }
}
