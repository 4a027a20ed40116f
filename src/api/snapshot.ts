import { failedRules } from '../../orchestrator/eligibility.js';
import { mainHold } from '../../orchestrator/holds.js';
import { tokensOn } from '../../orchestrator/ledger.js';
import { slotUse } from '../../orchestrator/slots.js';
import { isAsking, recordOf, type State } from '../../orchestrator/state.js';
import {
  type Claim,
  HOLD_SOURCES,
  type Hold,
  type HoldSource,
  type LiveRun,
  type Parked,
  type RunFacts,
  type Waiting,
} from '../domain/claim.js';
import { DAY_MS, type Instant } from '../domain/clock.js';
import type { FinishedIssue } from '../domain/durable.js';
import { ERRORS } from '../domain/error-table.js';
import type { BatonError } from '../domain/errors.js';
import type { Issue } from '../domain/issue.js';
import type { Json } from '../domain/json.js';
import type { Question, TokenTotals } from '../domain/run-signal.js';
import { allSteps, type ResolvedBackend } from '../domain/steps/plan.js';
import { formatProblem, type HeldContent, problemsOf, type Workflow } from '../domain/workflow.js';
import { isoTime } from '../text/format-time.js';
import { idleText } from '../text/idle.js';
import { ruleWhy, startObstacle } from '../text/rules.js';
import { cutDiff } from '../text/unified-diff.js';
import type {
  AskingView,
  BudgetView,
  DoneView,
  HoldView,
  IneligibleView,
  ParkedView,
  QuestionView,
  ReadyView,
  RetryingView,
  RunningView,
  StateView,
} from './schemas.js';
import { type Totals, totalsView } from './totals.js';
import { type InLine, lineUp, whyIdle } from './why-idle.js';

/** Facts outside the state of the core: about the daemon, and the last events of its runs. */
export interface Surroundings {
  readonly daemon: {
    readonly version: string;
    readonly pid: number;
    readonly startedAtMs: number;
    readonly stateDir: string;
    readonly isolation: StateView['daemon']['isolation'];
  };
  readonly workflow: WorkflowFacts;
  readonly totals: Totals;
  readonly rateLimits: Json;
  seen(runId: string): LastSeen | null;
}

/** The answer to `GET /api/v1/state`. Pure. */
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
  const idle = whyIdle(state, now, line);
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
    why_idle: idle && idleText(idle),
    why_idle_reason: idle && { code: idle.code, params: idle.params },
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

function daemonEntry(daemon: Surroundings['daemon']): StateView['daemon'] {
  const { version, pid, startedAtMs, stateDir, isolation } = daemon;
  return { version, pid, started_at: isoTime(startedAtMs), state_dir: stateDir, isolation };
}

/** `why: null`: it is about to start. A retry that is due is listed here and under `retrying`. */
function readyEntry({ ready, why }: InLine): ReadyView {
  const { id, identifier, url, title, state, priority, created_at } = ready.issue;
  // Members are written out, because there may be a thousand entries several times a second, and a spread is much slower.
  return {
    issue_id: id,
    issue_identifier: identifier,
    issue_url: url,
    title,
    state,
    priority,
    created_at,
    retry: ready.claim !== null,
    why: why && startObstacle(why),
    why_reason: why && { code: why.rule, params: why.params },
  };
}

/** Candidates that are not in line. */
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
      reasons: failedRules(issue, state).map((failed) => ({
        rule: failed.rule,
        why: ruleWhy(failed),
        params: failed.params,
      })),
    }));
}

/** Issues that were finished since yesterday and are not active again, each once. */
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
  const { path, loadedAtMs, error, held, waitingKeys, waitingError, backend, steps } = facts;
  return {
    path,
    hash: state.workflowHash,
    loaded_at: isoTime(loadedAtMs),
    error: error && { code: error.code, message: error.message, problems: workflowProblems(error) },
    held: held && heldEntry(held),
    restart_required: [...waitingKeys],
    restart_error: waitingError && { code: waitingError.code, message: waitingError.message },
    backend: { value: backend.value, source: backend.source },
    steps,
  };
}

const MAX_HELD_CHANGES = 50;
const MAX_DIFF_CHARS = 20_000;

function heldEntry({ hash, sinceMs, changes, diff }: HeldContent): NonNullable<StateView['workflow']['held']> {
  const isCut = diff.length > MAX_DIFF_CHARS || changes.length > MAX_HELD_CHANGES;
  return {
    hash,
    since: isoTime(sinceMs),
    changes: changes.slice(0, MAX_HELD_CHANGES),
    diff: cutDiff(diff, MAX_DIFF_CHARS),
    is_cut: isCut,
  };
}

function workflowProblems(error: BatonError): NonNullable<StateView['workflow']['error']>['problems'] {
  return problemsOf(error).map((problem) => ({
    code: problem.code,
    params: { ...problem.params },
    text: formatProblem(problem),
  }));
}

/** The fields that all lists share. */
export type IssueFields = Pick<DoneView, 'issue_id' | 'issue_identifier' | 'issue_url' | 'title' | 'state'>;

/** The last event of a run. */
export interface LastSeen {
  readonly lastEvent: string | null;
  readonly lastMessage: string | null;
  readonly lastMessageEvent: string | null;
}

export function issueFields({ id, identifier, url, title, state }: Issue): IssueFields {
  return { issue_id: id, issue_identifier: identifier, issue_url: url, title, state };
}

export function runningEntry(claim: Claim, run: RunFacts, state: State, seen: LastSeen | null): RunningView {
  const live = claim.live.run;
  const session = live?.session ?? null;
  const { issue } = claim;
  return {
    issue_id: issue.id,
    issue_identifier: issue.identifier,
    issue_url: issue.url,
    title: issue.title,
    state: issue.state,
    run_id: run.runId,
    run_number: run.number,
    reason: run.reason,
    attempt: run.attempt,
    phase: live?.stage === 'claiming' ? 'claiming' : (live?.phase ?? null),
    step: live?.step ? { id: live.step.id, kind: live.step.kind } : null,
    asking: isAsking(claim),
    stopping: live?.stop ?? null,
    probe: run.probe,
    session_id: session === null ? null : `${session.threadId}-${session.turnId}`,
    turn_count: session?.turn ?? 0,
    last_event: seen?.lastEvent ?? null,
    last_message: seen?.lastMessage ?? null,
    last_message_event: seen?.lastMessageEvent ?? null,
    started_at: isoTime(run.startedAtMs),
    last_event_at: live ? isoTime(live.lastProgressAtMs) : null,
    tokens: threadTokens(state, claim.issue.id, run.threadId),
    budget: budgetOf(state, claim.issue.id),
  };
}

export function askingEntry(claim: Claim, run: RunFacts, live: LiveRun): AskingView {
  const { askedAtMs } = live;
  return {
    ...issueFields(claim.issue),
    run_id: run.runId,
    asked_at: askedAtMs === null ? null : isoTime(askedAtMs),
    answer_until: askedAtMs === null ? null : isoTime(askedAtMs + live.limits.inputTimeoutMs),
    on_timeout: live.limits.onInputTimeout,
    questions: run.questions.map(questionEntry),
  };
}

export function retryingEntry(claim: Claim, waiting: Waiting, now: Instant): RetryingView {
  return {
    ...issueFields(claim.issue),
    attempt: waiting.attempt,
    reason: waiting.reason,
    since: isoTime(waiting.sinceMs),
    due_at: isoTime(waiting.dueAtMs),
    due: waiting.dueAtMs <= now.wallMs,
    error: waiting.error?.message ?? null,
    error_code: waiting.error?.code ?? null,
    failures: claim.failures,
    runs_without_progress: claim.idleRuns,
  };
}

export function parkedEntry(claim: Claim, parked: Parked): ParkedView {
  return {
    ...issueFields(claim.issue),
    reason: parked.reason,
    since: isoTime(parked.sinceMs),
    message: parked.message,
    question: parked.question === null ? null : questionEntry(parked.question),
    keeps_slot: parked.run !== null,
    failures: claim.failures,
  };
}

export function doneEntry(done: FinishedIssue): DoneView {
  return {
    ...{ issue_id: done.issueId, issue_identifier: done.identifier, issue_url: done.url },
    ...{ title: done.title, state: done.state, finished_at: isoTime(done.atMs), terminal: done.isTerminal },
    ...{ runs: done.runs, tokens: done.tokens },
    ...(done.afterRunFailed ? { after_run_failed: true } : {}),
  };
}

/** Tokens against `agent.max_tokens_per_issue`: input − cached + output, since a person last granted a new budget. */
export function budgetOf(state: State, issueId: string): BudgetView {
  const { tokens, budgetFrom } = recordOf(state, issueId);
  return { spent: tokens - budgetFrom, limit: state.config.agent.maxTokensPerIssue };
}

/** As the agent reported them for the thread of this run. */
function threadTokens(state: State, issueId: string, threadId: string | null): RunningView['tokens'] {
  const totals = recordOf(state, issueId).threads.find(({ id }) => id === threadId)?.totals;
  return tokensView(totals ?? { input: 0, cached: 0, output: 0 });
}

export function tokensView({ input, cached, output }: TokenTotals): RunningView['tokens'] {
  return {
    input_tokens: input,
    cached_input_tokens: cached,
    output_tokens: output,
    total_tokens: input + output,
  };
}

export function questionEntry({ id, kind, text, fields, isCut }: Question): QuestionView {
  return {
    ...{ id, kind, text },
    fields: fields.map((field) => ({ id: field.id, label: field.label, options: [...field.options] })),
    ...(isCut ? { is_cut: true } : {}),
  };
}

/** The workflow in force, and the state of its file. */
export interface WorkflowFacts extends WorkflowFile {
  readonly path: string;
  /** The value of `backend: auto`, and where it was set. */
  readonly backend: Pick<ResolvedBackend, 'value' | 'source'>;
  /** Including steps inside other steps; 0 without `steps:`. */
  readonly steps: number;
}

/** The file compared with the settings in force. */
export interface WorkflowFile {
  readonly loadedAtMs: number;
  /** Why the current file is not in effect. */
  readonly error: BatonError | null;
  /** The current content, when it waits until a person allows it. */
  readonly held: HeldContent | null;
  /** Changed keys that keep their old values until no run is active. */
  readonly waitingKeys: readonly string[];
  /** Why they cannot take effect; null while they only wait for the end of the current runs. */
  readonly waitingError: BatonError | null;
}

export function workflowFacts({ path, plan }: Workflow, file: WorkflowFile): WorkflowFacts {
  const { value, source } = plan.backend;
  const steps = plan.isImplied ? 0 : [...allSteps(plan.steps)].length;
  return { ...file, path, backend: { value, source }, steps };
}
