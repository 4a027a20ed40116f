import { Loop } from '../../orchestrator/loop.js';
import { createPerform } from '../../orchestrator/perform.js';
import { restore } from '../../orchestrator/restore.js';
import { initialState, type State } from '../../orchestrator/state.js';
import type { Clock } from '../../src/domain/clock.js';
import type { Effect } from '../../src/domain/effects.js';
import type { Dispatch } from '../../src/domain/events.js';
import type { Workflow } from '../../src/domain/workflow.js';
import { SimRunner } from './runner.js';
import { simStore } from './store.js';
import { simTracker } from './tracker.js';
import { clockOf } from './virtual-time.js';
import type { World } from './world.js';

/** One daemon process from start to end: the real loop, perform and restore over the simulated ports. */
export class Life {
  isDead = false;
  loop: Loop | null = null;
  clock: Clock | null = null;
  /** The workflow that the core last received. */
  workflow: Workflow;
  /** Messages of the world for this daemon. */
  dispatch: Dispatch = () => {};
  readonly #runner: SimRunner;

  constructor(
    private readonly world: World,
    readonly number: number,
  ) {
    this.workflow = world.workflow;
    this.#runner = new SimRunner(world, this);
  }

  get state(): State | null {
    return this.loop?.state ?? null;
  }

  async boot(): Promise<void> {
    const { world } = this;
    const { plant, time, laws } = world;
    world.reap();
    const plainClock = clockOf(time, () => {
      world.stirred();
      return !this.isDead;
    });
    this.clock = plainClock;
    const plainStore = simStore(world, this);
    const store = plant.store?.(plainStore, this) ?? plainStore;
    if (this.reaches('reaped')) return;
    const durable = await store.load();
    const owners = [...world.disk.owners.values()];
    if (this.isDead) return;

    const clock = plant.clock?.(plainClock, this) ?? plainClock;
    const { config, hash } = this.workflow;
    const fresh = initialState(plant.config?.(config) ?? config, hash, `life-${this.number}`, time.wallMs);
    const restored = restore(fresh, durable, time.wallMs);
    const initial = plant.restore?.(restored, fresh) ?? restored;
    laws.restarted(initial, this);
    for (const runId of world.disk.owing.keys()) {
      if (Object.hasOwn(initial.runs, runId)) continue;
      world.disk.owing.delete(runId);
      laws.broke('after_run_paid', `nobody will pay the after_run of ${runId}`);
    }

    const plainTracker = simTracker(world, this);
    const act = createPerform(
      {
        clock,
        store,
        tracker: plant.tracker?.(plainTracker, this) ?? plainTracker,
        runner: plant.runner?.(this.#runner, this) ?? this.#runner,
        workflow: (wanted) => world.workflowOf(wanted),
        checkWorkflow: async () => this.tellWorkflow(),
        log: () => {},
        reopen: () => {},
        exit: (isForced) => this.#leave(isForced),
      },
      (event) => this.dispatch(event),
    );
    const perform = plant.perform?.(act, this) ?? act;
    let before = initial;
    const loop = new Loop({
      initial,
      clock,
      perform: (effect) => this.#perform(effect, perform),
      onDecided: (event, state, effects) => {
        laws.decided(this, before, event, state, effects);
        before = state;
      },
      onFault: (error, event) => laws.broke('core_never_throws', `${event.type} led to ${String(error)}`),
    });
    this.loop = loop;
    this.dispatch = plant.dispatch?.(loop.dispatch, this) ?? loop.dispatch;
    if (this.reaches('restored')) return;
    world.tell(() => `the daemon starts, life ${this.number}`);
    this.dispatch({ type: 'started', leftovers: owners });
  }

  /** An edit that the watcher missed is noticed at the next poll. */
  tellWorkflow(): void {
    const { workflow, plant } = this.world;
    if (this.isDead || workflow.hash === this.workflow.hash) return;
    this.workflow = workflow;
    const config = plant.config?.(workflow.config) ?? workflow.config;
    this.dispatch({ type: 'config_changed', config, workflowHash: workflow.hash });
  }

  /** A point at which the daemon may be killed. Returns true when it is dead. */
  reaches(point: string): boolean {
    if (!this.isDead && this.world.killer.strikes(point)) {
      this.world.coverage.mark(`kill: at ${point}`);
      this.die();
    }
    return this.isDead;
  }

  /** With SIGKILL: no port is informed. */
  die(): void {
    if (this.isDead) return;
    this.world.tell(() => 'the daemon is killed');
    this.#end();
    this.world.daemonDied(this);
  }

  #perform(effect: Effect, perform: (effect: Effect) => void): void {
    const { killer, coverage } = this.world;
    if (this.isDead) return;
    this.world.stirred();
    if (killer.strikes(`before ${effect.type}`)) {
      coverage.mark(`kill: before ${effect.type}`);
      return this.die();
    }
    perform(effect);
    if (!this.isDead && killer.strikes(`after ${effect.type}`)) {
      coverage.mark(`kill: after ${effect.type}`);
      this.die();
    }
  }

  #leave(isForced: boolean): void {
    if (this.isDead) return;
    this.world.tell(() => `the daemon leaves${isForced ? ', forced' : ''}`);
    if (isForced) this.#runner.killAll();
    else this.world.laws.leftInOrder(this);
    this.#end();
    this.world.daemonLeft(this);
  }

  #end(): void {
    this.isDead = true;
    this.loop?.close();
    this.dispatch = () => {};
  }
}
