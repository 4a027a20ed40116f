import type { Workflow } from '../../src/domain/workflow.js';
import { Board } from './board.js';
import { Coverage, type Fault } from './coverage.js';
import { Disk } from './disk.js';
import { History } from './history.js';
import { Killer } from './killer.js';
import { LawChecker } from './law-checker.js';
import { Life } from './life.js';
import type { Plant } from './plant.js';
import { Random } from './random.js';
import { drawWorkflow } from './settings.js';
import { type Tree, Trees } from './trees.js';
import { VirtualTime } from './virtual-time.js';

export interface Moods {
  tracker: 'fine' | 'down' | 'locked' | 'limited' | 'slow' | 'vague' | 'split';
  store: 'fine' | 'full' | 'slow';
  service: 'fine' | 'locked_out' | 'out_of_quota' | 'unreachable' | 'bad_prompt';
  disk: 'fine' | 'low';
}

const FINE: Moods = { tracker: 'fine', store: 'fine', service: 'fine', disk: 'fine' };

/** The theme of this seed. Faults are limited to it, because a fault that always occurs hides the others. */
interface Traits {
  readonly isolation: 'pidns' | 'none';
  readonly agents: 'good' | 'mixed';
  readonly has: {
    readonly [part in 'tracker' | 'store' | 'service' | 'clock' | 'people' | 'operators' | 'kills']: boolean;
  };
}

/** The whole simulated world, with one daemon at a time. */
export class World {
  readonly random: Random;
  readonly time = new VirtualTime();
  readonly coverage = new Coverage();
  readonly history: History;
  readonly disk = new Disk();
  readonly trees = new Trees();
  readonly board: Board;
  readonly killer: Killer;
  readonly laws: LawChecker;
  readonly traits: Traits;
  moods: Moods = FINE;
  isCalm = false;
  life: Life | null = null;
  workflow: Workflow;
  /** Promises may be pending. */
  isStirred = true;
  runs = 0;
  kills = 0;
  #lives = 0;
  readonly #workflows = new Map<string, Workflow>();

  constructor(
    readonly seed: number,
    readonly plant: Plant,
    onLine: ((line: string) => void) | null = null,
  ) {
    this.history = new History(onLine);
    this.random = new Random(seed);
    this.board = new Board(this.random);
    this.laws = new LawChecker(this);
    const { random } = this;
    const has = () => random.chance(0.6);
    this.traits = {
      isolation: random.chance(0.5) ? 'pidns' : 'none',
      agents: random.chance(0.4) ? 'good' : 'mixed',
      has: {
        tracker: has(),
        store: random.chance(0.4),
        service: random.chance(0.4),
        clock: random.chance(0.4),
        people: random.chance(0.8),
        operators: has(),
        kills: random.chance(0.8),
      },
    };
    this.killer = new Killer(this);
    this.workflow = this.reload();
    for (let count = random.int(3, 8); count > 0; count--) this.board.create();
  }

  boot(): void {
    this.#lives += 1;
    const life = new Life(this, this.#lives);
    this.life = life;
    this.killer.plan();
    this.stirred();
    void life.boot();
  }

  /** A person saves WORKFLOW.md. */
  reload(): Workflow {
    const workflow = drawWorkflow(this.random, this.#workflows.size + 1);
    this.#workflows.set(workflow.hash, workflow);
    this.workflow = workflow;
    return workflow;
  }

  workflowOf(hash?: string): Workflow {
    return (hash === undefined ? undefined : this.#workflows.get(hash)) ?? this.workflow;
  }

  daemonDied(life: Life): void {
    this.kills += 1;
    this.laws.deaths.killed();
    for (const tree of this.trees.alive) {
      if (tree.life !== life.number) continue;
      const isStuck = tree.stubbornUntilMs > this.time.nowMs;
      if (isStuck || (this.traits.isolation === 'none' && this.random.chance(0.7))) this.#orphan(tree);
      else {
        this.coverage.mark('kill: processes die with it');
        this.trees.end(tree);
      }
    }
    this.#bootLater(life);
  }

  daemonLeft(life: Life): void {
    this.laws.deaths.ended();
    for (const tree of this.trees.alive) if (tree.life === life.number) this.#orphan(tree);
    this.#bootLater(life);
  }

  /** At start: every process with the daemon's marker gets SIGKILL. */
  reap(): void {
    const { trees, time } = this;
    for (const tree of trees.alive) {
      if (this.plant.reaps?.(tree.marker) === false) continue;
      if (tree.stubbornUntilMs <= time.nowMs) trees.end(tree);
      else time.after(tree.stubbornUntilMs - time.nowMs, () => trees.end(tree));
    }
  }

  calmDown(): void {
    this.isCalm = true;
    this.moods = FINE;
  }

  stirred(): void {
    this.isStirred = true;
  }

  /** An operator who acts on the current daemon, if there is one. */
  anyClaimedId(): string {
    return this.random.pick(Object.keys(this.life?.state?.claims ?? {})) ?? this.board.anyId();
  }

  happened(fault: Fault, about: string): void {
    this.coverage.mark(fault);
    this.tell(() => `${fault} ${about}`);
  }

  tell(line: () => string): void {
    this.history.tell(this.time.nowMs, line());
  }

  /** It does not notice that its daemon is gone. */
  #orphan(tree: Tree): void {
    const { random, time, coverage, board, trees } = this;
    coverage.mark('kill: processes survive');
    if (random.chance(0.3)) {
      time.after(random.wait(1, 120_000), () => {
        if (!tree.isAlive) return;
        coverage.mark('kill: survivor goes on working');
        board.move(tree.issueId, random.pick(['Done', 'In Progress']));
      });
    }
    time.after(random.wait(60_000, 3_600_000), () => {
      if (tree.isAlive) trees.end(tree);
    });
  }

  #bootLater(life: Life): void {
    if (this.life !== life) return;
    this.life = null;
    const delayMs = this.isCalm ? 1_000 : this.random.wait(10, this.random.chance(0.1) ? 7_200_000 : 60_000);
    this.time.after(delayMs, () => {
      if (this.life === null) this.boot();
    });
  }
}
