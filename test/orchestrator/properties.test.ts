import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { slotUse } from '../../orchestrator/slots.js';
import { runOf } from '../../orchestrator/state.js';
import { nextWakeMs } from '../../orchestrator/wake.js';
import type { DurableClaim } from '../../src/domain/durable.js';
import type { Effect } from '../../src/domain/effects.js';
import type { ErrorCode } from '../../src/domain/errors.js';
import { failure, success } from '../../src/domain/outcome.js';
import { Core } from '../support/core.js';

/**
 * Random histories against the laws of DESIGN.md section 2. A step is a number or two; the world makes of them whatever is
 * possible at that moment, so every history is a legal one and shrinking works.
 */
const IDS = ['A', 'B', 'C', 'D', 'E'];
const STATES = ['Todo', 'In Progress', 'Backlog', 'Done'];
const CODES: ErrorCode[] = [
  'turn_failed',
  'port_exit',
  'hook_failed',
  'agent_quota',
  'agent_unauthorized',
  'turn_input_required',
  'template_parse_error',
  'stall_timeout',
  'CANCELLED_BY_ORCHESTRATOR',
];
const DOWN = { ok: false, code: 'tracker_request', message: 'down' } as const;

class World {
  readonly core = new Core({
    agent: {
      maxConcurrentAgents: 2,
      maxAttempts: 3,
      maxTokensPerIssue: 5_000,
      maxTokensPerDay: 20_000,
      maxConcurrentAgentsByState: { todo: 1 },
    },
  });
  readonly alive = new Map<string, string>();
  readonly removing = new Set<string>();
  readonly stopped = new Set<string>();
  readonly stored = new Map<string, DurableClaim>();
  readonly numbers = new Map<string, number>();
  readonly unconfirmed: { seq: number; effect: Extract<Effect, { type: 'persist' }> }[] = [];
  #checked = 0;

  constructor() {
    this.core.confirmsWrites = false;
    this.core.put(...IDS);
  }

  step(kind: number, a: number, b: number): void {
    this.#act(kind, a, b);
    this.#verify();
  }

  /** Faults stop, everything is answered, agents do their work: whatever is active is finished in the end, or parked with a reason. */
  calmDown(): void {
    this.core.unknown.clear();
    this.core.freeDiskMb = 100_000;
    this.core.send({ type: 'resume_requested' });
    for (let i = 0; i < 2_000 && this.#unfinished().length > 0; i++) {
      this.#calmStep();
      this.#verify();
    }
    expect(this.#unfinished(), 'every active issue is finished or parked').toEqual([]);
  }

  #calmStep(): void {
    const { core } = this;
    const write = this.unconfirmed.shift();
    const [removed] = this.removing;
    const [run] = this.alive;
    if (write) this.#confirm(write);
    else if (core.state.poll.inFlightSeq !== null) core.answerPoll();
    else if (core.state.read) core.answerRead();
    else if (removed !== undefined) {
      this.removing.delete(removed);
      core.send({ type: 'workspace_removed', issueId: removed, report: { ok: true } });
    } else if (run) {
      core.change(run[1], { state: 'Done' });
      this.alive.delete(run[0]);
      core.send({ type: 'run_exited', runId: run[0], outcome: success(null) });
    } else {
      const delayMs = nextWakeMs(core.state, core.now);
      expect(delayMs, 'asleep for ever').not.toBeNull();
      core.nowMs += delayMs ?? 0;
      core.tick();
    }
  }

  #unfinished(): string[] {
    const { state, board } = this.core;
    return IDS.filter((id) => {
      const claim = state.claims[id];
      const isActive = ['Todo', 'In Progress'].includes(board.get(id)?.state ?? '');
      const hasBudget = (state.records[id]?.tokens ?? 0) - (state.records[id]?.budgetFrom ?? 0) < 5_000;
      return isActive && claim?.status.kind !== 'parked' && (claim !== undefined || hasBudget);
    });
  }

  #confirm({ seq, effect }: World['unconfirmed'][number]): void {
    if (effect.change.full) this.stored.clear();
    for (const [issueId, claim] of Object.entries(effect.change.claims)) {
      if (claim) this.stored.set(issueId, claim);
      else this.stored.delete(issueId);
    }
    this.core.send({ type: 'persisted', seq });
  }

  #verify(): void {
    while (this.#checked < this.core.effects.length) {
      const effect = this.core.effects[this.#checked++];
      if (effect) this.#check(effect);
    }
    this.#checkState();
  }

  #act(kind: number, a: number, b: number): void {
    const { core } = this;
    const id = IDS[a % IDS.length] ?? 'A';
    const run = [...this.alive][a % Math.max(1, this.alive.size)];
    switch (kind) {
      case 0:
        core.nowMs += 1 + ((a * 977 + b * 31) % 200_000);
        return void core.tick();
      case 1:
        return void core.change(id, { state: STATES[b % 4] ?? 'Todo', priority: b % 6 });
      case 2:
        return void (b % 3 === 0 ? core.unknown.add(id) : core.unknown.delete(id));
      case 3:
        if (core.state.poll.inFlightSeq === null) return void core.send({ type: 'refresh_requested' });
        return void core.answerPoll(b % 5 === 0 ? { refresh: DOWN } : b % 5 === 1 ? { candidates: DOWN } : {});
      case 4:
        return void (core.state.read && core.answerRead(b % 5 === 0 ? DOWN : undefined));
      case 5:
      case 6: {
        const write = this.unconfirmed.shift();
        if (!write) return;
        if (b % 7 === 0) return void core.send({ type: 'persist_failed', seq: write.seq, message: 'disk full' });
        return this.#confirm(write);
      }
      case 7:
      case 8: {
        if (!run) return;
        this.alive.delete(run[0]);
        const outcome = b % 2 === 0 ? success(null) : failure(CODES[b % CODES.length] ?? 'turn_failed', 'x');
        return void core.send({ type: 'run_exited', runId: run[0], outcome });
      }
      case 9:
        return void (run && this.#signal(run[0], b));
      case 10:
        return void core.send({ type: b % 2 === 0 ? 'stop_requested' : 'retry_requested', issueId: id });
      case 11:
        return void core.send({ type: b % 3 === 0 ? 'pause_requested' : 'resume_requested' });
      case 12: {
        if (!this.removing.delete(id)) return;
        return void core.send({ type: 'workspace_removed', issueId: id, report: { ok: true } });
      }
      case 13: {
        const agent = { ...core.state.config.agent, maxConcurrentAgents: 1 + (b % 3) };
        return void core.send({
          type: 'config_changed',
          config: { ...core.state.config, agent },
          workflowHash: `h${b}`,
        });
      }
      case 14:
        core.freeDiskMb = b % 4 === 0 ? 1 : 100_000;
        return;
      case 15:
        return void (run && b % 4 === 0 && core.send({ type: 'run_unkillable', runId: run[0] }));
      case 16: {
        const answer = { kind: b % 2 === 0 ? 'accept' : 'decline' } as const;
        return void core.send({ type: 'answer_given', issueId: id, questionId: `q${b % 3}`, answer });
      }
      default:
        return void core.send({ type: 'run_exited', runId: `nobody-${a}`, outcome: success(null) });
    }
  }

  #signal(runId: string, b: number): void {
    const about = b % 3 === 0 ? { heldPush: 'digest' } : {};
    const question = { id: `q${b % 3}`, kind: 'approval', text: 'ok?', fields: [], ...about } as const;
    const signals = [
      { type: 'phase', phase: 'agent' },
      { type: 'progress', openItems: b % 2 },
      { type: 'session', threadId: `t-${runId}`, turnId: 'u', turn: 1 },
      { type: 'usage', threadId: `t-${runId}`, totals: { input: b * 10, cached: 0, output: b } },
      { type: 'asked', question },
      { type: 'question_closed', questionId: question.id },
      { type: 'host_calls', open: b % 2 },
      { type: 'moved_issue', state: 'Done' },
    ] as const;
    const signal = signals[b % signals.length];
    if (signal) this.core.send({ type: 'run_signalled', runId, signal });
  }

  #check(effect: Effect): void {
    switch (effect.type) {
      case 'persist':
        return void this.unconfirmed.push({ seq: effect.seq, effect });
      case 'start_run': {
        const { runId, issue, number } = effect.order;
        expect([...this.alive.values()], 'never two runs of an issue').not.toContain(issue.id);
        expect(this.removing, 'no run in a workspace that is being removed').not.toContain(issue.id);
        expect(this.stored.get(issue.id)?.status, 'a claim is stored before its process').toMatchObject({
          run: { runId },
        });
        expect(number, 'numbers only grow').toBeGreaterThan(this.numbers.get(issue.id) ?? 0);
        this.numbers.set(issue.id, number);
        return void this.alive.set(runId, issue.id);
      }
      case 'stop_run':
        expect([...this.alive.keys()], 'only living runs are stopped').toContain(effect.runId);
        expect(this.stopped, 'and only once').not.toContain(effect.runId);
        return void this.stopped.add(effect.runId);
      case 'remove_workspace':
        expect([...this.alive.values()], 'no cleanup of a live workspace').not.toContain(effect.issue.id);
        expect(this.removing, 'no cleanup twice').not.toContain(effect.issue.id);
        return void this.removing.add(effect.issue.id);
      default:
        return;
    }
  }

  #checkState(): void {
    const { state, now } = this.core;
    const running = Object.values(state.claims).filter((claim) => runOf(claim) !== null);
    // A lower limit in the workflow stops nothing; no start ever went over the limit of its time, which is at most 3.
    expect(slotUse(state).total).toBeLessThanOrEqual(3);
    expect(Object.fromEntries(running.map((claim) => [runOf(claim)?.runId, claim.issue.id]))).toEqual(state.runs);
    for (const claim of Object.values(state.claims)) {
      if (claim.status.kind === 'running') expect(claim.live.run).not.toBeNull();
      if (claim.status.kind === 'parked') expect(claim.status.message).not.toBe('');
      expect(claim.issue.id in state.candidates, 'an issue is claimed or a candidate').toBe(false);
    }
    for (const hold of Object.values(state.holds)) expect(hold.message, 'no hold without a reason').not.toBe('');
    for (const [, issueId] of this.alive)
      expect(Object.values(state.runs), 'a living run is never forgotten').toContain(issueId);
    expect(nextWakeMs(state, now) ?? 1).toBeGreaterThan(0);
    expect(JSON.parse(JSON.stringify(state)), 'state is plain JSON').toEqual(state);
  }
}

const history = fc.array(fc.tuple(fc.nat({ max: 17 }), fc.nat({ max: 4 }), fc.nat({ max: 500 })), {
  minLength: 20,
  maxLength: 150,
});

describe('random histories', () => {
  test('keep every law, and come to an end once faults stop: capacity, one run per issue, no cleanup under a living run, stored before started', () => {
    fc.assert(
      fc.property(history, (steps) => {
        const world = new World();
        world.step(3, 0, 2);
        for (const [kind, a, b] of steps) world.step(kind, a, b);
        world.calmDown();
      }),
      // test/sim plays tens of thousands, with kills; these shrink to a few steps when they fail.
      { numRuns: 150 },
    );
  });

  test('never start more than the limit of the moment', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 0, max: 5 }), (slots, perState) => {
        const core = new Core({
          agent: { maxConcurrentAgents: slots, maxConcurrentAgentsByState: { todo: perState } },
        });
        core.put(...IDS, ...IDS.map((id) => ({ id: `${id}2`, state: 'In Progress' })));
        core.poll();
        const use = slotUse(core.state);

        expect(use.total).toBe(Math.min(slots, 5 + Math.min(5, perState)));
        expect(use.byState.get('todo') ?? 0).toBeLessThanOrEqual(perState);
      }),
    );
  });

  test('the same history leads to the same state', () => {
    fc.assert(
      fc.property(history, (steps) => {
        const [one, two] = [new World(), new World()];
        for (const [kind, a, b] of steps) {
          one.step(kind, a, b);
          two.step(kind, a, b);
        }
        expect(one.core.state).toEqual(two.core.state);
      }),
      { numRuns: 30 },
    );
  });
});
