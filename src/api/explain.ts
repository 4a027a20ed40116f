import { Draft } from '../../orchestrator/draft.js';
import { failedRule, RULES } from '../../orchestrator/eligibility.js';
import { chooseProbe, permitOf } from '../../orchestrator/holds.js';
import { reconcile } from '../../orchestrator/reconcile.js';
import { isDue, isWanted, readyList, startable } from '../../orchestrator/select.js';
import { SlotCounter } from '../../orchestrator/slots.js';
import { type StartBlocker, startBlocker } from '../../orchestrator/start-blocker.js';
import { isAsking, runOf, type State } from '../../orchestrator/state.js';
import { type Claim, HOLD_SOURCES, type HoldSource } from '../domain/claim.js';
import type { Instant } from '../domain/clock.js';
import type { Issue } from '../domain/issue.js';
import type { FailedRule, RuleCode } from '../domain/reasons.js';
import { isoTime } from '../text/format-time.js';
import { ruleAction, ruleWhy } from '../text/rules.js';
import type { RuleView } from './schemas.js';
import { behindProbe, failedBlocker, failedHold } from './why-idle.js';

/**
 * Every rule that can keep an issue from running, with what a person can do about those that fail. An issue without a run is started
 * after the next reading if and only if no rule fails. All rules are judged by the functions of the core.
 */
export function explainRules(state: State, now: Instant, issue: Issue, claim: Claim | null): RuleView[] {
  const next = claim && afterNextReading(state, claim, now);
  const own = [...issueRules(state, issue, claim), ...claimRules(claim, next, now)];
  const isRunning = claim?.status.kind === 'running';
  const start = startRules(state, now, issue);
  // A running issue has its slot. An issue that is about to start names the last read only when nothing else blocks it.
  const isStarting = !isRunning && state.read !== null && [...own, ...start].every(({ failed }) => failed === null);
  const read: Checked = { rule: 'read_answered', failed: isStarting ? { rule: 'read_answered', params: {} } : null };
  return [...own, ...[...start, read].map((one) => (isRunning ? { ...one, failed: null } : one))].map(ruleView);
}

interface Checked {
  readonly rule: RuleCode;
  readonly failed: FailedRule | null;
}

function ruleView({ rule, failed }: Checked): RuleView {
  if (failed === null) return { rule, pass: true, why: null, action: null, params: {} };
  return { rule, pass: false, why: ruleWhy(failed), action: ruleAction(failed), params: failed.params };
}

/** These are checked only before the first run of a claim. */
const ONLY_AT_FIRST: readonly RuleCode[] = ['complete', 'blockers_at_rest', 'budget_left'];

/** Without `not_claimed`: the rules about the claim say more. */
function issueRules(state: State, issue: Issue, claim: Claim | null): Checked[] {
  return RULES.filter(({ name }) => name !== 'not_claimed').map(({ name }) => {
    const isSkipped = claim !== null && ONLY_AT_FIRST.includes(name);
    return { rule: name, failed: isSkipped ? null : failedRule(name, issue, state) };
  });
}

/** A claim that is due becomes this when its issue is read again and found unchanged. */
function afterNextReading(state: State, claim: Claim, now: Instant): Claim {
  if (!isDue(claim, now)) return claim;
  const draft = new Draft(state);
  reconcile(draft, claim.issue.id, claim.issue, draft.nextSeq(), now);
  return draft.claim(claim.issue.id) ?? claim;
}

function claimRules(claim: Claim | null, next: Claim | null, now: Instant): Checked[] {
  return [
    { rule: 'not_being_stopped', failed: stopping(claim) },
    { rule: 'no_open_question', failed: asking(claim) },
    { rule: 'not_parked', failed: parking(claim, next) },
    { rule: 'processes_gone', failed: unkillable(claim) },
    { rule: 'due', failed: waiting(next, now) },
  ];
}

function stopping(claim: Claim | null): FailedRule | null {
  if (claim?.status.kind !== 'running') return null;
  const stop = claim.live.run?.stop ?? null;
  const isRetryPending = claim.status.run.requestedAfterExit === 'retry';
  return stop && { rule: 'not_being_stopped', params: { stop, is_retry_pending: isRetryPending } };
}

function asking(claim: Claim | null): FailedRule | null {
  if (claim === null || !isAsking(claim)) return null;
  return { rule: 'no_open_question', params: { identifier: claim.issue.identifier } };
}

function parking(claim: Claim | null, next: Claim | null): FailedRule | null {
  if (next?.status.kind !== 'parked') return null;
  const { reason, message, question } = next.status;
  const isParked = claim?.status.kind === 'parked';
  return {
    rule: 'not_parked',
    params: {
      identifier: next.issue.identifier,
      reason,
      message,
      has_question: isParked && question !== null,
      is_parked: isParked,
    },
  };
}

function unkillable(claim: Claim | null): FailedRule | null {
  if (claim?.status.kind !== 'parked' || claim.status.run === null) return null;
  return { rule: 'processes_gone', params: { run_number: claim.status.run.number } };
}

function waiting(next: Claim | null, now: Instant): FailedRule | null {
  if (next?.status.kind !== 'waiting' || isDue(next, now)) return null;
  const { dueAtMs, reason, error } = next.status;
  return {
    rule: 'due',
    params: {
      identifier: next.issue.identifier,
      due_at: isoTime(dueAtMs),
      reason,
      error: error === null || error.code === 'no_slot' ? null : error.message,
      failures: next.failures,
      runs_without_progress: next.idleRuns,
    },
  };
}

/** What can keep any issue from being started: the daemon, the tracker, holds, slots. */
function startRules(state: State, now: Instant, issue: Issue): Checked[] {
  return [
    ...blockerRules(state, now),
    ...HOLD_SOURCES.map((source) => ({ rule: `no_hold_${source}` as const, failed: holding(state, now, source) })),
    { rule: 'probe_turn', failed: probeTurn(state, now, issue) },
    { rule: 'wanted', failed: unwanted(state, issue) },
    ...slotRules(state, now, issue),
  ];
}

interface BlockerRule {
  readonly rule: RuleCode;
  /** The state without this blocker, so that the next one shows too. */
  without(state: State, now: Instant): State;
}

const BLOCKERS: { readonly [blocker in StartBlocker]: BlockerRule } = {
  shutting_down: { rule: 'not_shutting_down', without: (state) => ({ ...state, shutdown: null }) },
  reopening: { rule: 'not_reopening', without: (state) => ({ ...state, reopenFor: [] }) },
  paused: { rule: 'not_paused', without: (state) => ({ ...state, pausedSinceMs: null }) },
  rate_limited: {
    rule: 'not_rate_limited',
    without: (state) => ({ ...state, poll: { ...state.poll, rateLimit: null } }),
  },
  poll_failed: { rule: 'tracker_readable', without: (state) => ({ ...state, poll: { ...state.poll, failure: null } }) },
  not_polled_yet: { rule: 'tracker_read', without: withFreshPoll },
  poll_too_old: { rule: 'reading_fresh', without: withFreshPoll },
};

function withFreshPoll(state: State, now: Instant): State {
  return { ...state, poll: { ...state.poll, lastOkAtMs: now.wallMs } };
}

function blockerRules(state: State, now: Instant): Checked[] {
  const found = new Set<StartBlocker>();
  let rest = state;
  for (let next = startBlocker(rest, now); next !== null && !found.has(next); next = startBlocker(rest, now)) {
    found.add(next);
    rest = BLOCKERS[next].without(rest, now);
  }
  return (Object.keys(BLOCKERS) as StartBlocker[]).map((blocker) => ({
    rule: BLOCKERS[blocker].rule,
    failed: found.has(blocker) ? failedBlocker(blocker, state) : null,
  }));
}

/** A hold that may be probed passes: which issue is tried first is another rule. */
function holding(state: State, now: Instant, source: HoldSource): FailedRule | null {
  const hold = state.holds[source];
  const isKept = hold && permitOf({ ...state, claims: {}, holds: { [source]: hold } }, now) === 'none';
  return isKept ? failedHold(source, hold, now) : null;
}

function probeTurn(state: State, now: Instant, issue: Issue): FailedRule | null {
  if (permitOf({ ...state, claims: {} }, now) !== 'one_probe') return null;
  const [first] = chooseProbe(startable(state, now), state);
  const running = Object.values(state.claims).find(({ status }) => status.kind === 'running' && status.run.probe);
  const probe = (running ?? first)?.issue;
  return probe === undefined || probe.id === issue.id ? null : behindProbe(state, probe.identifier);
}

function unwanted(state: State, issue: Issue): FailedRule | null {
  if (state.once === null || isWanted(state, issue.id)) return null;
  return { rule: 'wanted', params: { only: state.once.only } };
}

/** Issues that are before it in line take their slots first. */
function slotRules(state: State, now: Instant, issue: Issue): Checked[] {
  const limit = state.config.agent.maxConcurrentAgents;
  const slots = new SlotCounter(state);
  const hasFree = !slots.full;
  const line = readyList(state, now).map((ready) => ready.issue);
  const index = line.findIndex(({ id }) => id === issue.id);
  if (permitOf(state, now) === 'all') for (const before of line.slice(0, Math.max(0, index))) slots.take(before.state);
  const unlimited = {
    ...state,
    config: { ...state.config, agent: { ...state.config.agent, maxConcurrentAgents: Infinity } },
  };
  const hasStateRoom = (slots.full ? new SlotCounter(unlimited) : slots).hasRoomFor(issue.state);
  const takenBy = hasFree ? [] : slotHolders(state);
  return [
    {
      rule: 'global_slot',
      failed: slots.full ? { rule: 'global_slot', params: { limit, has_free: hasFree, taken_by: takenBy } } : null,
    },
    { rule: 'state_slot', failed: hasStateRoom ? null : { rule: 'state_slot', params: { state: issue.state } } },
  ];
}

function slotHolders({ claims }: State): string[] {
  return Object.values(claims).flatMap((claim) => (runOf(claim) === null ? [] : [claim.issue.identifier]));
}
