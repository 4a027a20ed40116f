import type { Claim, LiveRun } from '../src/domain/claim.js';
import type { Instant } from '../src/domain/clock.js';
import type { Draft } from './draft.js';
import { isAboutPush, openPush } from './held-push.js';
import { liftHold } from './holds.js';
import { NOT_ASKING, progressAt } from './live-run.js';
import { requestStop } from './run-end.js';
import { enforceDayBudget, isDayBudgetAvailable } from './usage.js';

/** Applies everything that is due by time alone. Calling it early or twice has no effect. */
export function applyDeadlines(draft: Draft, now: Instant): void {
  if (isDayBudgetAvailable(draft, now)) liftHold(draft, 'budget', 'a new day, or a higher cap');
  enforceDayBudget(draft, now);
  if (isStoreRetryDue(draft, now)) liftHold(draft, 'store', 'runs may try again');
  for (const issueId of Object.values(draft.state.runs)) {
    const claim = draft.claim(issueId);
    const run = claim?.live.run;
    if (claim?.status.kind !== 'running' || !run || run.stop !== null || run.stage !== 'started') continue;
    if (run.grace && run.grace.untilAwakeMs <= now.awakeMs && !isAboutPush(claim.status.run))
      requestStop(draft, issueId, run.grace.reason, now);
    else if (isAnswerOverdue(run, now)) expireQuestions(draft, claim, run, now);
    else if (isStalled(run, now)) requestStop(draft, issueId, 'stalled', now);
  }
}

/** A run failed to write while the core's own writes succeed. Only another run can show whether the problem is over. */
function isStoreRetryDue({ state }: Draft, now: Instant): boolean {
  const untilMs = state.holds.store?.untilMs ?? null;
  return untilMs !== null && untilMs <= now.wallMs && !state.persist.broken;
}

function isAnswerOverdue(run: LiveRun, now: Instant): boolean {
  return run.askedAtAwakeMs !== null && now.awakeMs - run.askedAtAwakeMs >= run.limits.inputTimeoutMs;
}

function expireQuestions(draft: Draft, claim: Claim, run: LiveRun, now: Instant): void {
  const isPush = claim.status.kind === 'running' && openPush(claim.status.run) !== null;
  if (run.limits.onInputTimeout === 'park' || isPush) return requestStop(draft, claim.issue.id, 'input_timeout', now);
  if (claim.status.kind !== 'running') return;
  const { runId, questions } = claim.status.run;
  for (const question of questions) {
    draft.order({
      type: 'answer_run',
      runId,
      questionId: question.id,
      answer: { kind: 'decline', isLate: true },
    });
  }
  draft.noteOn(claim, 'warn', 'no answer in time, declined', { questions: questions.length });
  const answered = { ...run, ...NOT_ASKING, ...progressAt(now) };
  const status = { kind: 'running', run: { ...claim.status.run, questions: [] } } as const;
  draft.putClaim({ ...claim, status, live: { ...claim.live, run: answered } });
}

/**
 * Silence is the awake time since the last progress. It counts only while the agent works: hooks have their own timeout, an open
 * command or tool call is bounded by its own end and the turn timeout, and a run that waits for a person cannot progress.
 */
function isStalled(run: LiveRun, now: Instant): boolean {
  const atMs = stallAtAwakeMs(run);
  return atMs !== null && now.awakeMs >= atMs;
}

export function stallAtAwakeMs(run: LiveRun): number | null {
  const { stallTimeoutMs } = run.limits;
  const isCounting = run.phase === 'agent' && run.openItems === 0 && run.askedAtAwakeMs === null && run.stop === null;
  return stallTimeoutMs > 0 && isCounting ? run.lastProgressAwakeMs + stallTimeoutMs : null;
}
