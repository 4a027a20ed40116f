import { Life } from './life.mjs';
import { endProcess, processesWith } from './processes.mjs';
import { randomFrom } from './random.mjs';
import { foldersOf, lookAfter, lookAtEnd, storeNow } from './read-remains.mjs';
import { LIMIT_MS, until } from './until.mjs';

/** Reaping may take a moment after the daemon has logged its start. */
const REAP_LIMIT_MS = 5_000;
const MAX_LIFE_MS = 8_000;
/** About as many boundaries as a life of a trial has. */
const MAX_BOUNDARY = 150;

/**
 * One trial: the daemon is brought to the point and killed, started again and killed up to two times more, and then let finish
 * everything. Returns everything that can be read afterwards from logs, store and /proc; `judge` finds the violations.
 */
export async function runTrial(world, point, seed) {
  const trial = new Trial(world, point, seed);
  try {
    await point.strike(trial);
    for (let kills = 0; kills < world.plan.extraKills; kills++) {
      await trial.live(trial.random.chance(0.6) ? 'boundary' : 'moment');
    }
    await trial.finish();
  } catch (error) {
    trial.broken = error;
  }
  return trial.close();
}

class Trial {
  constructor(world, point, seed) {
    this.world = world;
    this.plan = world.plan;
    this.victim = world.plan.victim;
    this.random = randomFrom(seed ^ 0x5bd1e995);
    this.lives = [];
    this.expectParked = null;
    this.broken = null;
    this.point = point;
  }

  start({ mayRefuse = false, ...options } = {}) {
    const life = new Life(this.world, options);
    life.mayRefuse = mayRefuse;
    life.leftovers = [];
    this.lives.push(life);
    return life;
  }

  async kill(life) {
    if (life.exit === undefined) life.wasKilled = true;
    await life.kill();
    life.after = lookAfter(this.world);
  }

  /** Stopped with SIGTERM. */
  async stop(life) {
    life.process.kill('SIGTERM');
    await life.exited;
    life.after = lookAfter(this.world);
  }

  /** Waits until a script of the victim has reported it in this life. */
  async marked(life, what, where) {
    const isIt = (mark) =>
      mark.what === what && mark.where === where && mark.issue === this.victim && mark.atMs >= life.startedAtMs;
    if (!(await life.reaches(() => this.world.marks().some(isIt), `${this.victim} ${what} ${where}`))) {
      throw new Error(`the daemon ended before ${this.victim} was ${what} ${where}: ${JSON.stringify(life.exit)}`);
    }
  }

  /** The process ends itself. */
  async ended(life) {
    await life.reaches(() => false, 'its own end');
    await this.kill(life);
  }

  /** Settles after that time, or when the daemon has ended. */
  async within(life, timeMs, isEnough = () => false) {
    const endMs = Date.now() + timeMs;
    await life.reaches(() => isEnough() || Date.now() >= endMs, 'the time', timeMs + LIMIT_MS);
  }

  finishedOrEnded(life) {
    return life.reaches(() => this.#isFinished(), 'everything finished');
  }

  /** A life that is ended at some moment, or right before or after some effect. */
  async live(how) {
    const isBoundary = how === 'boundary';
    const nth = this.random.between(1, MAX_BOUNDARY);
    const momentMs = this.random.between(50, 2_500);
    const life = this.start(isBoundary ? { kill: { at: 'boundary', nth } } : {});
    await this.#reaped(life);
    // An issue that waits for a person is never finished, and a boundary may never come.
    const limitMs = isBoundary ? MAX_LIFE_MS : momentMs - (Date.now() - life.startedAtMs);
    await this.within(life, limitMs, () => isBoundary && this.#isFinished());
    await this.kill(life);
  }

  /** The last life runs without faults. */
  async finish() {
    const life = this.start();
    await this.#reaped(life);
    if (this.expectParked !== null) await this.#freeParked(life, this.expectParked);
    await this.#finishAll(life);
    // A kill may have come between a folder and its record: the first poll of this life tidies up after it.
    await life.reaches(() => foldersOf(this.world).owners.length === 0, 'no workspace on record');
    await this.stop(life);
  }

  async close() {
    const { lives, plan, world, point, broken } = this;
    for (const life of lives) if (life.exit === undefined) life.process.kill('SIGKILL');
    await Promise.all(lives.map((life) => life.exited));
    if (broken !== null) world.repair();
    const living = await this.#gone(() => true, REAP_LIMIT_MS);
    for (const { pid } of this.#living(() => true, { promised: false })) endProcess(pid);
    return {
      point: point.name,
      plan,
      broken: broken === null ? null : broken.message,
      lives: lives.map(factsOf),
      marks: world.marks(),
      parked: this.parked ?? null,
      expectParked: this.expectParked,
      end: { ...lookAtEnd(world), living },
    };
  }

  /** Every process of an earlier daemon must be gone soon after the next one has logged its start. */
  async #reaped(life) {
    if (!(await life.says('started')) || this.lives.length === 1) return;
    const isOld = (one) => one.startTime < life.startTime;
    const left = await this.#gone(isOld, REAP_LIMIT_MS, () => life.exit !== undefined);
    life.leftovers = life.exit === undefined ? left : [];
  }

  async #gone(isMeant, limitMs, isOver = () => false) {
    const living = () => this.#living(isMeant).map(({ pid, command }) => `${pid} ${command.slice(0, 80)}`);
    await until(() => isOver() || living().length === 0, 'every process gone', limitMs).catch(() => {});
    return living();
  }

  #living(isMeant, { promised = true } = {}) {
    const daemons = new Set(this.lives.filter(({ exit }) => exit === undefined).map(({ pid }) => pid));
    // Without namespaces a process without session and environment cannot be found again; no promise covers it.
    const isPromised = ({ command }) => this.plan.isolation !== 'none' || !command.includes('sleep 3000.');
    return processesWith(this.world.number).filter(
      (one) => !daemons.has(one.pid) && isMeant(one) && (!promised || isPromised(one)),
    );
  }

  async #freeParked(life, issue) {
    const isDecided = () => {
      const kind = storeNow(this.world)?.claims[issue]?.status.kind;
      return kind === 'parked' || this.world.statuses()[issue] === 'Done';
    };
    await life.reaches(isDecided, `${issue} parked with its question`);
    this.parked = storeNow(this.world)?.claims[issue] ?? null;
    this.world.edit(issue, 'Yes, do that.');
  }

  /** Waits until everything is finished. A person edits the issues that are parked because three daemons were killed during their runs. */
  async #finishAll(life) {
    const claims = Object.entries(storeNow(this.world)?.claims ?? {});
    const parked = new Set(claims.flatMap(([issue, { status }]) => (isDeadly(status) ? [issue] : [])));
    const edited = new Set();
    const isFinished = () => {
      for (const line of life.lines()) if (line.msg === 'issue parked' && isDeadly(line)) parked.add(line.issue_id);
      for (const issue of parked) {
        if (edited.has(issue)) continue;
        edited.add(issue);
        this.world.edit(issue, 'Start again.');
      }
      return this.#isFinished();
    };
    await life.reaches(isFinished, 'everything finished');
  }

  #isFinished() {
    if (Object.values(this.world.statuses()).some((status) => status !== 'Done')) return false;
    const { workspaces, creating, trash } = foldersOf(this.world);
    return [...workspaces, ...creating, ...trash].length === 0;
  }
}

function isDeadly({ reason }) {
  return reason === 'daemon_died';
}

function factsOf(life) {
  const { exit, wasKilled, mayRefuse, leftovers, after = null } = life;
  const lines = life.lines();
  // Until then, processes of the earlier daemon may still act.
  const said = lines.find(({ msg }) => msg === 'started');
  return { startedAtMs: said ? Date.parse(said.time) : Infinity, exit, wasKilled, mayRefuse, leftovers, after, lines };
}
