import { Gauge, type Registry } from 'prom-client';
import { tokensOn } from '../../orchestrator/ledger.js';
import { readyList } from '../../orchestrator/select.js';
import { slotUse } from '../../orchestrator/slots.js';
import { isAsking, type State } from '../../orchestrator/state.js';
import { HOLD_SOURCES, PARK_REASONS, type ParkReason } from '../domain/claim.js';
import type { Instant } from '../domain/clock.js';
import { codeLabel } from './metric-labels.js';

const ISSUE_STATES = ['running', 'asking', 'retrying', 'parked', 'ready', 'ineligible'] as const;
type IssueState = (typeof ISSUE_STATES)[number];

/** How things stand, looked up in the state whenever somebody asks. */
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
    this.#issues = gauge('baton_issues', 'Issues that are known, each in one state.', ['state']);
    this.#parked = gauge('baton_issues_parked', 'Parked issues by why they are parked.', ['reason']);
    this.#slots = gauge('baton_slots_taken', 'Slots that a run takes.');
    this.#slotsLimit = gauge('baton_slots_limit', 'Slots that there are: agent.max_concurrent_agents.');
    this.#agents = gauge('baton_agents_alive', 'Runs with processes, hooks at work included.');
    this.#tokensToday = gauge('baton_tokens_today', 'Tokens that count against agent.max_tokens_per_day.');
    this.#tokensLimit = gauge('baton_tokens_today_limit', 'agent.max_tokens_per_day; absent when there is none.');
    this.#pollAge = gauge('baton_poll_age_seconds', 'Since the last good reading of the tracker, or since the start.');
    this.#hold = gauge('baton_hold', 'Is 1 while nothing new is started for that reason.', ['source', 'code']);
    this.#paused = gauge('baton_paused', 'Is 1 while a person has paused the daemon.');
    this.#startedAtMs = startedAtMs;
    gauge('baton_build_info', 'Is always 1.', ['version', 'node']).set({ version, node: process.versions.node }, 1);
  }

  tell(state: State, now: Instant): void {
    const { config, poll } = state;
    this.#tellIssues(state, now);
    this.#tellHolds(state);
    this.#slots.set(slotUse(state).total);
    this.#slotsLimit.set(config.agent.maxConcurrentAgents);
    this.#agents.set(Object.values(state.claims).filter(({ live }) => live.run?.stage === 'started').length);
    this.#tokensToday.set(tokensOn(state.ledger, now.day));
    if (config.agent.maxTokensPerDay === null) this.#tokensLimit.remove();
    else this.#tokensLimit.set(config.agent.maxTokensPerDay);
    // One that never succeeds must grow old too, or nobody is ever told.
    this.#pollAge.set(Math.max(0, now.wallMs - (poll.lastOkAtMs ?? this.#startedAtMs)) / 1_000);
    this.#paused.set(state.pausedSinceMs === null ? 0 : 1);
  }

  /** Unlike the lists of the API, each issue stands in one place: sums over series are then numbers of issues. */
  #tellIssues(state: State, now: Instant): void {
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
  #tellHolds({ holds }: State): void {
    this.#hold.reset();
    for (const source of HOLD_SOURCES) {
      const hold = holds[source];
      this.#hold.set({ source, code: codeLabel(hold?.code ?? null) }, hold ? 1 : 0);
    }
  }
}
