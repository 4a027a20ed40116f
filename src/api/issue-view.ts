import { isAsking, recordOf, type State } from '../../orchestrator/state.js';
import type { Claim } from '../domain/claim.js';
import type { Instant } from '../domain/clock.js';
import type { FinishedIssue, RunRecord } from '../domain/durable.js';
import { findIssue, type Issue } from '../domain/issue.js';
import { assertNever } from '../domain/json.js';
import { isoTime } from '../text/format-time.js';
import { startObstacle } from '../text/rules.js';
import { explainRules } from './explain.js';
import type { IssueView, RecentEvent, RunView } from './schemas.js';
import {
  askingEntry,
  budgetOf,
  doneEntry,
  issueFields,
  type LastSeen,
  parkedEntry,
  retryingEntry,
  runningEntry,
  tokensView,
} from './snapshot.js';
import { lineUp } from './why-idle.js';

/** Facts about an issue outside the state of the core. */
export interface IssuePast {
  /** Its runs, newest first. */
  readonly records: readonly RunRecord[];
  readonly seen: (runId: string) => LastSeen | null;
  /** The path of the transcript of a run; null when there is none. */
  readonly transcript: (runId: string) => string | null;
  /** The folder that the issue has, or would get; null: its identifier cannot name one. */
  readonly workspace: string | null;
  /** What happened last, the newest first. */
  readonly events: readonly RecentEvent[];
}

/** The answer to `GET /api/v1/<identifier>`; `null` when the issue is neither claimed, nor a candidate, nor has had a run. */
export function issueView(state: State, now: Instant, name: string, past: IssuePast): IssueView | null {
  const { issue = null, claim = null } = findKnownIssue(state, name) ?? {};
  const history = past.records.map((record) => runView(record, past.transcript(record.runId) !== null));
  const done = findFinishedIssue(state, name);
  if (!issue) return leftView(state, now, past, done, history);
  const entries = standing(state, now, issue, claim, past);
  return {
    ...issueFields(issue),
    generated_at: isoTime(now.wallMs),
    priority: issue.priority,
    labels: [...issue.labels],
    author: issue.author && { login: issue.author.login, trusted: issue.author.trusted },
    blocked_by: issue.blocked_by.map(({ id, identifier, state }) => ({ id, identifier, state })),
    created_at: issue.created_at,
    updated_at: issue.updated_at,
    runs: recordOf(state, issue.id).runs,
    budget: budgetOf(state, issue.id),
    ...NOT_LISTED,
    done: done && doneEntry(done),
    ...entries,
    rules: explainRules(state, now, issue, claim),
    history,
    retry: entries.retrying,
    ...symphonyFields(issue.identifier, claim, past),
  };
}

type Standing = Pick<
  IssueView,
  'status' | 'running' | 'asking' | 'retrying' | 'parked' | 'ready' | 'why_not_started' | 'why_not_started_reason'
>;

const NOT_LISTED = {
  ...{ running: null, asking: null, retrying: null, parked: null, ready: false },
  ...{ why_not_started: null, why_not_started_reason: null },
};

function standing(state: State, now: Instant, issue: Issue, claim: Claim | null, { seen }: IssuePast): Standing {
  const inLine = lineUp(state, now).find(({ ready }) => ready.issue.id === issue.id);
  const why = inLine?.why ?? null;
  const ready = {
    ready: inLine !== undefined,
    why_not_started: why && startObstacle(why),
    why_not_started_reason: why && { code: why.rule, params: why.params },
  };
  if (claim === null) return { ...NOT_LISTED, status: inLine ? 'ready' : 'ineligible', ...ready };
  const { status, live } = claim;
  switch (status.kind) {
    case 'running':
      return {
        ...NOT_LISTED,
        status: isAsking(claim) ? 'asking' : 'running',
        running: runningEntry(claim, status.run, state, seen(status.run.runId)),
        asking: live.run && isAsking(claim) ? askingEntry(claim, status.run, live.run) : null,
      };
    case 'waiting':
      return { ...NOT_LISTED, status: 'retrying', retrying: retryingEntry(claim, status, now), ...ready };
    case 'parked':
      return { ...NOT_LISTED, status: 'parked', parked: parkedEntry(claim, status) };
    default:
      return assertNever(status);
  }
}

/** An issue that is no longer in the state, from the records of its runs. */
function leftView(
  state: State,
  now: Instant,
  past: IssuePast,
  done: FinishedIssue | null,
  history: RunView[],
): IssueView | null {
  const [newest] = past.records;
  const known = done ?? newest;
  if (!known) return null;
  const { issueId, identifier, title } = known;
  return {
    ...{
      issue_id: issueId,
      issue_identifier: identifier,
      issue_url: done?.url ?? null,
      title,
      state: done?.state ?? '',
    },
    generated_at: isoTime(now.wallMs),
    status: done ? 'done' : 'past',
    ...{ priority: null, labels: [...(newest?.labels ?? [])], blocked_by: [], created_at: null, updated_at: null },
    author: newest?.author ? { login: newest.author, trusted: null } : null,
    runs: recordOf(state, issueId).runs,
    budget: budgetOf(state, issueId),
    ...NOT_LISTED,
    done: done && doneEntry(done),
    rules: [],
    history,
    retry: null,
    ...symphonyFields(identifier, null, past),
  };
}

const MAX_LOGS = 10;

/** The fields that the specification of OpenAI's Symphony suggests besides ours, for tools that are written for it. */
function symphonyFields(
  identifier: string,
  claim: Claim | null,
  { records, transcript, workspace, events }: IssuePast,
): Pick<IssueView, 'workspace' | 'attempts' | 'logs' | 'recent_events' | 'last_error' | 'tracked'> {
  const attempt = attemptOf(claim) ?? 0;
  const logs = records.flatMap(({ runId, number }) => {
    const path = transcript(runId);
    const url = `/api/v1/issues/${encodeURIComponent(identifier)}/transcript?run=${encodeURIComponent(runId)}`;
    return path === null ? [] : [{ label: `run ${number}`, path, url }];
  });
  return {
    workspace: workspace === null ? null : { path: workspace },
    attempts: { restart_count: Math.max(attempt - 1, 0), current_retry_attempt: attempt },
    logs: { codex_session_logs: logs.slice(0, MAX_LOGS) },
    recent_events: [...events],
    last_error: lastError(claim, records),
    tracked: {},
  };
}

/** The attempt that templates get. For a parked issue: its failures so far. */
function attemptOf(claim: Claim | null): number | null {
  if (claim === null) return null;
  const { status } = claim;
  if (status.kind === 'running') return status.run.attempt;
  return status.kind === 'waiting' ? status.attempt : claim.failures;
}

/** Why the issue waits or is parked, else the failure of its last run that ended. */
function lastError(claim: Claim | null, records: readonly RunRecord[]): string | null {
  if (claim?.status.kind === 'parked') return claim.status.message;
  if (claim?.status.kind === 'waiting' && claim.status.error) return claim.status.error.message;
  return records.find(({ end }) => end !== null)?.end?.message ?? null;
}

function runView(record: RunRecord, hasTranscript: boolean): RunView {
  const { runId, number, reason, cause, author, attempt, threadId, model, agentVersion, turns, end } = record;
  return {
    ...{ run_id: runId, run_number: number, reason, cause, author, attempt },
    ...{ thread_id: threadId, model, agent_version: agentVersion, turns },
    tokens: tokensView(record.tokens),
    started_at: isoTime(record.startedAtMs),
    ended_at: end && isoTime(end.atMs),
    outcome: end?.outcome ?? null,
    code: end?.code ?? null,
    message: end?.message ?? null,
    ...(end?.afterRunFailed ? { after_run_failed: true } : {}),
    has_transcript: hasTranscript,
  };
}

export interface KnownIssue {
  readonly issue: Issue;
  /** `null`: it is a candidate. */
  readonly claim: Claim | null;
}

/** A claimed issue or a candidate, under any of its names; see `findIssue`. */
export function findKnownIssue(state: State, name: string): KnownIssue | null {
  return findIssue(knownIssues(state), name, ({ issue }) => issue);
}

/** The last time that an issue left the hands of this daemon. */
export function findFinishedIssue({ finished }: State, name: string): FinishedIssue | null {
  return findIssue([...finished].reverse(), name, ({ issueId, identifier }) => ({ id: issueId, identifier }));
}

/** The identifier under which the runs of an issue are stored. */
export function identifierOf(state: State, name: string): string {
  return findKnownIssue(state, name)?.issue.identifier ?? findFinishedIssue(state, name)?.identifier ?? name;
}

/** Claims come first. */
export function knownIssues({ claims, candidates }: State): KnownIssue[] {
  return [
    ...Object.values(claims).map((claim) => ({ issue: claim.issue, claim })),
    ...Object.values(candidates).map((issue) => ({ issue, claim: null })),
  ];
}
