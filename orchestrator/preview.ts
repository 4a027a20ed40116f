import type { Instant } from '../src/domain/clock.js';
import type { Observation } from '../src/domain/events.js';
import type { Issue } from '../src/domain/issue.js';
import { Draft } from './draft.js';
import { RULES } from './eligibility.js';
import { chooseProbe, mainHold, permitOf } from './holds.js';
import { observed } from './observe.js';
import { pick, type Ready, readyList, startable } from './select.js';
import { type StartBlocker, startBlocker } from './start-blocker.js';
import type { State } from './state.js';

/** What a poll would lead to, told instead of done. */
export interface Preview {
  /** In the order in which they would start. */
  readonly starts: readonly Issue[];
  /** Eligible, and each with the reason why not right away. */
  readonly later: readonly Refusal[];
  readonly refused: readonly Refusal[];
  /** Why nothing at all would start. */
  readonly blocker: string | null;
  readonly problems: readonly string[];
}

interface Refusal {
  readonly issue: Issue;
  readonly why: string;
}

export function preview(state: State, observation: Observation, now: Instant): Preview {
  const draft = new Draft({ ...state, poll: { ...state.poll, inFlightSeq: observation.seq } });
  observed(draft, observation, now);
  const after = draft.state;
  const blocker = whyNothing(after, now);
  const starts = blocker === null ? startsOf(after, now) : [];
  const starting = new Set(starts.map(({ issue }) => issue.id));
  return {
    starts: starts.map(({ issue }) => issue),
    later: [...queue(after, now, starting), ...claimed(after, now)],
    refused: refused(after),
    blocker,
    problems: after.poll.problems,
  };
}

function startsOf(state: State, now: Instant): Ready[] {
  if (permitOf(state, now) === 'one_probe') return chooseProbe(startable(state, now), state);
  return pick(state, now);
}

const SENTENCES: { readonly [blocker in StartBlocker]: string } = {
  shutting_down: 'the daemon is shutting down',
  paused: 'the daemon is paused',
  not_polled_yet: 'the tracker was not read yet',
  poll_failed: 'the tracker cannot be read',
  poll_too_old: 'the last look at the tracker is too old',
  rate_limited: 'the tracker limits our requests',
};

function whyNothing(state: State, now: Instant): string | null {
  const { failure } = state.poll;
  if (failure) return `${SENTENCES.poll_failed}: ${failure.message}`;
  const blocker = startBlocker(state, now);
  if (blocker !== null) return SENTENCES[blocker];
  const main = mainHold(state);
  return main && permitOf(state, now) === 'none' ? `on hold: ${main.hold.message}` : null;
}

function queue(state: State, now: Instant, starting: ReadonlySet<string>): Refusal[] {
  const isProbe = permitOf(state, now) === 'one_probe';
  const why = isProbe ? 'on hold: one issue is tried first' : 'it waits for a free slot';
  return readyList(state, now).flatMap(({ issue }) => (starting.has(issue.id) ? [] : [{ issue, why }]));
}

/** Issues that an earlier daemon left waiting or parked. */
function claimed(state: State, now: Instant): Refusal[] {
  return Object.values(state.claims).flatMap(({ issue, status }) => {
    if (status.kind === 'parked') return [{ issue, why: `parked as ${status.reason}: ${status.message}` }];
    if (status.kind !== 'waiting' || status.dueAtMs <= now.wallMs) return [];
    return [{ issue, why: `its next run is due in ${Math.ceil((status.dueAtMs - now.wallMs) / 1000)} s` }];
  });
}

function refused(state: State): Refusal[] {
  return Object.values(state.candidates).flatMap((issue) => {
    const reasons = RULES.flatMap((rule) => (rule.passes(issue, state) ? [] : [rule.why(issue, state)]));
    return reasons.length === 0 ? [] : [{ issue, why: reasons.join('; ') }];
  });
}
