import type { StartOrder } from '../../src/domain/effects.js';
import { BatonError, type ErrorCode } from '../../src/domain/errors.js';
import { cancelled, failure, failureOf, type Outcome, success } from '../../src/domain/outcome.js';
import type { StopReason } from '../../src/domain/run.js';
import type { RunSignal } from '../../src/domain/run-signal.js';
import { type AgentHost, SimAgent } from './agent.js';
import { drawStop, type StopKind } from './agent-kinds.js';
import type { Fault } from './coverage.js';
import type { Life } from './life.js';
import { troubleOf } from './tracker.js';
import type { Tree } from './trees.js';
import type { World } from './world.js';

const KILL_WAIT_MS = 30_000;
const COMMENTS_LIMIT_MS = 60_000;
const COMMENTS: { readonly [code in ErrorCode]?: Fault } = {
  tracker_auth: 'run: the tracker refuses its comments',
  tracker_rate_limited: 'run: the tracker limits its comments',
};

/**
 * One run in the runner: workspace, hooks, agent, `after_run`, end. Its next action is always one timer of
 * its daemon. It stops with the daemon, and only its process tree may remain.
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
    this.next(this.world.random.wait(5, 3_000), () => this.#readComments());
  }

  /** The first action: a run does not begin without the comments. */
  #readComments(): void {
    const { random, coverage, moods } = this.world;
    const trouble = random.chance(0.5) ? troubleOf(this.world) : null;
    if (trouble) {
      coverage.mark(COMMENTS[trouble.code] ?? 'run: comments cannot be read');
      return this.next(random.wait(1, 5_000), () => this.#refused(trouble));
    }
    if (moods.tracker !== 'slow' || !random.chance(0.3)) return this.#prepare();
    coverage.mark('run: comments never come');
    const late = new BatonError('tracker_request', 'the tracker did not tell the comments within 60 s');
    this.next(COMMENTS_LIMIT_MS, () => this.#refused(late));
  }

  #refused(trouble: BatonError): void {
    // After a token was rejected once, it counts from then on.
    if (trouble.code !== 'tracker_auth') this.world.laws.limits.runEnds(this.order.runId, resetOf(trouble));
    this.#gone(failureOf(trouble));
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

  /** The turn succeeded; the issue is read again. */
  lookAfterTurn(): void {
    const { moods, random, coverage, laws } = this.world;
    const trouble = moods.tracker === 'limited' && random.chance(0.3) ? troubleOf(this.world) : null;
    if (!trouble) return this.finish(success(null));
    coverage.mark('agent: the tracker limits the look after its turn');
    laws.limits.runEnds(this.order.runId, resetOf(trouble));
    this.finish(failureOf(trouble));
  }

  /** The agent has ended; `after_run` follows. */
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

  /** Its processes are gone; `after_run` is due only when `before_run` began. */
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

  /** The next action. */
  next(delayMs: number, act: () => void): void {
    this.#cancelNext = this.world.time.after(delayMs, () => {
      if (!this.life.isDead) act();
    });
  }
}

function resetOf({ details }: BatonError): number | null {
  return typeof details.resetAtMs === 'number' ? details.resetAtMs : null;
}
