import { decide } from '../../orchestrator/decide.js';
import { initialState, isAsking, runOf, type State } from '../../orchestrator/state.js';
import { nextWakeMs } from '../../orchestrator/wake.js';
import type { Claim, ClaimStatus, ParkReason } from '../../src/domain/claim.js';
import type { Config } from '../../src/domain/config.js';
import type { Effect, StartOrder } from '../../src/domain/effects.js';
import type { ErrorCode } from '../../src/domain/errors.js';
import type { OrchestratorEvent, ReadResult } from '../../src/domain/events.js';
import type { Issue } from '../../src/domain/issue.js';
import { cancelled, failure, type Outcome, success } from '../../src/domain/outcome.js';
import type { RateLimit } from '../../src/domain/ports.js';
import type { StopReason } from '../../src/domain/run.js';
import type { RunSignal } from '../../src/domain/run-signal.js';
import { config as buildConfig, issue as buildIssue, type DeepPartial } from './builders.js';
import { at } from './fake-clock.js';

/**
 * The pure core with a board in place of the tracker and the test in place of everything else. Writes are confirmed at
 * once; polls and reads are answered from the board when the test requests it. Every input state is frozen.
 */
export class Core {
  state: State;
  nowMs = 0;
  freeDiskMb: number | null = 100_000;
  rateLimit: RateLimit | undefined;
  readonly board = new Map<string, Issue>();
  readonly unknown = new Set<string>();
  readonly effects: Effect[] = [];
  confirmsWrites = true;

  constructor(overrides: DeepPartial<Config> = {}) {
    this.state = initialState(buildConfig(overrides), 'hash-1', 'test', at(0).wallMs);
  }

  get now() {
    return at(this.nowMs);
  }

  put(...issues: (string | (Partial<Issue> & { id: string }))[]): this {
    for (const one of issues) {
      const given = typeof one === 'string' ? { id: one } : one;
      this.board.set(given.id, buildIssue({ identifier: given.id, ...given }));
    }
    return this;
  }

  change(id: string, change: Partial<Issue>): this {
    const known = this.board.get(id);
    if (!known) throw new Error(`no issue ${id} on the board`);
    this.board.set(id, { ...known, ...change });
    return this;
  }

  /** Handles one event and returns its effects, including confirmed writes. */
  send(event: OrchestratorEvent): Effect[] {
    const { state, effects } = decide(deepFreeze(this.state), event, this.now);
    this.state = state;
    this.effects.push(...effects);
    const all = [...effects];
    for (const effect of effects) {
      if (effect.type === 'persist' && this.confirmsWrites)
        all.push(...this.send({ type: 'persisted', seq: effect.seq }));
    }
    return all;
  }

  tick(): Effect[] {
    return this.send({ type: 'ticked' });
  }

  /** Advances time and ticks whenever the core is due. */
  advance(ms: number): Effect[] {
    const end = this.nowMs + ms;
    const effects: Effect[] = [];
    for (let delay = nextWakeMs(this.state, this.now); delay !== null && this.nowMs + delay <= end; ) {
      this.nowMs += delay;
      effects.push(...this.tick());
      delay = nextWakeMs(this.state, this.now);
    }
    this.nowMs = end;
    return effects;
  }

  /** Has a poll ordered now (unless one is in flight) and answers it from the board. */
  poll(): Effect[] {
    if (this.state.poll.inFlightSeq === null) this.send({ type: 'refresh_requested' });
    return this.answerPoll();
  }

  answerPoll(override: { refresh?: ReadResult; candidates?: ReadResult } = {}): Effect[] {
    const poll = this.last('poll');
    if (!poll || poll.seq !== this.state.poll.inFlightSeq) throw new Error('no poll in flight');
    const refresh = override.refresh ?? this.readBoard(poll.ids);
    const states = poll.states.map((s) => s.toLowerCase());
    const active = [...this.board.values()].filter(
      (i) => states.includes(i.state.trim().toLowerCase()) && !this.unknown.has(i.id),
    );
    const limit = this.rateLimit ? { rateLimit: this.rateLimit } : {};
    const candidates = override.candidates ?? { ok: true, issues: active, unknown: [], ...limit };
    const { freeDiskMb } = this;
    return this.send({
      type: 'observed',
      observation: { seq: poll.seq, asked: poll.ids, refresh, candidates, freeDiskMb },
    });
  }

  /** Answers the read in flight from the board. */
  answerRead(override?: ReadResult): Effect[] {
    const read = this.last('read_issues');
    if (!read || read.seq !== this.state.read?.seq) throw new Error('no read in flight');
    const result = override ?? this.readBoard(read.ids);
    return this.send({ type: 'issues_read', seq: read.seq, asked: read.ids, result });
  }

  /** Answers reads until none is in flight. */
  answerReads(): Effect[] {
    const effects: Effect[] = [];
    while (this.state.read) effects.push(...this.answerRead());
    return effects;
  }

  signal(issueId: string, signal: Exclude<RunSignal, { type: 'event' }>): Effect[] {
    return this.send({ type: 'run_signalled', runId: this.runId(issueId), signal });
  }

  usage(issueId: string, threadId: string, input: number, output = 0, cached = 0): Effect[] {
    return this.signal(issueId, { type: 'usage', threadId, totals: { input, cached, output } });
  }

  exit(issueId: string, outcome: Outcome = success(null)): Effect[] {
    return this.send({ type: 'run_exited', runId: this.runId(issueId), outcome });
  }

  fail(issueId: string, code: ErrorCode = 'turn_failed', extra: Parameters<typeof failure>[2] = {}): Effect[] {
    return this.exit(issueId, failure(code, `because of ${code}`, extra));
  }

  /** A run that ends well, and the look at the issue one second later. */
  finish(issueId: string): Effect[] {
    return [...this.exit(issueId), ...this.advance(1_000), ...(this.state.read ? this.answerRead() : [])];
  }

  /** The first event of a daemon. Interrupted runs are closed at once, with no live processes. */
  begin(once?: { only: string | null }): Effect[] {
    const effects = this.send({ type: 'started', leftovers: [], ...(once ? { once } : {}) });
    const closed = ofType(effects, 'close_run').flatMap(({ order: { runId } }) =>
      this.send({ type: 'run_exited', runId, outcome: cancelled('shutdown') }),
    );
    return [...effects, ...closed];
  }

  claim(issueId: string): Claim {
    const claim = this.state.claims[issueId];
    if (!claim) throw new Error(`${issueId} is not claimed; claimed: ${Object.keys(this.state.claims).join(', ')}`);
    return claim;
  }

  status<K extends ClaimStatus['kind']>(issueId: string, kind: K): Extract<ClaimStatus, { kind: K }> {
    const { status } = this.claim(issueId);
    if (status.kind !== kind) throw new Error(`${issueId} is ${JSON.stringify(status)}, not ${kind}`);
    return status as Extract<ClaimStatus, { kind: K }>;
  }

  runId(issueId: string): string {
    const run = runOf(this.claim(issueId));
    if (!run) throw new Error(`${issueId} has no run`);
    return run.runId;
  }

  /** `running`, `asking`, `waiting`, `parked: <reason>` or `unclaimed`. */
  standing(issueId: string): 'running' | 'asking' | 'waiting' | `parked: ${ParkReason}` | 'unclaimed' {
    const claim = this.state.claims[issueId];
    if (!claim) return 'unclaimed';
    if (isAsking(claim)) return 'asking';
    return claim.status.kind === 'parked' ? `parked: ${claim.status.reason}` : claim.status.kind;
  }

  last<T extends Effect['type']>(type: T): Extract<Effect, { type: T }> | undefined {
    return this.effects.findLast((effect): effect is Extract<Effect, { type: T }> => effect.type === type);
  }

  latest<T extends Effect['type']>(type: T): Extract<Effect, { type: T }> {
    const effect = this.last(type);
    if (!effect) throw new Error(`no ${type} was ordered`);
    return effect;
  }

  readBoard(ids: readonly string[]): ReadResult {
    const issues = ids.flatMap((id) => (this.unknown.has(id) ? [] : (this.board.get(id) ?? [])));
    return { ok: true, issues, unknown: ids.filter((id) => this.unknown.has(id)) };
  }
}

export function started(effects: readonly Effect[]): string[] {
  return starts(effects).map((order) => order.issue.id);
}

export function starts(effects: readonly Effect[]): StartOrder[] {
  return effects.flatMap((effect) => (effect.type === 'start_run' ? [effect.order] : []));
}

export function stops(effects: readonly Effect[]): StopReason[] {
  return effects.flatMap((effect) => (effect.type === 'stop_run' ? [effect.reason] : []));
}

export function ofType<T extends Effect['type']>(effects: readonly Effect[], type: T): Extract<Effect, { type: T }>[] {
  return effects.filter((effect): effect is Extract<Effect, { type: T }> => effect.type === type);
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}
