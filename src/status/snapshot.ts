import { mainHold } from '../../orchestrator/holds.js';
import { tokensOn } from '../../orchestrator/ledger.js';
import { slotUse } from '../../orchestrator/slots.js';
import { isAsking, type State } from '../../orchestrator/state.js';
import { HOLD_SOURCES, type Hold, type HoldSource } from '../domain/claim.js';
import type { Instant } from '../domain/clock.js';
import { ERRORS } from '../domain/error-table.js';
import type { JsonObject } from '../domain/json.js';
import { isoTime } from './iso-time.js';
import { askingEntry, issueFields, parkedEntry, retryingEntry, runningEntry } from './issue-entries.js';
import { failedRules, type InLine, lineUp } from './start-order.js';
import { whyIdle } from './why-idle.js';
import type { WorkflowFacts } from './workflow-facts.js';

/** The answer to `GET /api/v1/state`: everything that the daemon knows and a person may ask, at one moment. Pure. */
export function snapshotOf(state: State, now: Instant, workflow: WorkflowFacts): JsonObject {
  const claims = Object.values(state.claims);
  const running = claims.flatMap((claim) =>
    claim.status.kind === 'running' ? [runningEntry(claim, claim.status.run, state, now)] : [],
  );
  const asking = claims.flatMap((claim) =>
    claim.status.kind === 'running' && claim.live.run && isAsking(claim)
      ? [askingEntry(claim, claim.status.run, claim.live.run, now)]
      : [],
  );
  const retrying = claims
    .flatMap((claim) => (claim.status.kind === 'waiting' ? [{ claim, status: claim.status }] : []))
    .sort((a, b) => a.status.dueAtMs - b.status.dueAtMs)
    .map(({ claim, status }) => retryingEntry(claim, status, now));
  const parked = claims.flatMap((claim) => (claim.status.kind === 'parked' ? [parkedEntry(claim, claim.status)] : []));
  const line = lineUp(state, now);
  const ineligible = ineligibleEntries(state, line);
  return {
    generated_at: isoTime(now.wallMs),
    counts: {
      running: running.length,
      asking: asking.length,
      retrying: retrying.length,
      parked: parked.length,
      ready: line.length,
      ineligible: ineligible.length,
    },
    slots: { taken: slotUse(state).total, limit: state.config.agent.maxConcurrentAgents },
    why_idle: whyIdle(state, now, line),
    running,
    asking,
    retrying,
    parked,
    ready: line.map(readyEntry),
    ineligible,
    hold: holdEntry(mainHold(state)),
    holds: HOLD_SOURCES.flatMap((source) => {
      const hold = state.holds[source];
      return hold ? [holdEntry({ source, hold })] : [];
    }),
    paused: state.pausedSinceMs === null ? null : { since: isoTime(state.pausedSinceMs) },
    shutting_down: state.shutdown !== null,
    tokens_today: {
      spent: tokensOn(state.ledger, now.day),
      limit: state.config.agent.maxTokensPerDay,
    },
    poll: pollEntry(state),
    workflow: {
      path: workflow.path,
      hash: state.workflowHash,
      backend: { value: workflow.backend.value, source: workflow.backend.source },
      steps: workflow.steps,
    },
  };
}

/** `why: null`: it is about to start. A retry that is due stands here and under `retrying`. */
function readyEntry({ ready, why }: InLine): JsonObject {
  const { issue, claim } = ready;
  return {
    ...issueFields(issue),
    priority: issue.priority,
    created_at: issue.created_at,
    retry: claim !== null,
    why,
  };
}

/** Who is a candidate and not in line. */
function ineligibleEntries(state: State, line: readonly InLine[]): JsonObject[] {
  const inLine = new Set(line.map(({ ready }) => ready.issue.id));
  return Object.values(state.candidates)
    .filter((issue) => !inLine.has(issue.id))
    .map((issue) => ({ ...issueFields(issue), reasons: failedRules(issue, state).map((failed) => ({ ...failed })) }));
}

function holdEntry(main: { readonly source: HoldSource; readonly hold: Hold } | null): JsonObject | null {
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

function pollEntry({ poll }: State): JsonObject {
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
    problems: poll.problems,
    rate_limit: rateLimit ? { remaining: rateLimit.remaining, reset_at: isoTime(rateLimit.resetAtMs) } : null,
  };
}
