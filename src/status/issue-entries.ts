import { isAsking, recordOf, type State } from '../../orchestrator/state.js';
import type { Claim, LiveRun, Parked, RunFacts, Waiting } from '../domain/claim.js';
import type { Instant } from '../domain/clock.js';
import type { FinishedIssue } from '../domain/finished.js';
import type { Issue } from '../domain/issue.js';
import type { Question } from '../domain/question.js';
import type { TokenTotals } from '../domain/runtime-event.js';
import { isoTime } from '../text/iso-time.js';
import type {
  AskingView,
  BudgetView,
  DoneView,
  ParkedView,
  QuestionView,
  RetryingView,
  RunningView,
} from './shapes/entry-shapes.js';

/** What each entry of every list begins with. */
export type IssueFields = Pick<DoneView, 'issue_id' | 'issue_identifier' | 'issue_url' | 'title' | 'state'>;

/** What a run was last seen doing. */
export interface LastSeen {
  readonly lastEvent: string | null;
  readonly lastMessage: string | null;
}

export function issueFields({ id, identifier, url, title, state }: Issue): IssueFields {
  return { issue_id: id, issue_identifier: identifier, issue_url: url, title, state };
}

export function runningEntry(claim: Claim, run: RunFacts, state: State, seen: LastSeen | null): RunningView {
  const live = claim.live.run;
  const session = live?.session ?? null;
  const { issue } = claim;
  // Written out, as in snapshot.ts: it is made for every run at every look.
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
  };
}

/** What counts against `agent.max_tokens_per_issue`: input − cached + output, since a person last granted a new budget. */
export function budgetOf(state: State, issueId: string): BudgetView {
  const { tokens, budgetFrom } = recordOf(state, issueId);
  return { spent: tokens - budgetFrom, limit: state.config.agent.maxTokensPerIssue };
}

/** As the agent reports them for the thread of this run. */
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

function questionEntry({ id, kind, text, fields }: Question): QuestionView {
  return {
    ...{ id, kind, text },
    fields: fields.map((field) => ({ id: field.id, label: field.label, options: [...field.options] })),
  };
}
