import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { tokensOn } from '../../orchestrator/ledger.js';
import { readyList } from '../../orchestrator/select.js';
import { slotUse } from '../../orchestrator/slots.js';
import { isAsking, type State } from '../../orchestrator/state.js';
import { type Claim, HOLD_SOURCES, PARK_REASONS, type ParkReason } from '../domain/claim.js';
import type { Instant } from '../domain/clock.js';
import type { RunRecord } from '../domain/durable.js';
import { ERRORS } from '../domain/error-table.js';
import type { OrchestratorEvent } from '../domain/events.js';
import type { Question } from '../domain/run-signal.js';
import type { Totals } from './totals.js';

export interface MetricsOptions {
  state(): State;
  now(): Instant;
  /** Tokens since the daemon started. */
  totals(): Totals;
  readonly version: string;
}

export interface Metrics {
  /** Called after every event of the core. Must be cheap: agents cause a thousand events a second. */
  decided(event: OrchestratorEvent, before: State, after: State, now: Instant): void;
  /** In the Prometheus text format. */
  text(): Promise<{ readonly text: string; readonly type: string }>;
  close(): void;
}

/**
 * Metrics for Prometheus. Events are counted when they happen; gauges are read from the state at each scrape.
 *
 * No label contains text of a tracker or an agent, not even an identifier or the state of an issue. Prometheus keeps a series for weeks per label
 * value, so issue authors could fill its memory, and it shows labels to people who may not see the issues. All label values come from lists
 * in the code (`ERRORS`, `PARK_REASONS`, …); an unknown code becomes `other`.
 */
export function createMetrics({ state, now, totals, version }: MetricsOptions): Metrics {
  // Not the global registry of the package: tests run several daemons in one process.
  const registry = new Registry();
  const counts = new Counts(registry);
  const gauges = new StateGauges(registry, now().wallMs, version);
  const processGauges = new ProcessGauges(registry);
  return {
    decided: (event, before, after, at) => counts.decided(event, before, after, at),
    async text() {
      counts.setTokens(totals());
      gauges.update(state(), now());
      processGauges.update();
      return { text: await registry.metrics(), type: registry.contentType };
    },
    close() {
      processGauges.close();
      registry.clear();
    },
  };
}

const RUN_BUCKETS = [5, 15, 60, 300, 900, 1_800, 3_600, 7_200, 14_400];
const POLL_BUCKETS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Counters since the daemon started, derived from the state before and after each event. */
export class Counts {
  readonly #runs: Counter<'outcome' | 'code'>;
  readonly #runSeconds: Histogram<'outcome'>;
  readonly #retries: Counter;
  readonly #stalls: Counter;
  readonly #asked: Counter<'kind'>;
  readonly #answered: Counter<'kind'>;
  readonly #finished: Counter<'how'>;
  readonly #polls: Counter<'result' | 'code'>;
  readonly #pollSeconds: Histogram;
  readonly #tokens: Counter<'type'>;
  #poll: { readonly seq: number; readonly beganAwakeMs: number } | null = null;

  constructor(registry: Registry) {
    const registers = [registry];
    const counter = <L extends string>(name: string, help: string, labelNames: L[] = []) =>
      new Counter({ name, help, labelNames, registers });
    this.#runs = counter('baton_runs_total', 'Runs that have ended.', ['outcome', 'code']);
    this.#runSeconds = new Histogram({
      ...{ name: 'baton_run_duration_seconds', help: 'Duration of runs, including hooks.' },
      ...{ labelNames: ['outcome'] as const, buckets: RUN_BUCKETS, registers },
    });
    this.#retries = counter('baton_retries_total', 'Failed runs after which a retry was scheduled.');
    this.#stalls = counter('baton_stalls_total', 'Runs that were stopped because their agent made no progress.');
    this.#asked = counter('baton_questions_asked_total', 'Questions that agents asked a person.', ['kind']);
    this.#answered = counter('baton_questions_answered_total', 'Questions that a person answered.', ['kind']);
    this.#finished = counter('baton_issues_finished_total', 'Issues that were finished or handed over after a run.', [
      'how',
    ]);
    this.#polls = counter('baton_polls_total', 'Polls of the tracker.', ['result', 'code']);
    this.#pollSeconds = new Histogram({
      ...{ name: 'baton_poll_duration_seconds', help: 'Duration of polls of the tracker.' },
      ...{ buckets: POLL_BUCKETS, registers },
    });
    this.#tokens = counter('baton_tokens_total', 'Tokens that agents used; cached_input is part of input.', ['type']);
    this.#addZeroSeries();
  }

  decided(event: OrchestratorEvent, before: State, after: State, now: Instant): void {
    if (before.ended !== after.ended) this.#countEnds(before, after);
    if (before.poll.inFlightSeq !== after.poll.inFlightSeq) this.#countPoll(event, before, after, now);
    if (before.finished !== after.finished) this.#countFinished(before, after);
    switch (event.type) {
      case 'run_signalled':
        if (event.signal.type === 'asked') this.#countAsked(event.signal.question, event.runId, before, after);
        return;
      case 'answer_given':
        return this.#countAnswer(event.issueId, event.questionId, before, after);
      case 'run_exited':
        return this.#countExit(event.runId, before, after);
      case 'run_unkillable':
        return this.#countStall(claimOf(before, event.runId));
    }
  }

  setTokens({ input, cached, output }: Totals): void {
    this.#tokens.reset();
    this.#tokens.inc({ type: 'input' }, input);
    this.#tokens.inc({ type: 'cached_input' }, cached);
    this.#tokens.inc({ type: 'output' }, output);
  }

  /** A series that appears with its first event hides that event: `increase()` sees a series that was always 1. */
  #addZeroSeries(): void {
    this.#runs.inc({ outcome: 'success', code: '' }, 0);
    this.#polls.inc({ result: 'ok', code: '' }, 0);
    for (const kind of ['approval', 'input']) {
      this.#asked.inc({ kind }, 0);
      this.#answered.inc({ kind }, 0);
    }
    for (const how of ['done', 'handed_over']) this.#finished.inc({ how }, 0);
  }

  /** Several runs may end in one decision. They stay in `ended` until they are stored. */
  #countEnds(before: State, after: State): void {
    for (const [runId, { record }] of Object.entries(after.ended)) {
      if (record.end === null || Object.hasOwn(before.ended, runId)) continue;
      const { outcome, code, atMs } = record.end;
      this.#runs.inc({ outcome, code: codeLabel(code) });
      if (wasOurs(record, before))
        this.#runSeconds.observe({ outcome }, Math.max(0, atMs - record.startedAtMs) / 1_000);
    }
  }

  #countPoll(event: OrchestratorEvent, before: State, after: State, now: Instant): void {
    if (event.type === 'observed' && event.observation.seq === before.poll.inFlightSeq) {
      const { refresh, candidates } = event.observation;
      const failure = !refresh.ok ? refresh : !candidates.ok ? candidates : null;
      this.#polls.inc({ result: failure ? 'failed' : 'ok', code: codeLabel(failure?.code ?? null) });
      if (this.#poll?.seq === before.poll.inFlightSeq)
        this.#pollSeconds.observe((now.awakeMs - this.#poll.beganAwakeMs) / 1_000);
    }
    const seq = after.poll.inFlightSeq;
    this.#poll = seq === null ? null : { seq, beganAwakeMs: now.awakeMs };
  }

  #countFinished(before: State, after: State): void {
    const known = new Set(before.finished);
    for (const issue of after.finished)
      if (!known.has(issue)) this.#finished.inc({ how: issue.isTerminal ? 'done' : 'handed_over' });
  }

  #countAsked({ id, kind }: Question, runId: string, before: State, after: State): void {
    const isNew = !openQuestion(claimOf(before, runId), id) && openQuestion(claimOf(after, runId), id);
    if (isNew) this.#asked.inc({ kind });
  }

  #countAnswer(issueId: string, questionId: string, before: State, after: State): void {
    const question = openQuestion(claimAt(before, issueId), questionId);
    if (question && !openQuestion(claimAt(after, issueId), questionId)) this.#answered.inc({ kind: question.kind });
  }

  #countExit(runId: string, before: State, after: State): void {
    const claim = claimOf(before, runId);
    if (!claim) return;
    this.#countStall(claim);
    const next = claimAt(after, claim.issue.id);
    if (next?.status.kind === 'waiting' && next.failures > claim.failures) this.#retries.inc();
  }

  /** Counted when the run ends, because a stronger reason may replace the stall after the stop is ordered. */
  #countStall(claim: Claim | undefined): void {
    if (claim?.live.run?.stop === 'stalled') this.#stalls.inc();
  }
}

/** The duration of a run is unknown when an earlier daemon started it, or when it never started. */
function wasOurs({ issueId, runId }: RunRecord, before: State): boolean {
  const claim = claimAt(before, issueId);
  return claim?.status.kind === 'running' && claim.status.run.runId === runId && claim.live.run?.stage === 'started';
}

function openQuestion(claim: Claim | undefined, questionId: string): Question | undefined {
  if (claim?.status.kind === 'running') return claim.status.run.questions.find(({ id }) => id === questionId);
  const parked = claim?.status.kind === 'parked' ? claim.status.question : null;
  return parked?.id === questionId ? parked : undefined;
}

function claimOf(state: State, runId: string): Claim | undefined {
  return Object.hasOwn(state.runs, runId) ? claimAt(state, state.runs[runId] ?? '') : undefined;
}

/** Every object has `constructor` and the like. */
function claimAt(state: State, issueId: string): Claim | undefined {
  return Object.hasOwn(state.claims, issueId) ? state.claims[issueId] : undefined;
}

const ISSUE_STATES = ['running', 'asking', 'retrying', 'parked', 'ready', 'ineligible'] as const;
type IssueState = (typeof ISSUE_STATES)[number];

/** Gauges that are read from the state. */
export class StateGauges {
  readonly #issues: Gauge<'state'>;
  readonly #parked: Gauge<'reason'>;
  readonly #slots: Gauge;
  readonly #slotsLimit: Gauge;
  readonly #agents: Gauge;
  readonly #tokensToday: Gauge;
  readonly #tokensLimit: Gauge;
  readonly #pollAge: Gauge;
  readonly #hold: Gauge<'source' | 'code'>;
  readonly #paused: Gauge;
  readonly #startedAtMs: number;

  constructor(registry: Registry, startedAtMs: number, version: string) {
    const gauge = <L extends string>(name: string, help: string, labelNames: L[] = []) =>
      new Gauge({ name, help, labelNames, registers: [registry] });
    this.#issues = gauge('baton_issues', 'Known issues, each in one state.', ['state']);
    this.#parked = gauge('baton_issues_parked', 'Parked issues by reason.', ['reason']);
    this.#slots = gauge('baton_slots_taken', 'Slots that runs take.');
    this.#slotsLimit = gauge('baton_slots_limit', 'All slots: agent.max_concurrent_agents.');
    this.#agents = gauge('baton_agents_alive', 'Runs with processes, including running hooks.');
    this.#tokensToday = gauge('baton_tokens_today', 'Tokens that count against agent.max_tokens_per_day.');
    this.#tokensLimit = gauge('baton_tokens_today_limit', 'agent.max_tokens_per_day; absent without a limit.');
    this.#pollAge = gauge(
      'baton_poll_age_seconds',
      'Time since the last successful poll of the tracker, or since the start.',
    );
    this.#hold = gauge('baton_hold', 'Is 1 while no runs are started for that reason.', ['source', 'code']);
    this.#paused = gauge('baton_paused', 'Is 1 while a person has paused the daemon.');
    this.#startedAtMs = startedAtMs;
    gauge('baton_build_info', 'Is always 1.', ['version', 'node']).set({ version, node: process.versions.node }, 1);
  }

  update(state: State, now: Instant): void {
    const { config, poll } = state;
    this.#updateIssues(state, now);
    this.#updateHolds(state);
    this.#slots.set(slotUse(state).total);
    this.#slotsLimit.set(config.agent.maxConcurrentAgents);
    this.#agents.set(Object.values(state.claims).filter(({ live }) => live.run?.stage === 'started').length);
    this.#tokensToday.set(tokensOn(state.ledger, now.day));
    if (config.agent.maxTokensPerDay === null) this.#tokensLimit.remove();
    else this.#tokensLimit.set(config.agent.maxTokensPerDay);
    // Without a successful poll the age counts from the start, so that an alert fires.
    this.#pollAge.set(Math.max(0, now.wallMs - (poll.lastOkAtMs ?? this.#startedAtMs)) / 1_000);
    this.#paused.set(state.pausedSinceMs === null ? 0 : 1);
  }

  /** Each issue counts in one state, unlike in the lists of the API, so that a sum over series is a number of issues. */
  #updateIssues(state: State, now: Instant): void {
    const issues = new Map<IssueState, number>(ISSUE_STATES.map((one) => [one, 0]));
    const parked = new Map<ParkReason, number>(PARK_REASONS.map((one) => [one, 0]));
    const add = <K>(to: Map<K, number>, key: K, by = 1) => to.set(key, (to.get(key) ?? 0) + by);
    for (const claim of Object.values(state.claims)) {
      const { status } = claim;
      if (status.kind === 'waiting') add(issues, 'retrying');
      else if (status.kind === 'parked') add(issues, 'parked');
      else add(issues, isAsking(claim) ? 'asking' : 'running');
      if (status.kind === 'parked') add(parked, status.reason);
    }
    const ready = readyList(state, now).filter(({ claim }) => claim === null).length;
    add(issues, 'ready', ready);
    add(issues, 'ineligible', Object.keys(state.candidates).length - ready);
    for (const [name, number] of issues) this.#issues.set({ state: name }, number);
    for (const [reason, number] of parked) this.#parked.set({ reason }, number);
  }

  /** One series for each source, with the code while there is one. */
  #updateHolds({ holds }: State): void {
    this.#hold.reset();
    for (const source of HOLD_SOURCES) {
      const hold = holds[source];
      this.#hold.set({ source, code: codeLabel(hold?.code ?? null) }, hold ? 1 : 0);
    }
  }
}

/** The monitor records the time between two calls: this resolution plus the delay. */
const RESOLUTION_MS = 10;
const QUANTILES = { '0.5': 50, '0.99': 99, '1': 100 } as const;

/** The process of the daemon, under the usual names. Not `collectDefaultMetrics`, because its observers cannot be stopped. */
export class ProcessGauges {
  readonly #cpu: Counter;
  readonly #memory: Gauge;
  readonly #heap: Gauge;
  readonly #delay: Gauge<'quantile'>;
  #monitor: IntervalHistogram | null = null;
  #isClosed = false;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#cpu = new Counter({
      ...{ name: 'process_cpu_seconds_total', help: 'CPU time of the daemon itself, without its agents.' },
      registers,
    });
    const gauge = (name: string, help: string) => new Gauge({ name, help, registers });
    this.#memory = gauge('process_resident_memory_bytes', 'Memory of the daemon itself, without its agents.');
    this.#heap = gauge('nodejs_heap_size_used_bytes', 'JavaScript objects of the daemon.');
    gauge('process_start_time_seconds', 'When the daemon was started.').set(performance.timeOrigin / 1_000);
    this.#delay = new Gauge({
      ...{
        name: 'baton_event_loop_delay_seconds',
        help: 'Delay of the event loop since the last scrape.',
      },
      ...{ labelNames: ['quantile'] as const, registers },
    });
  }

  update(): void {
    const { user, system } = process.cpuUsage();
    this.#cpu.reset();
    this.#cpu.inc((user + system) / 1e6);
    const { rss, heapUsed } = process.memoryUsage();
    this.#memory.set(rss);
    this.#heap.set(heapUsed);
    this.#updateDelay();
  }

  close(): void {
    this.#monitor?.disable();
    this.#monitor = null;
    this.#isClosed = true;
  }

  /** Started by the first scrape: without Prometheus the daemon must not wake up a hundred times a second. */
  #updateDelay(): void {
    const monitor = this.#monitor;
    for (const [quantile, percent] of Object.entries(QUANTILES)) {
      const ns = monitor && monitor.count > 0 ? monitor.percentile(percent) : 0;
      this.#delay.set({ quantile }, Math.max(0, ns / 1e6 - RESOLUTION_MS) / 1_000);
    }
    monitor?.reset();
    if (monitor || this.#isClosed) return;
    this.#monitor = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    this.#monitor.enable();
  }
}

/** A code as a label: `''` for none, `other` for a code that is not in our list. */
export function codeLabel(code: string | null): string {
  if (code === null) return '';
  return Object.hasOwn(ERRORS, code) ? code : 'other';
}
