import { chooseProbe, permitOf } from '../../orchestrator/holds.js';
import { isWanted, readyList, startable } from '../../orchestrator/select.js';
import { SlotCounter } from '../../orchestrator/slots.js';
import { type StartBlocker, startBlocker } from '../../orchestrator/start-blocker.js';
import { runOf, type State } from '../../orchestrator/state.js';
import { HOLD_SOURCES, type HoldSource } from '../domain/claim.js';
import type { Instant } from '../domain/clock.js';
import type { Issue } from '../domain/issue.js';
import { isoTime } from '../text/iso-time.js';
import { failed, passed } from './rule-view.js';
import type { RuleView } from './shapes/issue-shape.js';
import { advice, holdSentence, SENTENCES } from '../api/start-order.js';

export interface OwnStanding {
  /** It has its slot: nothing of this keeps it. */
  readonly isRunning: boolean;
  /** Nothing about the issue itself keeps it. */
  readonly passesOwn: boolean;
}

/** What can keep any issue from being started: the daemon, the tracker, holds, slots. */
export function startRules(state: State, now: Instant, issue: Issue, own: OwnStanding): RuleView[] {
  const rules = [
    ...blockerRules(state, now),
    ...HOLD_SOURCES.map((source) => holdRule(state, now, source)),
    probeRule(state, now, issue),
    wantedRule(state, issue),
    ...slotRules(state, now, issue),
  ];
  if (own.isRunning) return [...rules, BEING_READ].map(({ rule }) => passed(rule));
  // Of one that cannot start anyway it need not be said.
  const isAboutToStart = own.passesOwn && rules.every(({ pass }) => pass);
  return [...rules, isAboutToStart && state.read !== null ? BEING_READ : passed(BEING_READ.rule)];
}

const BEING_READ = failed('read_answered', 'it is being read once more before it starts', 'wait: it takes a moment');

const BLOCKERS: { readonly [blocker in StartBlocker]: BlockerRule } = {
  shutting_down: {
    rule: 'not_shutting_down',
    action: () => 'wait until it has ended, then start it again',
    without: (state) => ({ ...state, shutdown: null }),
  },
  paused: {
    rule: 'not_paused',
    why: ({ pausedSinceMs }) => `paused since ${isoTime(pausedSinceMs ?? 0)}`,
    action: () => '`baton resume`',
    without: (state) => ({ ...state, pausedSinceMs: null }),
  },
  rate_limited: {
    rule: 'not_rate_limited',
    action: ({ poll }) => `wait until ${isoTime(poll.rateLimit?.resetAtMs ?? 0)}`,
    without: (state) => ({ ...state, poll: { ...state.poll, rateLimit: null } }),
  },
  poll_failed: {
    rule: 'tracker_readable',
    action: ({ poll }) => (poll.failure ? advice(poll.failure.code) : 'wait'),
    without: (state) => ({ ...state, poll: { ...state.poll, failure: null } }),
  },
  not_polled_yet: {
    rule: 'tracker_read',
    action: () => 'wait: it takes a moment',
    without: seenJustNow,
  },
  poll_too_old: {
    rule: 'reading_fresh',
    action: ({ poll }) =>
      `wait: ${poll.inFlightSeq === null ? `it is read at ${isoTime(poll.nextAtMs)}` : 'it is being read'}`,
    without: seenJustNow,
  },
};

interface BlockerRule {
  readonly rule: string;
  /** Default: the sentence that is said elsewhere too. */
  why?(state: State): string;
  action(state: State): string;
  /** The state as it would be if this did not keep anything from starting: so every further blocker shows too. */
  without(state: State, now: Instant): State;
}

function seenJustNow(state: State, now: Instant): State {
  return { ...state, poll: { ...state.poll, lastOkAtMs: now.wallMs } };
}

function blockerRules(state: State, now: Instant): RuleView[] {
  const found = new Set<StartBlocker>();
  let rest = state;
  for (let next = startBlocker(rest, now); next !== null && !found.has(next); next = startBlocker(rest, now)) {
    found.add(next);
    rest = BLOCKERS[next].without(rest, now);
  }
  return (Object.keys(BLOCKERS) as StartBlocker[]).map((blocker) => {
    const { rule, why = SENTENCES[blocker], action } = BLOCKERS[blocker];
    return found.has(blocker) ? failed(rule, why(state), action(state)) : passed(rule);
  });
}

/** A hold that may be probed keeps nobody by itself: who is tried first is another rule. */
function holdRule(state: State, now: Instant, source: HoldSource): RuleView {
  const rule = `no_hold_${source}`;
  const hold = state.holds[source];
  const nobodyTries = { ...state, claims: {} };
  if (!hold || permitOf({ ...nobodyTries, holds: { [source]: hold } }, now) !== 'none') return passed(rule);
  const action =
    source === 'budget'
      ? `raise agent.max_tokens_per_day, or wait until ${isoTime(hold.untilMs ?? 0)}`
      : advice(hold.code);
  return failed(rule, holdSentence(source, hold, now), action);
}

function probeRule(state: State, now: Instant, issue: Issue): RuleView {
  const rule = 'probe_turn';
  if (permitOf({ ...state, claims: {} }, now) !== 'one_probe') return passed(rule);
  const [first] = chooseProbe(startable(state, now), state);
  const running = Object.values(state.claims).find(({ status }) => status.kind === 'running' && status.run.probe);
  const name = (running ?? first)?.issue;
  if (name === undefined || name.id === issue.id) return passed(rule);
  const codes = HOLD_SOURCES.flatMap((source) => state.holds[source]?.code ?? []).join(', ');
  const why = `on hold (${codes}) until one run has shown that its reason is gone: ${name.identifier} is tried first`;
  return failed(rule, why, `wait for the run of ${name.identifier}`);
}

function wantedRule(state: State, issue: Issue): RuleView {
  const { once } = state;
  if (once === null || isWanted(state, issue.id)) return passed('wanted');
  const why =
    once.only === null
      ? 'this daemon gives each issue one run and leaves, and this one has had its run or came too late'
      : `this daemon works on ${once.only} alone and leaves`;
  return failed('wanted', why, 'start one that stays: `baton`');
}

/** Where everybody may start, those before it in line take their slots first. */
function slotRules(state: State, now: Instant, issue: Issue): RuleView[] {
  const { maxConcurrentAgents } = state.config.agent;
  const slots = new SlotCounter(state);
  const wasFull = slots.full;
  const line = readyList(state, now).map((ready) => ready.issue);
  const place = line.findIndex(({ id }) => id === issue.id);
  if (permitOf(state, now) === 'all') for (const { state: name } of line.slice(0, Math.max(0, place))) slots.take(name);
  const unlimited = {
    ...state,
    config: { ...state.config, agent: { ...state.config.agent, maxConcurrentAgents: Infinity } },
  };
  const hasStateRoom = slots.full ? new SlotCounter(unlimited).hasRoomFor(issue.state) : slots.hasRoomFor(issue.state);
  return [
    slots.full
      ? failed(
          'global_slot',
          `no free slot: agent.max_concurrent_agents is ${maxConcurrentAgents}, and ${wasFull ? `all are taken${holders(state)}` : 'others are before it in line'}`,
          wasFull ? 'wait, or raise agent.max_concurrent_agents' : 'wait, or raise its priority in the tracker',
        )
      : passed('global_slot'),
    hasStateRoom
      ? passed('state_slot')
      : failed(
          'state_slot',
          `no free slot for issues in "${issue.state}": agent.max_concurrent_agents_by_state`,
          `wait, or raise the limit of "${issue.state}" in agent.max_concurrent_agents_by_state`,
        ),
  ];
}

const NAMED = 5;

function holders({ claims }: State): string {
  const names = Object.values(claims).flatMap((claim) => (runOf(claim) === null ? [] : [claim.issue.identifier]));
  if (names.length === 0) return '';
  return ` (${names.slice(0, NAMED).join(', ')}${names.length > NAMED ? ', …' : ''})`;
}
