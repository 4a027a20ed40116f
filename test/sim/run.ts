import type { StartOrder, StopReason } from '../../src/domain/effects.js';
import { cancelled, failure, type Outcome } from '../../src/domain/outcome.js';
import type { RunSignal } from '../../src/domain/run-signal.js';
import { type AgentHost, SimAgent } from './agent.js';
import { drawStop, type StopKind } from './agent-kinds.js';
import type { Life } from './life.js';
import type { Tree } from './trees.js';
import type { World } from './world.js';

const KILL_WAIT_MS = 30_000;

/**
 * One run as the runner carries it through: workspace, hooks, agent, `after_run`, gone. What it does next is always one timer of
 * its daemon's; with the daemon it stands still, and only its tree may be left.
 */
export class SimRun implements AgentHost {
  readonly tree: Tree;
  readonly #agent: SimAgent;
  readonly #stopKind: StopKind;
  #cancelNext = () => {};
  #isStopped = false;
  #isFinishing = false;

  constructor(
    private readonly world: World,
    private readonly life: Life,
    readonly order: StartOrder,
    private readonly ended: (run: SimRun, outcome: Outcome) => void,
  ) {
    this.#agent = new SimAgent(world, this);
    this.#stopKind = drawStop(world);
    this.tree = world.trees.start(order.runId, order.issue.id, life.number);
  }

  begin(): void {
    if (this.reaches('run started')) return;
    this.emit({ type: 'phase', phase: 'preparing' });
    this.next(this.world.random.wait(5, 3_000), () => this.#prepare());
  }

  stop(reason: StopReason): void {
    if (this.#isStopped || this.#isFinishing) return;
    this.#isStopped = true;
    this.#cancelNext();
    const { random, coverage, time, isCalm } = this.world;
    if (this.#stopKind === 'outlives_kill') {
      coverage.mark('agent: outlives SIGKILL');
      const moreMs = random.wait(1_000, isCalm ? 60_000 : 600_000);
      this.tree.stubbornUntilMs = time.nowMs + KILL_WAIT_MS + moreMs;
      return this.next(KILL_WAIT_MS, () => {
        this.life.dispatch({ type: 'run_unkillable', runId: this.order.runId });
        this.next(moreMs, () => this.#leave(failure('unkillable', 'a process outlived SIGKILL')));
      });
    }
    if (this.#stopKind === 'slow') coverage.mark('agent: slow to stop');
    const delayMs = this.#stopKind === 'slow' ? random.int(5_000, 40_000) : random.wait(1, 3_000);
    this.next(delayMs, () => this.#leave(cancelled(reason)));
  }

  answer(questionId: string): void {
    if (!this.#isStopped) this.#agent.answer(questionId);
  }

  #prepare(): void {
    const { disk, random, coverage, isCalm, moods } = this.world;
    const { id, identifier } = this.order.issue;
    if (!isCalm && random.chance(0.02)) {
      coverage.mark('run: another daemon has the issue');
      return this.#gone(failure('issue_taken', 'another Baton works on it'));
    }
    if (moods.store === 'full' && random.chance(0.5)) {
      coverage.mark('run: cannot note down what it begins');
      return this.#gone(failure('store_failed', 'no space left on device'));
    }
    disk.owners.set(id, { key: id, scope: 'sim', issueId: id, identifier });
    if (this.reaches('workspace recorded')) return;
    if (!disk.folders.has(id)) {
      disk.folders.add(id);
      if (this.reaches('after_create')) return;
      if (!isCalm && random.chance(0.03)) {
        coverage.mark('hook: after_create fails');
        disk.folders.delete(id);
        return this.#gone(failure('hook_failed', 'after_create exited with 1'));
      }
    }
    this.next(random.wait(1, 2_000), () => this.#beforeRun());
  }

  #beforeRun(): void {
    const { disk, random, coverage, isCalm } = this.world;
    disk.owing.set(this.order.runId, this.order.issue.id);
    if (this.reaches('before_run')) return;
    if (!isCalm && random.chance(0.03)) {
      coverage.mark('hook: before_run fails');
      return this.finish(failure('hook_failed', 'before_run exited with 1'));
    }
    this.next(random.wait(1, 2_000), () => {
      if (this.reaches('agent spawned')) return;
      if (random.chance(0.2)) this.emit({ type: 'rendered', issueHash: 'issue', promptHash: 'prompt' });
      this.emit({ type: 'phase', phase: 'agent' });
      this.next(random.wait(1, 1_000), () => this.#agent.turn());
    });
  }

  /** The agent is gone; `after_run` is next. */
  finish(outcome: Outcome): void {
    if (this.#isFinishing) return;
    this.#isFinishing = true;
    this.emit({ type: 'phase', phase: 'finishing' });
    if (this.reaches('after_run begins')) return;
    const { random, coverage, disk, laws, isCalm } = this.world;
    const isSlow = !isCalm && random.chance(0.05);
    if (isSlow) coverage.mark('hook: after_run slow');
    this.next(isSlow ? random.int(5_000, 60_000) : random.wait(1, 1_000), () => {
      laws.afterRunPaid(this.order.runId, this.order.issue.id, this.life.number);
      if (this.reaches('after_run ended')) return;
      disk.owing.delete(this.order.runId);
      this.#gone(outcome);
    });
  }

  /** Its processes are gone; `after_run` is owed only when `before_run` began. */
  #leave(outcome: Outcome): void {
    if (this.world.disk.owing.has(this.order.runId)) this.finish(outcome);
    else this.#gone(outcome);
  }

  /** A moment at which its daemon may be killed; true when it is dead. */
  reaches(point: string): boolean {
    return this.life.reaches(point);
  }

  #gone(outcome: Outcome): void {
    this.world.trees.end(this.tree);
    if (this.reaches('run gone, not told')) return;
    this.ended(this, outcome);
  }

  emit(signal: Exclude<RunSignal, { type: 'event' }>): void {
    if (signal.type !== 'usage' && signal.type !== 'asked') {
      this.world.laws.progressed(this.order.runId, this.world.time.nowMs);
    }
    this.life.dispatch({ type: 'run_signalled', runId: this.order.runId, signal });
  }

  /** The one thing that it does next. */
  next(delayMs: number, act: () => void): void {
    this.#cancelNext = this.world.time.after(delayMs, () => {
      if (!this.life.isDead) act();
    });
  }
}
