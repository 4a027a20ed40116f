import type { Instant } from '../src/domain/clock.js';
import type { Observation, OrchestratorEvent, ReadResult } from '../src/domain/events.js';
import { type Issue, standingOf } from '../src/domain/issue.js';
import type { RateLimit } from '../src/domain/ports.js';
import { Draft } from './draft.js';
import { holdFor, liftHold } from './holds.js';
import { applyRateLimit, cadenceMs, combineLimits, isUsedUp } from './poll.js';
import { reconcile } from './reconcile.js';
import { removeWorkspace } from './run-end.js';
import { hasSamePlace, lineUp } from './select.js';
import type { State } from './state.js';

/** Issues that were just read. They may start without another read. */
export interface FreshIssues {
  readonly seq: number;
  readonly ids: ReadonlySet<string>;
  /** Every candidate was just read. */
  readonly allCandidates: boolean;
}

export const NOTHING_FRESH: FreshIssues = { seq: 0, ids: new Set(), allCandidates: false };

type Failure = Extract<ReadResult, { ok: false }>;
type Answered = Extract<ReadResult, { ok: true }>;

/** Applies the answer to a poll: reconciles the issues it asked about, takes the candidates, updates the poll health. */
export function applyObservation(draft: Draft, observation: Observation, now: Instant): FreshIssues {
  const { seq, refresh, candidates } = observation;
  if (seq !== draft.state.poll.inFlightSeq) return NOTHING_FRESH;
  checkDisk(draft, observation.freeDiskMb, now);
  if (refresh.ok) applyRefresh(draft, observation.asked, refresh, seq, now);
  if (candidates.ok) {
    takeCandidates(draft, candidates.issues, seq);
    logProblems(draft, candidates.problems ?? []);
  }

  const failure = worstFailure([refresh, candidates]);
  const rateLimit = combineLimits(limitOf(candidates), limitOf(refresh));
  settlePoll(draft, failure, rateLimit, seq, now);
  const isOutdated = seq <= draft.state.poll.trustSeq;
  if (failure !== null || !refresh.ok || !candidates.ok || isOutdated) return NOTHING_FRESH;
  return { seq, ids: new Set(refresh.issues.map(({ id }) => id)), allCandidates: true };
}

/** Applies the answer to the batched read before a start. */
export function applyRead(
  draft: Draft,
  event: Extract<OrchestratorEvent, { type: 'issues_read' }>,
  now: Instant,
): FreshIssues {
  if (event.seq !== draft.state.read?.seq) return NOTHING_FRESH;
  draft.set({ read: null });
  const { result, seq, asked } = event;
  if (!result.ok) {
    noteFailure(draft, result, now);
    return NOTHING_FRESH;
  }
  const found = byId(result.issues);
  for (const id of asked) {
    if (result.unknown.includes(id)) postpone(draft, id, now);
    else if (draft.claim(id)) reconcile(draft, id, found.get(id) ?? null, seq, now);
    else if (seq > draft.state.candidatesSeq) updateCandidate(draft, id, found.get(id) ?? null, seq);
    else found.delete(id);
  }
  return seq <= draft.state.poll.trustSeq ? NOTHING_FRESH : { seq, ids: new Set(found.keys()), allCandidates: false };
}

function applyRefresh(draft: Draft, asked: readonly string[], refresh: Answered, seq: number, now: Instant): void {
  const found = byId(refresh.issues);
  for (const id of asked) {
    // Unknown is not gone: the file may be half-written, or a page failed.
    if (refresh.unknown.includes(id)) continue;
    const issue = found.get(id) ?? null;
    removeLeftover(draft, id, issue, seq);
    reconcile(draft, id, issue, seq, now);
  }
}

/** Removes a leftover workspace whose issue is in a terminal state. */
function removeLeftover(draft: Draft, id: string, issue: Issue | null, seq: number): void {
  // A newer read has already answered for this issue.
  const isOld = (draft.state.released[id] ?? 0) >= seq;
  if (!(id in draft.state.leftovers) || isOld) return;
  draft.drop('leftovers', id);
  if (draft.claim(id)) return;
  const isTerminal = issue && standingOf(issue, draft.state.config.tracker) === 'terminal';
  if (issue && isTerminal) removeWorkspace(draft, issue);
}

/** Shared, because a poll checks thousands of ids against it. */
const EMPTY = {};

function takeCandidates(draft: Draft, issues: readonly Issue[], seq: number): void {
  const { released, candidates: before } = draft.state;
  const candidates: Record<string, Issue> = {};
  let isNew = false;
  for (const issue of issues) {
    // Ids such as `constructor` collide with inherited properties.
    if (issue.id in EMPTY) draft.note('warn', 'issue ignored: its id cannot be used', { fields: { id: issue.id } });
    else if (!draft.claim(issue.id) && (released[issue.id] ?? 0) < seq) {
      candidates[issue.id] = issue;
      isNew ||= before[issue.id] !== issue;
    }
  }
  const stillOld = Object.fromEntries(Object.entries(released).filter(([, until]) => until >= seq));
  draft.set({ candidatesSeq: seq });
  draft.replace('candidates', candidates);
  if (isNew) lineUp(draft);
  draft.replace('released', stillOld);
}

/** Logs each problem once while it lasts. */
function logProblems(draft: Draft, problems: readonly string[]): void {
  const { poll } = draft.state;
  for (const detail of problems) {
    if (!poll.problems.includes(detail)) draft.note('warn', 'tracker has something unreadable', { fields: { detail } });
  }
  draft.set({ poll: { ...poll, problems } });
}

/** Replaces a candidate. Answers to polls ordered earlier are outdated for it. */
function updateCandidate(draft: Draft, id: string, issue: Issue | null, seq: number): void {
  const before = draft.state.candidates[id];
  if (issue === null) draft.drop('candidates', id);
  else draft.put('candidates', id, issue);
  if (issue !== null && !(before && hasSamePlace(before, issue, draft.state))) lineUp(draft);
  draft.put('released', id, seq);
}

/** The tracker cannot answer for this issue now. Wait for the next poll; an immediate read would loop. */
function postpone(draft: Draft, id: string, now: Instant): void {
  const claim = draft.claim(id);
  if (claim?.status.kind === 'waiting') {
    draft.putClaim({
      ...claim,
      status: { ...claim.status, dueAtMs: now.wallMs + draft.state.config.polling.intervalMs },
    });
  } else {
    draft.drop('candidates', id);
  }
}

function settlePoll(
  draft: Draft,
  failure: Failure | null,
  reported: RateLimit | null,
  seq: number,
  now: Instant,
): void {
  if (failure !== null) noteFailure(draft, failure, now);
  const { poll, config } = draft.state;
  // A run was rejected after this poll was ordered; that answer is newer.
  const isOld = poll.limitSeq >= seq && isUsedUp(poll.rateLimit, now);
  const limit = failure === null && !isOld ? reported : poll.rateLimit;
  const next = { ...poll, inFlightSeq: null, again: null, rateLimit: limit };
  const paceMs = cadenceMs(config.polling.intervalMs, limit, now);
  const isLow = paceMs > config.polling.intervalMs;
  const isRequested = !isUsedUp(limit, now) && (poll.again === 'person' || (poll.again === 'tracker' && !isLow));
  const nextAtMs = isRequested ? now.wallMs : now.wallMs + paceMs;
  if (failure === null) {
    const slowMs = isLow ? paceMs : null;
    draft.set({ poll: { ...next, nextAtMs, slowMs, lastOkAtMs: now.wallMs, failure: null } });
    logPace(draft, poll.slowMs, limit, now);
    if (poll.failure) draft.note('info', 'tracker can be read again');
    liftTrackerHold(draft);
  } else {
    draft.set({ poll: { ...next, nextAtMs } });
  }
}

/** The tracker accepts the token again. Issues that it rejected during a run have a problem of their own. */
function liftTrackerHold(draft: Draft): void {
  if (!draft.state.holds.tracker) return;
  for (const claim of Object.values(draft.state.claims)) {
    const { status } = claim;
    const isRefused = status.kind === 'waiting' && status.error?.code === 'tracker_auth';
    // A run that had not begun holds the daemon itself, see run-failed.ts.
    if (isRefused && claim.live.isRefusedInRun) draft.putClaim({ ...claim, failedAsProbe: true });
  }
  liftHold(draft, 'tracker', 'the tracker answers again');
}

function logPace(draft: Draft, before: number | null, limit: RateLimit | null, now: Instant): void {
  const { slowMs } = draft.state.poll;
  if (before !== null && slowMs === null) draft.note('info', 'polling at the usual pace again');
  if (before !== null || slowMs === null || limit === null) return;
  const resetsInS = Math.ceil((limit.resetAtMs - now.wallMs) / 1000);
  const fields = { every_s: Math.ceil(slowMs / 1000), remaining: limit.remaining, resets_in_s: resetsInS };
  draft.note('info', 'polling more slowly, the quota of the tracker runs low', { fields });
}

/** The failure to report: one with a reset time first, then a rejected token. Other failures may pass. */
function worstFailure(results: readonly ReadResult[]): Failure | null {
  const failures = results.flatMap((result) => (result.ok ? [] : [result]));
  const weight = ({ code, resetAtMs }: Failure) => resetAtMs ?? (code === 'tracker_auth' ? 1 : 0);
  return failures.reduce<Failure | null>((worst, one) => (worst && weight(worst) >= weight(one) ? worst : one), null);
}

function noteFailure(draft: Draft, failure: Failure, now: Instant): void {
  const { code, message, resetAtMs } = failure;
  if (resetAtMs !== undefined) applyRateLimit(draft, resetAtMs, now);
  const { poll } = draft.state;
  const isNews = poll.failure?.code !== code;
  const sinceMs = poll.failure?.sinceMs ?? now.wallMs;
  draft.set({ poll: { ...poll, failure: { code, message, sinceMs } } });
  if (isNews) draft.note('warn', 'tracker cannot be read', { fields: { code, detail: message } });
  if (code === 'tracker_auth') holdFor(draft, { code, message, retryable: false }, now, null);
}

function checkDisk(draft: Draft, freeMb: number | null, now: Instant): void {
  if (freeMb === null) return;
  const { minFreeMb } = draft.state.config.workspace;
  if (freeMb >= minFreeMb) return liftHold(draft, 'disk', 'there is space again');
  const message = `${Math.floor(freeMb)} MB free for workspaces, workspace.min_free_mb is ${minFreeMb}`;
  holdFor(draft, { code: 'low_disk', message, retryable: false }, now, null);
}

function limitOf(result: ReadResult): RateLimit | null {
  return result.ok ? (result.rateLimit ?? null) : null;
}

function byId(issues: readonly Issue[]): Map<string, Issue> {
  return new Map(issues.map((issue) => [issue.id, issue]));
}

/** The state after a poll and before any start, for a dry run. */
export function afterObservation(state: State, observation: Observation, now: Instant): State {
  const draft = new Draft({ ...state, poll: { ...state.poll, inFlightSeq: observation.seq } });
  applyObservation(draft, observation, now);
  return draft.state;
}
