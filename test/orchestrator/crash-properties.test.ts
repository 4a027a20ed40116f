import fc from 'fast-check';
import { expect, test } from 'vitest';
import { restore } from '../../orchestrator/restore.js';
import { initialState } from '../../orchestrator/state.js';
import { nextWakeMs } from '../../orchestrator/wake.js';
import type { Effect } from '../../src/domain/effects.js';
import { cancelled, failure, success } from '../../src/domain/outcome.js';
import type { Store } from '../../src/domain/ports.js';
import { Core } from '../support/core.js';
import { createMemoryStore } from '../support/memory-store.js';

type Persist = Extract<Effect, { type: 'persist' }>;

const IDS = ['A', 'B', 'C'];
const SETTINGS = { agent: { maxConcurrentAgents: 2, maxAttempts: 4, maxRunsWithoutProgress: 0 } } as const;

/** Lives of a daemon, one after the other, on one board and one disk. Whatever was not written yet when it is killed is lost. */
class Lives {
  core = new Core(SETTINGS);
  readonly disk: Store = createMemoryStore();
  readonly unwritten: Persist[] = [];
  readonly alive = new Map<string, string>();
  /** Runs that the daemon before left. */
  readonly left: string[] = [];
  readonly numbers = new Map<string, number>();
  readonly runIds = new Set<string>();
  #checked = 0;
  #lives = 0;

  constructor() {
    this.core.put(...IDS);
    this.#begin();
  }

  async kill(): Promise<void> {
    const { board, nowMs } = this.core;
    const failures = Object.fromEntries(
      Object.entries((await this.disk.load()).claims).map(([id, claim]) => [id, claim.failures]),
    );
    this.core = new Core(SETTINGS);
    for (const [id, issue] of board) this.core.board.set(id, issue);
    this.core.nowMs = nowMs;
    // A PID namespace ends with its daemon.
    this.alive.clear();
    this.unwritten.length = 0;
    this.left.length = 0;
    this.#checked = 0;
    const { config } = this.core.state;
    const fresh = initialState(config, 'hash-1', `life-${this.#lives++}`, this.core.now.wallMs);
    this.core.state = restore(fresh, await this.disk.load(), this.core.now.wallMs);
    for (const [id, count] of Object.entries(failures)) expect(this.core.claim(id).failures).toBe(count);
    this.#begin();
  }

  async step(kind: number, a: number, b: number): Promise<void> {
    const { core } = this;
    const id = IDS[a % IDS.length] ?? 'A';
    const run = [...this.alive][a % Math.max(1, this.alive.size)];
    if (kind <= 2) await this.#write();
    else if (kind === 3) core.send({ type: 'refresh_requested' });
    else if (kind === 4 && core.state.poll.inFlightSeq !== null) core.answerPoll();
    else if (kind === 5 && core.state.read) core.answerRead();
    else if (kind <= 7 && this.left.length > 0) this.#close();
    else if (kind <= 7 && run) this.#exit(run, b % 3 === 0);
    else if (kind === 8) core.change(id, { state: ['Todo', 'In Progress', 'Done', 'Backlog'][b % 4] ?? 'Todo' });
    else if (kind === 9) {
      core.nowMs += b * 100;
      core.tick();
    } else if (kind === 10) await this.kill();
    this.look();
  }

  /** No more kills: everything that is active is finished in the end. */
  async calmDown(): Promise<void> {
    for (let steps = 0; steps < 500 && this.#unfinished().length > 0; steps++) {
      const { core } = this;
      const [run] = this.alive;
      if (this.unwritten.length > 0) await this.#write();
      else if (core.state.poll.inFlightSeq !== null) core.answerPoll();
      else if (core.state.read) core.answerRead();
      else if (this.left.length > 0) this.#close();
      else if (run) {
        core.change(run[1], { state: 'Done' });
        this.#exit(run, false);
      } else {
        core.nowMs += nextWakeMs(core.state, core.now) ?? 0;
        core.tick();
      }
      this.look();
    }
    expect(this.#unfinished(), 'nothing is forgotten').toEqual([]);
  }

  look(): void {
    while (this.#checked < this.core.effects.length) {
      const effect = this.core.effects[this.#checked++];
      if (effect?.type === 'persist') this.unwritten.push(effect);
      if (effect?.type === 'close_run') this.left.push(effect.order.runId);
      if (effect?.type === 'remove_workspace')
        this.core.send({ type: 'workspace_removed', issueId: effect.issue.id, report: { ok: true } });
      if (effect?.type !== 'start_run') continue;
      const { issue, runId, number } = effect.order;
      expect([...this.alive.values()], 'never two runs of an issue').not.toContain(issue.id);
      expect(number, 'numbers only grow').toBeGreaterThan(this.numbers.get(issue.id) ?? 0);
      expect(this.runIds, 'ids are new').not.toContain(runId);
      this.runIds.add(runId);
      this.numbers.set(issue.id, number);
      this.alive.set(runId, issue.id);
    }
  }

  #begin(): void {
    this.core.confirmsWrites = false;
    this.core.send({ type: 'started', leftovers: [] });
    this.look();
  }

  async #write(): Promise<void> {
    const effect = this.unwritten.shift();
    if (!effect) return;
    await this.disk.write(effect.change);
    this.core.send({ type: 'persisted', seq: effect.seq });
  }

  #close(): void {
    this.core.send({ type: 'run_exited', runId: this.left.shift() ?? '', outcome: cancelled('shutdown') });
  }

  #exit([runId]: [string, string], isFailure: boolean): void {
    this.alive.delete(runId);
    this.core.send({ type: 'run_exited', runId, outcome: isFailure ? failure('turn_failed', 'x') : success(null) });
  }

  #unfinished(): string[] {
    return IDS.filter(
      (id) =>
        ['Todo', 'In Progress'].includes(this.core.board.get(id)?.state ?? '') &&
        this.core.state.claims[id]?.status.kind !== 'parked',
    );
  }
}

const history = fc.array(fc.tuple(fc.nat({ max: 10 }), fc.nat({ max: 3 }), fc.nat({ max: 500 })), { maxLength: 120 });

test('random histories with kills lose no issue, count every failure that was stored, and number runs only upwards', async () => {
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      const lives = new Lives();
      for (const step of steps) await lives.step(...step);
      await lives.calmDown();
    }),
    { numRuns: 400 },
  );
});
