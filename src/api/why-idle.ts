import { isProbeRunning, mainHold } from '../../orchestrator/holds.js';
import { isAsking, type State } from '../../orchestrator/state.js';
import type { Claim, Parked, Waiting } from '../domain/claim.js';
import type { Instant } from '../domain/clock.js';
import { isoTime } from '../text/format-time.js';
import { failedRules, type InLine, obstacleToAll } from './start-order.js';

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
