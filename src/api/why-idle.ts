import { failedRules } from '../../orchestrator/eligibility.js';
import { chooseProbe, isProbeRunning, mainHold, permitOf } from '../../orchestrator/holds.js';
import { type Ready, readyList, startable } from '../../orchestrator/select.js';
import { SlotCounter } from '../../orchestrator/slots.js';
import { type StartBlocker, startBlocker } from '../../orchestrator/start-blocker.js';
import { isAsking, type State } from '../../orchestrator/state.js';
import { type Claim, HOLD_SOURCES, type Hold, type HoldSource, type Parked } from '../domain/claim.js';
import type { Instant } from '../domain/clock.js';
import type { FailedRule, IdleReason } from '../domain/reasons.js';
import { isoTime } from '../text/format-time.js';

/** An issue that is ready to start, and why it has not started. */
export interface InLine {
  readonly ready: Ready;
  /** `null`: it is being read and stored, and then starts. */
  readonly why: FailedRule | null;
}

/** All issues that are ready, in the order of their starts. Calls the functions with which the core fills slots. */
export function lineUp(state: State, now: Instant): InLine[] {
  const obstacle = obstacleToAll(state, now);
  const list = readyList(state, now);
  if (obstacle !== null) return list.map((ready) => ({ ready, why: obstacle }));
  if (permitOf(state, now) === 'one_probe') {
    const probe = chooseProbe(startable(state, now), state)[0]?.issue;
    const behind = behindProbe(state, probe?.identifier ?? null);
    return list.map((ready) => ({ ready, why: ready.issue.id === probe?.id ? null : behind }));
  }
  const slots = new SlotCounter(state);
  const isFull: FailedRule = {
    rule: 'global_slot',
    params: { limit: state.config.agent.maxConcurrentAgents, has_free: !slots.full, taken_by: [] },
  };
  return list.map((ready) => {
    const issueState = ready.issue.state;
    if (slots.take(issueState)) return { ready, why: null };
    return { ready, why: slots.full ? isFull : { rule: 'state_slot', params: { state: issueState } } };
  });
}

/** Why no issue is started at the moment. */
export function obstacleToAll(state: State, now: Instant): FailedRule | null {
  const blocker = startBlocker(state, now);
  // A hold has more details about a tracker that rejects us than the failed poll.
  const isWeak = blocker === null || blocker === 'poll_failed' || blocker === 'not_polled_yet';
  const main = isWeak && permitOf(state, now) === 'none' ? mainHold(state) : null;
  if (main !== null) return failedHold(main.source, main.hold, now);
  return blocker === null ? null : failedBlocker(blocker, state);
}

export function failedHold(source: HoldSource, { code, message, untilMs }: Hold, now: Instant): FailedRule {
  const until = untilMs === null || untilMs <= now.wallMs ? null : isoTime(untilMs);
  return { rule: `no_hold_${source}`, params: { source, code, message, until } };
}

export function failedBlocker(blocker: StartBlocker, state: State): FailedRule {
  const { poll, pausedSinceMs } = state;
  const nextAt = isoTime(poll.nextAtMs);
  switch (blocker) {
    case 'shutting_down':
      return { rule: 'not_shutting_down', params: {} };
    case 'reopening':
      return { rule: 'not_reopening', params: { keys: state.reopenFor, runs: Object.keys(state.runs).length } };
    case 'paused':
      return { rule: 'not_paused', params: { since: isoTime(pausedSinceMs ?? 0) } };
    case 'rate_limited':
      return { rule: 'not_rate_limited', params: { until: isoTime(poll.rateLimit?.resetAtMs ?? 0) } };
    case 'poll_failed': {
      const { code = 'tracker_request', message = '' } = poll.failure ?? {};
      return { rule: 'tracker_readable', params: { code, message, next_at: nextAt } };
    }
    case 'not_polled_yet':
      return { rule: 'tracker_read', params: {} };
    case 'poll_too_old': {
      const params = { last_at: isoTime(poll.lastOkAtMs ?? 0), next_at: poll.inFlightSeq === null ? nextAt : null };
      return { rule: 'reading_fresh', params };
    }
  }
}

export function behindProbe({ holds }: State, first: string | null): FailedRule {
  const codes = HOLD_SOURCES.flatMap((source) => holds[source]?.code ?? []);
  return { rule: 'probe_turn', params: { codes, first } };
}

/** Why nothing happens; `null` while something does. `line`: from `lineUp`. */
export function whyIdle(state: State, now: Instant, line: readonly InLine[]): IdleReason | null {
  const claims = Object.values(state.claims);
  const running = claims.filter((claim) => claim.status.kind === 'running');
  if (running.some((claim) => !isAsking(claim))) return null;
  if (running.length > 0) {
    const identifiers = running.map(({ issue }) => issue.identifier);
    return { code: 'answer_needed', params: { identifiers } };
  }
  const obstacle = obstacleToAll(state, now);
  if (obstacle !== null) return { code: 'start_rule_failed', params: obstacle };
  if (line.some(({ why }) => why === null)) return null;
  const [first] = line;
  if (first?.why) {
    return { code: 'first_in_line_waits', params: { identifier: first.ready.issue.identifier, ...first.why } };
  }
  const params = {
    hold: mainHold(state)?.hold.code ?? null,
    retrying: firstRetrying(claims, now),
    parked: firstParked(claims),
    ineligible: firstIneligible(state),
    unreadable: firstUnreadable(state),
  };
  if (Object.values(params).some((part) => part !== null)) return { code: 'nothing_due', params };
  const { config, poll } = state;
  return {
    code: 'no_active_issues',
    params: { active_states: config.tracker.activeStates, next_poll_at: isoTime(poll.nextAtMs) },
  };
}

type NothingDue = Extract<IdleReason, { readonly code: 'nothing_due' }>['params'];

function firstRetrying(claims: readonly Claim[], now: Instant): NothingDue['retrying'] {
  const waiting = claims
    .flatMap(({ issue, status }) => (status.kind === 'waiting' ? [{ identifier: issue.identifier, ...status }] : []))
    .sort((a, b) => a.dueAtMs - b.dueAtMs);
  const [first] = waiting;
  if (!first) return null;
  const { identifier, dueAtMs, reason, error } = first;
  const dueAt = dueAtMs <= now.wallMs ? null : isoTime(dueAtMs);
  return { count: waiting.length, identifier, due_at: dueAt, reason, error: error?.message ?? null };
}

function firstParked(claims: readonly Claim[]): NothingDue['parked'] {
  const parked = claims.filter((claim): claim is Claim & { status: Parked } => claim.status.kind === 'parked');
  const [first] = parked;
  if (!first) return null;
  const { reason, message } = first.status;
  return { count: parked.length, identifier: first.issue.identifier, reason, message };
}

function firstIneligible(state: State): NothingDue['ineligible'] {
  const candidates = Object.values(state.candidates);
  const [first] = candidates;
  const [failed] = first ? failedRules(first, state) : [];
  return first && failed ? { count: candidates.length, identifier: first.identifier, failed } : null;
}

function firstUnreadable({ poll }: State): NothingDue['unreadable'] {
  const [first] = poll.problems;
  return first === undefined ? null : { count: poll.problems.length, first };
}

/** Why the daemon is not ready to work; `null` when it is. For `/readyz` and the service manager. */
export function whyNotReady(state: State): string | null {
  if (state.shutdown !== null) return 'The daemon is shutting down.';
  const hold = mainHold(state);
  if (hold !== null)
    return `On hold (${hold.hold.code}${isProbeRunning(state) ? ', a probe is running' : ''}): ${hold.hold.message}`;
  if (state.poll.lastOkAtMs !== null) return null;
  const { failure } = state.poll;
  return failure
    ? `The tracker cannot be read (${failure.code}): ${failure.message}`
    : 'The tracker has not been read yet.';
}
