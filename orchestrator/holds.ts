import { HOLD_SOURCES, type Hold, type HoldSource } from '../src/domain/claim.js';
import type { Instant } from '../src/domain/clock.js';
import { ERRORS } from '../src/domain/error-table.js';
import type { ErrorCode } from '../src/domain/errors.js';
import type { Issue } from '../src/domain/issue.js';
import type { OutcomeError } from '../src/domain/outcome.js';
import { backoffMs } from './backoff.js';
import type { Draft } from './draft.js';
import type { State } from './state.js';

/**
 * A hold stops new starts because of a problem that affects every issue. A successful probe (one run that may start) lifts the holds of
 * `agent` and `workflow`, a successful write lifts `store`, an observation lifts `tracker` and `disk`, and a new day lifts `budget`.
 */
const PROBED: readonly HoldSource[] = ['agent', 'workflow'];

const SOURCE_OF: { readonly [code in ErrorCode]?: HoldSource } = {
  tracker_auth: 'tracker',
  low_disk: 'disk',
  store_failed: 'store',
  missing_workflow_file: 'workflow',
  workflow_parse_error: 'workflow',
  workflow_front_matter_not_a_map: 'workflow',
  invalid_workflow_config: 'workflow',
  workflow_not_allowed: 'workflow',
  unsupported_tracker_kind: 'workflow',
  invalid_tracker_config: 'workflow',
  missing_tracker_secret: 'workflow',
  invalid_workspace_root: 'workflow',
  template_parse_error: 'workflow',
  isolation_unavailable: 'workflow',
  JobValidation: 'workflow',
  UnwiredHttpTransport: 'workflow',
  invalid_backend: 'workflow',
  EXECUTOR_NOT_FOUND: 'workflow',
  INVALID_ACTION_BLOCK: 'workflow',
  CAPABILITY_NOT_FOUND: 'workflow',
};

/** The hold to show first: the most fundamental one. */
export function mainHold(state: State): { source: HoldSource; hold: Hold } | null {
  for (const source of HOLD_SOURCES) {
    const hold = state.holds[source];
    if (hold) return { source, hold };
  }
  return null;
}

/** Starts or extends the hold for `error`. After a failed probe the next one waits longer, or until the reset time of the error. */
export function holdFor(
  draft: Draft,
  error: OutcomeError,
  now: Instant,
  probedIssueId: string | null,
  source: HoldSource = SOURCE_OF[error.code] ?? 'agent',
): void {
  const before = draft.state.holds[source];
  const tries = (before?.tries ?? 0) + (before && probedIssueId !== null ? 1 : 0);
  const backoff = backoffMs(tries + 1, draft.state.config.agent.maxRetryBackoffMs, `${source}:${tries}`);
  const resetAtMs = error.resetAtMs !== undefined && error.resetAtMs > now.wallMs ? error.resetAtMs : null;
  const probed = before?.probed ?? [];
  draft.putHold(source, {
    code: error.code,
    message: error.message,
    sinceMs: before?.sinceMs ?? now.wallMs,
    tries,
    untilMs: PROBED.includes(source) || source === 'store' ? (resetAtMs ?? now.wallMs + backoff) : null,
    probed: probedIssueId === null ? probed : [...probed.filter((id) => id !== probedIssueId), probedIssueId],
  });
  if (!before) {
    draft.note('error', 'holding: nothing new is started', {
      fields: { code: error.code, detail: error.message, action: ERRORS[error.code].action },
    });
  }
}

export function liftHold(draft: Draft, source: HoldSource, why: string): void {
  const hold = draft.state.holds[source];
  if (!hold) return;
  draft.dropHold(source);
  draft.note('info', 'hold lifted', { fields: { code: hold.code, why, source } });
}

/** A probe succeeded. Issues that failed as probes before have a problem of their own. */
export function probeSucceeded(draft: Draft, issueId: string): void {
  const probe = draft.claim(issueId);
  // The run is no probe any more and does not affect a later hold.
  if (probe?.status.kind === 'running') {
    draft.putClaim({ ...probe, status: { kind: 'running', run: { ...probe.status.run, probe: false } } });
  }
  for (const source of PROBED) {
    const hold = draft.state.holds[source];
    if (!hold) continue;
    for (const id of hold.probed) {
      const claim = draft.claim(id);
      if (claim && id !== issueId) draft.putClaim({ ...claim, failedAsProbe: true });
    }
    liftHold(draft, source, 'a probe run succeeded');
  }
}

/** A probe ended without showing whether the problem is gone. The next one follows after a backoff. */
export function probeInconclusive(draft: Draft, now: Instant): void {
  for (const source of PROBED) {
    const hold = draft.state.holds[source];
    if (!hold) continue;
    const backoff = backoffMs(hold.tries + 1, draft.state.config.agent.maxRetryBackoffMs, `${source}:${hold.tries}`);
    draft.putHold(source, { ...hold, untilMs: now.wallMs + backoff });
  }
}

/** A person requested a start, so the next probe need not wait. */
export function probeNow(draft: Draft, now: Instant): void {
  for (const source of PROBED) {
    const hold = draft.state.holds[source];
    if (hold) draft.putHold(source, { ...hold, untilMs: now.wallMs });
  }
}

export type StartPermit = 'all' | 'one_probe' | 'none';

/** What the current holds allow to start. */
export function permitOf(state: State, now: Instant): StartPermit {
  const sources = HOLD_SOURCES.filter((source) => state.holds[source]);
  if (sources.length === 0) return 'all';
  const isProbeDue = sources.every(
    (source) => PROBED.includes(source) && (state.holds[source]?.untilMs ?? 0) <= now.wallMs,
  );
  return isProbeDue && !isProbeRunning(state) ? 'one_probe' : 'none';
}

export function isProbeRunning(state: State): boolean {
  return Object.values(state.runs).some((issueId) => {
    const status = state.claims[issueId]?.status;
    return status?.kind === 'running' && status.run.probe;
  });
}

/** Chooses the next probe. Issues take turns, so one bad issue cannot keep the hold in place. */
export function chooseProbe<T extends { readonly issue: Issue }>(ready: readonly T[], state: State): T[] {
  const probed = PROBED.flatMap((source) => state.holds[source]?.probed ?? []);
  const turn = ({ issue }: T) => probed.lastIndexOf(issue.id);
  return [...ready].sort((a, b) => turn(a) - turn(b)).slice(0, 1);
}
