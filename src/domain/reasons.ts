import type { HoldSource, ParkReason } from './claim.js';
import type { ErrorCode } from './errors.js';
import type { RunReason, StopReason } from './run.js';

/**
 * Why something does not happen, for programs: a code, and the facts that a text about it needs. The core and the API decide with these;
 * `src/text` has the one text of each code. Times are UTC, ISO 8601; null when a time cannot be represented.
 */
type Coded<Params> = { readonly [Code in keyof Params]: { readonly code: Code; readonly params: Params[Code] } };

type Time = string | null;
type NoParams = Readonly<Record<never, never>>;
type Blockers = { readonly blockers: readonly { readonly name: string; readonly state: string | null }[] };

/** The rules about one issue, from the plainest reason to the most special. `RULES` of orchestrator/eligibility.ts decides them. */
export type EligibilityParams = {
  readonly complete: NoParams;
  readonly not_terminal: { readonly state: string; readonly open_states: readonly string[] };
  readonly active_state: {
    readonly state: string;
    readonly active_states: readonly string[];
    readonly open_states: readonly string[];
  };
  readonly dispatchable: { readonly held_back: string | null };
  readonly not_blocked: Blockers;
  readonly blockers_at_rest: Blockers;
  readonly trusted_author: { readonly author: string | null };
  readonly required_labels: { readonly missing: readonly string[] };
  readonly not_claimed: NoParams;
  readonly not_being_removed: NoParams;
  readonly budget_left: { readonly identifier: string; readonly spent: number; readonly limit: number | null };
};
export type EligibilityRule = keyof EligibilityParams;

/** The rules about the claim of an issue. */
export type ClaimRuleParams = {
  readonly not_being_stopped: { readonly stop: StopReason; readonly is_retry_pending: boolean };
  readonly no_open_question: { readonly identifier: string };
  readonly not_parked: {
    readonly identifier: string;
    readonly reason: ParkReason;
    readonly message: string;
    readonly has_question: boolean;
    /** False: the issue is parked at the next read if it has not changed. */
    readonly is_parked: boolean;
  };
  readonly processes_gone: { readonly run_number: number };
  readonly due: {
    readonly identifier: string;
    readonly due_at: Time;
    readonly reason: RunReason;
    readonly error: string | null;
    readonly failures: number;
    readonly runs_without_progress: number;
  };
};

type HoldParams = {
  readonly source: HoldSource;
  readonly code: ErrorCode;
  readonly message: string;
  readonly until: Time;
};
type HoldRuleParams = { readonly [Source in HoldSource as `no_hold_${Source}`]: HoldParams };

/** The rules that keep any issue from being started: the daemon, the tracker, holds, slots. */
export type StartRuleParams = HoldRuleParams & {
  readonly not_shutting_down: NoParams;
  /** `keys`: the changed settings; `runs`: how many runs they wait for. */
  readonly not_reopening: { readonly keys: readonly string[]; readonly runs: number };
  readonly not_paused: { readonly since: Time };
  readonly not_rate_limited: { readonly until: Time };
  readonly tracker_readable: { readonly code: ErrorCode; readonly message: string; readonly next_at: Time };
  readonly tracker_read: NoParams;
  /** `next_at: null`: the tracker is being read. */
  readonly reading_fresh: { readonly last_at: Time; readonly next_at: Time };
  /** `first: null`: the first issue is unknown. */
  readonly probe_turn: { readonly codes: readonly ErrorCode[]; readonly first: string | null };
  /** `only: null`: a daemon that gives each issue one run. */
  readonly wanted: { readonly only: string | null };
  /** `has_free: true`: issues before it in line take what is free. */
  readonly global_slot: { readonly limit: number; readonly has_free: boolean; readonly taken_by: readonly string[] };
  readonly state_slot: { readonly state: string };
  readonly read_answered: NoParams;
};

export type RuleParams = EligibilityParams & ClaimRuleParams & StartRuleParams;
export type RuleCode = keyof RuleParams;
/** A rule that an issue does not pass. */
export type FailedRule = { readonly [R in RuleCode]: { readonly rule: R; readonly params: RuleParams[R] } }[RuleCode];

/** Why the daemon does nothing at the moment. */
type IdleParams = {
  readonly answer_needed: { readonly identifiers: readonly string[] };
  /** No issue can start. */
  readonly start_rule_failed: FailedRule;
  /** The first issue in line cannot start. */
  readonly first_in_line_waits: FailedRule & { readonly identifier: string };
  readonly nothing_due: {
    /** The hold that waits for a run to probe it. */
    readonly hold: ErrorCode | null;
    readonly retrying: {
      readonly count: number;
      readonly identifier: string;
      /** `null`: it is due, and its workspace is being removed. */
      readonly due_at: Time;
      readonly reason: RunReason;
      readonly error: string | null;
    } | null;
    readonly parked: {
      readonly count: number;
      readonly identifier: string;
      readonly reason: ParkReason;
      readonly message: string;
    } | null;
    readonly ineligible: { readonly count: number; readonly identifier: string; readonly failed: FailedRule } | null;
    readonly unreadable: { readonly count: number; readonly first: string } | null;
  };
  readonly no_active_issues: { readonly active_states: readonly string[]; readonly next_poll_at: Time };
};
export type IdleReason = Coded<IdleParams>[keyof IdleParams];

/** Why a request of a person is refused. */
export type RefusalParams = {
  readonly issue_not_found: { readonly name: string; readonly nearest: string | null };
  readonly not_active: {
    readonly identifier: string;
    readonly state: string;
    readonly since: Time;
    readonly open_states: readonly string[];
  };
  /** `since_ms: null`: it is being stopped. */
  readonly already_stopped: { readonly identifier: string; readonly since_ms: number | null };
  readonly being_stopped: {
    readonly identifier: string;
    readonly request: 'stop' | 'retry' | 'answer' | 'message';
    readonly stop: StopReason;
    readonly is_retry_pending: boolean;
  };
  readonly processes_outlive_kill: { readonly identifier: string; readonly run_number: number };
  readonly already_running: { readonly identifier: string; readonly run_number: number; readonly is_asking: boolean };
  readonly not_startable: { readonly identifier: string; readonly failed: readonly FailedRule[] };
  readonly nothing_to_retry: { readonly identifier: string; readonly failed: readonly FailedRule[] };
  readonly no_run: { readonly identifier: string };
  readonly not_started_yet: { readonly identifier: string };
  readonly agent_finished: { readonly identifier: string };
  /** The issue has reached its end, and its push is held. */
  readonly retry_needs_answer: { readonly identifier: string };
  readonly nothing_to_answer: { readonly identifier: string };
  readonly question_ambiguous: { readonly identifier: string; readonly open: readonly string[] };
  readonly question_cut: { readonly identifier: string; readonly question_id: string };
  readonly question_unknown: {
    readonly identifier: string;
    readonly question_id: string;
    readonly open: readonly string[];
  };
};
export type Refusal = Coded<RefusalParams>[keyof RefusalParams];

/** Null when the question was not about a held push. */
type PushDecision = 'accepted' | 'declined' | null;

/** What comes of a request that is accepted. */
export type AcceptanceParams = {
  readonly run_stops: { readonly identifier: string };
  readonly stopped_waiting: { readonly identifier: string };
  readonly stopped_parked: { readonly identifier: string; readonly reason: ParkReason };
  readonly not_to_be_started: { readonly identifier: string };
  readonly retries_after_stop: { readonly identifier: string };
  readonly due_now: {
    readonly identifier: string;
    readonly was_parked: boolean;
    readonly drops_question: boolean;
  };
  readonly new_budget: { readonly identifier: string; readonly failed: readonly FailedRule[] };
  readonly probes_hold: { readonly identifier: string };
  readonly answered: { readonly identifier: string; readonly push: PushDecision; readonly open: number };
  readonly resumes: { readonly identifier: string; readonly push: PushDecision; readonly has_thread: boolean };
  readonly message_sent: { readonly identifier: string; readonly is_agent_running: boolean };
};
export type Acceptance = Coded<AcceptanceParams>[keyof AcceptanceParams];
