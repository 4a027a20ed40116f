import { mainHold } from '../../orchestrator/holds.js';
import { tokensOn } from '../../orchestrator/ledger.js';
import { slotUse } from '../../orchestrator/slots.js';
import { isAsking, type State } from '../../orchestrator/state.js';
import { HOLD_SOURCES, type Hold, type HoldSource } from '../domain/claim.js';
import type { Instant } from '../domain/clock.js';
import { ERRORS } from '../domain/error-table.js';
import type { Json } from '../domain/json.js';
import { isoTime } from '../text/iso-time.js';
import { askingEntry, doneEntry, type LastSeen, parkedEntry, retryingEntry, runningEntry } from '../status/issue-entries.js';
import type { DoneView, HoldView, IneligibleView, ReadyView } from '../status/shapes/entry-shapes.js';
import type { StateView } from './schemas.js';
import { failedRules, type InLine, lineUp } from './start-order.js';
import { type Totals, totalsView } from './totals.js';
import { whyIdle } from './why-idle.js';
import type { WorkflowFacts } from '../status/workflow-facts.js';

/** What the state of the core does not know: everything about the daemon around it, and what its runs were last seen doing. */
export interface Surroundings {
  readonly daemon: {
    readonly version: string;
    readonly pid: number;
    readonly startedAtMs: number;
    readonly stateDir: string;
  };
  readonly workflow: WorkflowFacts;
  readonly totals: Totals;
  readonly rateLimits: Json;
  seen(runId: string): LastSeen | null;
}

/** The answer to `GET /api/v1/state`: everything that the daemon knows and a person may ask, at one moment. Pure. */
export function snapshotOf(state: State, now: Instant, around: Surroundings): StateView {
  const claims = Object.values(state.claims);
  const running = claims.flatMap((claim) =>
    claim.status.kind === 'running'
      ? [runningEntry(claim, claim.status.run, state, around.seen(claim.status.run.runId))]
      : [],
  );
  const asking = claims.flatMap((claim) =>
    claim.status.kind === 'running' && claim.live.run && isAsking(claim)
      ? [askingEntry(claim, claim.status.run, claim.live.run)]
      : [],
  );
  const retrying = claims
    .flatMap((claim) => (claim.status.kind === 'waiting' ? [{ claim, status: claim.status }] : []))
    .sort((a, b) => a.status.dueAtMs - b.status.dueAtMs)
    .map(({ claim, status }) => retryingEntry(claim, status, now));
  const parked = claims.flatMap((claim) => (claim.status.kind === 'parked' ? [parkedEntry(claim, claim.status)] : []));
  const line = lineUp(state, now);
  const ineligible = ineligibleEntries(state, line);
  const done = doneEntries(state, now);
  return {
    generated_at: isoTime(now.wallMs),
    daemon: daemonEntry(around.daemon),
    counts: {
      running: running.length,
      asking: asking.length,
      retrying: retrying.length,
      parked: parked.length,
      ready: line.length,
      ineligible: ineligible.length,
      done: done.length,
    },
    slots: { taken: slotUse(state).total, limit: state.config.agent.maxConcurrentAgents },
    why_idle: whyIdle(state, now, line),
    running,
    asking,
    retrying,
    parked,
    ready: line.map(readyEntry),
    ineligible,
    done,
    hold: holdEntry(mainHold(state)),
    holds: HOLD_SOURCES.flatMap((source) => {
      const hold = state.holds[source];
      return hold ? (holdEntry({ source, hold }) ?? []) : [];
    }),
    paused: state.pausedSinceMs === null ? null : { since: isoTime(state.pausedSinceMs) },
    shutting_down: state.shutdown !== null,
    tokens_today: {
      spent: tokensOn(state.ledger, now.day),
      limit: state.config.agent.maxTokensPerDay,
    },
    codex_totals: totalsView(around.totals, state, now),
    rate_limits: around.rateLimits as StateView['rate_limits'],
    poll: pollEntry(state),
    workflow: workflowEntry(state, around.workflow),
  };
}

function daemonEntry({ version, pid, startedAtMs, stateDir }: Surroundings['daemon']): StateView['daemon'] {
  return { version, pid, started_at: isoTime(startedAtMs), state_dir: stateDir };
}

/** `why: null`: it is about to start. A retry that is due stands here and under `retrying`. */
function readyEntry({ ready, why }: InLine): ReadyView {
  const { id, identifier, url, title, state, priority, created_at } = ready.issue;
  // Written out: there may be a thousand of these four times a second, and a spread is many times as slow.
  return {
    issue_id: id,
    issue_identifier: identifier,
    issue_url: url,
    title,
    state,
    priority,
    created_at,
    retry: ready.claim !== null,
    why,
  };
}

/** Who is a candidate and not in line. */
function ineligibleEntries(state: State, line: readonly InLine[]): IneligibleView[] {
  const inLine = new Set(line.map(({ ready }) => ready.issue.id));
  return Object.values(state.candidates)
    .filter((issue) => !inLine.has(issue.id))
    .map((issue) => ({
      issue_id: issue.id,
      issue_identifier: issue.identifier,
      issue_url: issue.url,
      title: issue.title,
      state: issue.state,
      reasons: failedRules(issue, state).map(({ rule, why }) => ({ rule, why })),
    }));
}

const DAY_MS = 86_400_000;

/** Since the beginning of yesterday; one that is active again is not done. An issue stands there once, as it left last. */
function doneEntries({ finished, claims, candidates }: State, now: Instant): DoneView[] {
  const newest = new Map(finished.map((done) => [done.issueId, done]));
  return [...newest.values()]
    .filter(({ atMs }) => atMs >= now.dayEndsAtMs - 2 * DAY_MS)
    .filter(({ issueId }) => !Object.hasOwn(claims, issueId) && !Object.hasOwn(candidates, issueId))
    .sort((a, b) => b.atMs - a.atMs)
    .map(doneEntry);
}

function holdEntry(main: { readonly source: HoldSource; readonly hold: Hold } | null): HoldView | null {
  if (main === null) return null;
  const { source, hold } = main;
  return {
    source,
    code: hold.code,
    message: hold.message,
    action: ERRORS[hold.code].action,
    since: isoTime(hold.sinceMs),
    until: hold.untilMs === null ? null : isoTime(hold.untilMs),
    tries: hold.tries,
  };
}

function pollEntry({ poll }: State): StateView['poll'] {
  const { failure, lastOkAtMs, rateLimit } = poll;
  return {
    /** The last good one. */
    last: lastOkAtMs === null ? null : isoTime(lastOkAtMs),
    next: isoTime(poll.nextAtMs),
    in_flight: poll.inFlightSeq !== null,
    health: failure ? 'failed' : lastOkAtMs === null ? 'never' : 'ok',
    error: failure?.message ?? null,
    error_code: failure?.code ?? null,
    failing_since: failure ? isoTime(failure.sinceMs) : null,
    problems: [...poll.problems],
    slowed_to_ms: poll.slowMs,
    rate_limit: rateLimit ? { remaining: rateLimit.remaining, reset_at: isoTime(rateLimit.resetAtMs) } : null,
  };
}

function workflowEntry(state: State, facts: WorkflowFacts): StateView['workflow'] {
  const { path, loadedAtMs, error, restartRequired, backend, steps } = facts;
  return {
    path,
    hash: state.workflowHash,
    loaded_at: isoTime(loadedAtMs),
    error: error && { code: error.code, message: error.message },
    restart_required: [...restartRequired],
    backend: { value: backend.value, source: backend.source },
    steps,
  };
}
