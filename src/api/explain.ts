import { Draft } from '../../orchestrator/draft.js';
import { RULES } from '../../orchestrator/eligibility.js';
import { chooseProbe, permitOf } from '../../orchestrator/holds.js';
import { reconcile } from '../../orchestrator/reconcile.js';
import { isDue, isWanted, readyList, startable } from '../../orchestrator/select.js';
import { SlotCounter } from '../../orchestrator/slots.js';
import { type StartBlocker, startBlocker } from '../../orchestrator/start-blocker.js';
import { isAsking, runOf, type State } from '../../orchestrator/state.js';
import { type Claim, HOLD_SOURCES, type HoldSource, type Parked, type Waiting } from '../domain/claim.js';
import type { Instant } from '../domain/clock.js';
import type { Issue } from '../domain/issue.js';
import { cancelled } from '../domain/outcome.js';
import { shellWord } from '../domain/shell-word.js';
import { isoTime } from '../text/format-time.js';
import type { RuleView } from './schemas.js';
import { advice, askedOf, holdSentence, SENTENCES } from './why-idle.js';

/**
 * Every rule that can keep an issue from running, with what a person can do about those that do. An issue that is not running is
 * started with the next reading of it if and only if none fails; one that runs, goes on. It asks the very functions that the core asks.
 */
export function explainRules(state: State, now: Instant, issue: Issue, claim: Claim | null): RuleView[] {
  const seen = claim && afterLook(state, claim, now);
  const own = [...issueRules(state, issue, claim), ...claimRules(claim, seen, now)];
  // What keeps others from being started does not end what runs.
  const isRunning = claim?.status.kind === 'running';
  return [...own, ...startRules(state, now, issue, { isRunning, passesOwn: own.every(({ pass }) => pass) })];
}

/** Asked once, before the first run of a claim; the others are asked again before each run. */
const ONLY_AT_FIRST: readonly string[] = ['complete', 'blockers_at_rest', 'budget_left'];

/** Whether it is claimed is told by the rules about its claim. */
function issueRules(state: State, issue: Issue, claim: Claim | null): RuleView[] {
  return RULES.filter(({ name }) => name !== 'not_claimed').map((rule) => {
    const asked = askedOf(rule.name, issue, state);
    if (rule.passes(asked, state) || (claim !== null && ONLY_AT_FIRST.includes(rule.name))) return passed(rule.name);
    return failed(rule.name, rule.why(asked, state), rule.action(asked, state));
  });
}

/** What becomes of a claim that is due when its issue is read again and found as it is; of any other claim, nothing. */
function afterLook(state: State, claim: Claim, now: Instant): Claim {
  if (!isDue(claim, now)) return claim;
  const draft = new Draft(state);
  reconcile(draft, claim.issue.id, claim.issue, draft.nextSeq(), now);
  return draft.claim(claim.issue.id) ?? claim;
}

function claimRules(claim: Claim | null, seen: Claim | null, now: Instant): RuleView[] {
  return [stopping(claim), asking(claim), parking(claim, seen), processes(claim), waiting(seen, now)];
}

function stopping(claim: Claim | null): RuleView {
  const reason = claim?.status.kind === 'running' ? (claim.live.run?.stop ?? null) : null;
  if (reason === null) return passed('not_being_stopped');
  const action =
    claim?.status.kind === 'running' && claim.status.run.wish === 'retry'
      ? 'wait: it starts again as soon as the run has ended'
      : 'wait until its processes are gone';
  return failed('not_being_stopped', `its run is being ended: ${cancelled(reason).error.message}`, action);
}

function asking(claim: Claim | null): RuleView {
  if (claim === null || !isAsking(claim)) return passed('no_open_question');
  return failed('no_open_question', 'its agent waits for an answer', command('answer', claim.issue));
}

function parking(claim: Claim | null, seen: Claim | null): RuleView {
  if (claim?.status.kind !== 'parked' && seen?.status.kind === 'parked')
    return failed('not_parked', `it will be parked: ${seen.status.message}`, WAYS_OUT[seen.status.reason](seen.issue));
  if (claim?.status.kind !== 'parked') return passed('not_parked');
  const { reason, message } = claim.status;
  return failed('not_parked', `parked as ${reason}: ${message}`, wayOut(claim.issue, claim.status));
}

/** A question that came with it is worth more than a new beginning. */
function wayOut(issue: Issue, { reason, question }: Parked): string {
  const other = WAYS_OUT[reason](issue);
  if (question === null) return other;
  return reason === 'input_required' ? command('answer', issue) : `${command('answer', issue)}, or ${other}`;
}

const retry = (issue: Issue) => command('retry', issue);

const WAYS_OUT: { readonly [reason in Parked['reason']]: (issue: Issue) => string } = {
  too_many_failures: (issue) => `see why with ${command('logs', issue)}, then ${retry(issue)}, or change the issue`,
  no_progress: (issue) => `${retry(issue)}, or change the issue`,
  budget: (issue) => `raise agent.max_tokens_per_issue, or ${retry(issue)}, which grants it a new budget`,
  input_required: (issue) => `write the answer into the issue, or ${retry(issue)}`,
  stopped_by_operator: retry,
  unkillable: (issue) => `once its processes are gone, ${retry(issue)}`,
  configuration: (issue) => `fix WORKFLOW.md, or ${retry(issue)}`,
};

function processes(claim: Claim | null): RuleView {
  if (claim?.status.kind !== 'parked' || claim.status.run === null) return passed('processes_gone');
  const why = `processes of run ${claim.status.run.number} outlive SIGKILL, and keep its slot`;
  return failed('processes_gone', why, 'look for a hung disk or device; when they are gone, the slot is free');
}

function waiting(seen: Claim | null, now: Instant): RuleView {
  if (seen?.status.kind !== 'waiting' || isDue(seen, now)) return passed('due');
  const until = isoTime(seen.status.dueAtMs);
  const action = `wait until ${until}, or ${command('retry', seen.issue)} starts it now`;
  return failed('due', `its next run is due at ${until}${because(seen.status, seen)}`, action);
}

function because({ error, reason }: Waiting, { failures, idleRuns }: Claim): string {
  if (error !== null && error.code !== 'no_slot') return `, after ${count(failures)}: ${error.message}`;
  if (reason !== 'continuation') return ` (${reason})`;
  return idleRuns === 0
    ? ': it is looked at again after a run that ended well'
    : `: ${idleRuns === 1 ? 'its last run' : `its last ${idleRuns} runs`} left the issue as it was`;
}

function count(failures: number): string {
  return failures === 1 ? 'a failure' : `${failures} failures in a row`;
}

/** As a person types it. */
function command(name: 'answer' | 'retry' | 'logs', { identifier }: Issue): string {
  return `\`baton ${name} ${shellWord(identifier)}\``;
}

interface OwnStanding {
  /** It has its slot: nothing of this keeps it. */
  readonly isRunning: boolean;
  /** Nothing about the issue itself keeps it. */
  readonly passesOwn: boolean;
}

/** What can keep any issue from being started: the daemon, the tracker, holds, slots. */
function startRules(state: State, now: Instant, issue: Issue, own: OwnStanding): RuleView[] {
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

function passed(rule: string): RuleView {
  return { rule, pass: true, why: null, action: null };
}

/** `why` and `action`: sentences without their beginning and their full stop. */
function failed(rule: string, why: string, action: string): RuleView {
  return { rule, pass: false, why, action };
}
