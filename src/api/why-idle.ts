import { RULES } from '../../orchestrator/eligibility.js';
import { chooseProbe, isProbeRunning, mainHold, permitOf } from '../../orchestrator/holds.js';
import { type Ready, readyList, startable } from '../../orchestrator/select.js';
import { SlotCounter } from '../../orchestrator/slots.js';
import { type StartBlocker, startBlocker } from '../../orchestrator/start-blocker.js';
import { isAsking, type State } from '../../orchestrator/state.js';
import type { Claim, Hold, HoldSource, Parked, Waiting } from '../domain/claim.js';
import type { Instant } from '../domain/clock.js';
import { ERRORS } from '../domain/error-table.js';
import type { ErrorCode } from '../domain/errors.js';
import { type Issue, includesState, openBlockers } from '../domain/issue.js';
import { isoTime } from '../text/format-time.js';

/** One sentence that says why nothing happens; `null` while something does. `line`: who could start, by `lineUp`. */
export function whyIdle(state: State, now: Instant, line: readonly InLine[]): string | null {
  const claims = Object.values(state.claims);
  const running = claims.filter((claim) => claim.status.kind === 'running');
  if (running.some((claim) => !isAsking(claim))) return null;
  if (running.length > 0) return `${names(running)} cannot go on until a person answers.`;
  const obstacle = obstacleToAll(state, now);
  if (obstacle !== null) return sentence(obstacle);
  if (line.some(({ why }) => why === null)) return null;
  const [first] = line;
  if (first) return `${first.ready.issue.identifier} does not start: ${first.why}.`;
  const parts = [
    ...ripeHold(state),
    ...waiting(claims, now),
    ...parked(claims),
    ...ineligible(state),
    ...unreadable(state),
  ];
  return parts.length > 0 ? sentence(parts.join('; ')) : nothingThere(state);
}

/** Why the daemon is not ready to work; `null` when it is. Said by `/readyz`. */
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

/** It may be probed now, but nobody is there to be the probe. */
function ripeHold(state: State): string[] {
  const main = mainHold(state);
  return main === null ? [] : [`on hold (${main.hold.code}) until a run can be tried`];
}

function waiting(claims: readonly Claim[], now: Instant): string[] {
  const later = claims
    .flatMap((claim) => (claim.status.kind === 'waiting' ? [{ claim, status: claim.status }] : []))
    .sort((a, b) => a.status.dueAtMs - b.status.dueAtMs);
  const [next] = later;
  if (!next) return [];
  const until =
    next.status.dueAtMs <= now.wallMs ? 'until its workspace is removed' : `until ${isoTime(next.status.dueAtMs)}`;
  const who = `${next.claim.issue.identifier} waits ${until}${because(next.status)}`;
  return [later.length === 1 ? who : `${later.length} issues wait, ${who} as the first`];
}

function because({ reason, error }: Waiting): string {
  return error === null ? ` (${reason})` : ` (${reason} after: ${error.message})`;
}

function parked(claims: readonly Claim[]): string[] {
  const all = claims.filter((claim): claim is Claim & { status: Parked } => claim.status.kind === 'parked');
  const [first] = all;
  if (!first) return [];
  const why = `${first.issue.identifier}: ${first.status.reason}, ${first.status.message}`;
  return [
    all.length === 1
      ? `${first.issue.identifier} is parked (${first.status.reason}, ${first.status.message})`
      : `${all.length} issues are parked (${why}; …)`,
  ];
}

function ineligible(state: State): string[] {
  const all = Object.values(state.candidates);
  const [first] = all;
  if (!first) return [];
  const why = `${first.identifier}: ${failedRules(first, state)[0]?.why}`;
  return [
    all.length === 1 ? `one issue is not eligible (${why})` : `${all.length} issues are not eligible (${why}; …)`,
  ];
}

function unreadable({ poll }: State): string[] {
  const [first] = poll.problems;
  if (first === undefined) return [];
  return [
    poll.problems.length === 1
      ? `one thing in the tracker needs a look (${first})`
      : `${poll.problems.length} things in the tracker need a look (${first}; …)`,
  ];
}

function nothingThere({ config, poll }: State): string {
  const states = config.tracker.activeStates.map((name) => `"${name}"`).join(', ');
  return `No issue of the tracker is in an active state (${states}); it is read again at ${isoTime(poll.nextAtMs)}.`;
}

function names(claims: readonly Claim[]): string {
  return claims.map((claim) => claim.issue.identifier).join(', ');
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** One issue that could start as far as the issue itself goes, and why it has not yet. */
export interface InLine {
  readonly ready: Ready;
  /** `null`: it is being read and stored right now, and then starts. */
  readonly why: string | null;
}

/** Everyone who could start, in the order of the starts. Asks the same functions as the core does when it fills slots. */
export function lineUp(state: State, now: Instant): InLine[] {
  const obstacle = obstacleToAll(state, now);
  const list = readyList(state, now);
  if (obstacle !== null) return list.map((ready) => ({ ready, why: obstacle }));
  if (permitOf(state, now) === 'one_probe') {
    const probe = chooseProbe(startable(state, now), state)[0]?.issue.id;
    return list.map((ready) => ({ ready, why: ready.issue.id === probe ? null : BEHIND_PROBE }));
  }
  const slots = new SlotCounter(state);
  return list.map((ready) => ({
    ready,
    why: slots.take(ready.issue.state) ? null : noSlot(state, ready.issue, slots.full),
  }));
}

export interface FailedRule {
  readonly rule: string;
  readonly why: string;
}

/** The rules that keep an issue from starting, most basic first. What another one has said is not said again. */
export function failedRules(issue: Issue, state: State): FailedRule[] {
  const isTerminal = includesState(state.config.tracker.terminalStates, issue.state);
  const failed: FailedRule[] = [];
  for (const { name, passes, why } of RULES) {
    if (name === 'active_state' && isTerminal) continue;
    const asked = askedOf(name, issue, state);
    if (!passes(asked, state)) failed.push({ rule: name, why: why(asked, state) });
  }
  return failed;
}

/** A blocker that is open is told as such; that its run has to end goes without saying. */
export function askedOf(rule: string, issue: Issue, { config }: State): Issue {
  if (rule !== 'blockers_at_rest' || issue.blocked_by.length === 0) return issue;
  const open = openBlockers(issue, config.tracker);
  return { ...issue, blocked_by: issue.blocked_by.filter((blocker) => !open.includes(blocker)) };
}

/** Why nothing at all is started right now, whichever issue it is. A sentence without its full stop, or `null`. */
export function obstacleToAll(state: State, now: Instant): string | null {
  const blocker = startBlocker(state, now);
  // A hold says more about a tracker that refuses us than the failed poll does.
  const hold =
    blocker === null || blocker === 'poll_failed' || blocker === 'not_polled_yet' ? holdObstacle(state, now) : null;
  if (hold !== null) return hold;
  return blocker === null ? null : SENTENCES[blocker](state);
}

function holdObstacle(state: State, now: Instant): string | null {
  const main = mainHold(state);
  if (main === null || permitOf(state, now) !== 'none') return null;
  return `${holdSentence(main.source, main.hold, now)}; ${advice(main.hold.code)}`;
}

export function holdSentence(source: HoldSource, { code, message, untilMs }: Hold, now: Instant): string {
  const word = source === 'budget' ? 'until' : 'next try at';
  const until = untilMs === null || untilMs <= now.wallMs ? '' : `, ${word} ${isoTime(untilMs)}`;
  return `on hold (${code}${until}): ${bare(message)}`;
}

/** What to do about an error, as the rest of a sentence: without its capital and its full stop. */
export function advice(code: ErrorCode): string {
  return bare(ERRORS[code].action).replace(/^[A-Z](?=[a-z]+\s)/, (letter) => letter.toLowerCase());
}

/** Without the full stop, to go on after it. */
export function bare(text: string): string {
  return text.replace(/\.\s*$/, '');
}

export const SENTENCES: { readonly [blocker in StartBlocker]: (state: State) => string } = {
  shutting_down: () => 'the daemon is shutting down',
  paused: ({ pausedSinceMs }) => `paused since ${isoTime(pausedSinceMs ?? 0)}; resume to go on`,
  not_polled_yet: () => 'the tracker has not been read yet',
  poll_failed: ({ poll }) =>
    `the tracker cannot be read (${poll.failure?.code}): ${bare(poll.failure?.message ?? '')}; next try at ${isoTime(poll.nextAtMs)}`,
  poll_too_old: ({ poll }) =>
    `what is known of the tracker is from ${isoTime(poll.lastOkAtMs ?? 0)}, too old to start anything on`,
  rate_limited: ({ poll }) => `the tracker limits our requests until ${isoTime(poll.rateLimit?.resetAtMs ?? 0)}`,
};

const BEHIND_PROBE = 'on hold until one probe run has shown that its reason is gone';

function noSlot({ config }: State, issue: Issue, isFull: boolean): string {
  return isFull
    ? `no free slot: agent.max_concurrent_agents is ${config.agent.maxConcurrentAgents}`
    : `no free slot for issues in "${issue.state}": agent.max_concurrent_agents_by_state`;
}
