import type { Claim, LiveRun, RunFacts } from '../src/domain/claim.js';
import type { Instant } from '../src/domain/clock.js';
import { assertNever } from '../src/domain/json.js';
import type { RunSignal } from '../src/domain/run-signal.js';
import type { Draft } from './draft.js';
import { probeSucceeded } from './holds.js';
import { askingSince, NOT_ASKING, progressAt } from './live-run.js';
import { park } from './park-and-wait.js';
import { reconcileRun } from './reconcile.js';
import { withAccount } from './run-record.js';
import { recordUsage } from './usage.js';

export type CoreSignal = Exclude<RunSignal, { type: 'event' }>;

/** Applies a signal of an active run. Signals of unknown or ended runs are ignored. */
export function applySignal(draft: Draft, runId: string, signal: CoreSignal, now: Instant): void {
  const claim = draft.claim(draft.state.runs[runId] ?? '');
  const live = claim?.live.run;
  if (claim?.status.kind !== 'running' || !live) return;
  const { run } = claim.status;
  switch (signal.type) {
    case 'phase':
      return update(draft, claim, live, { phase: signal.phase, ...progressAt(now), openItems: 0 });
    case 'progress':
      return update(draft, claim, live, { ...progressAt(now), openItems: signal.openItems });
    case 'session': {
      const { threadId, turnId, turn } = signal;
      const session = { threadId, turnId, turn };
      // When a turn begins, its thread contains everything before it, including answers.
      const known = withAccount({ ...run, threadId, answered: null }, { turns: Math.max(run.account.turns, turn) });
      return update(draft, withRun(claim, known), live, {
        session,
        ...progressAt(now),
      });
    }
    case 'step':
      return update(draft, claim, live, { step: { id: signal.stepId, kind: signal.kind } });
    case 'rendered': {
      const { issueHash, promptHash } = signal;
      return update(draft, withRun(claim, withAccount(run, { issueHash, promptHash })), live, {});
    }
    case 'agent_known': {
      const { version: agentVersion, model } = signal;
      return update(draft, withRun(claim, withAccount(run, { agentVersion, model })), live, {});
    }
    case 'usage':
      // A resumed thread starts with old totals. Only newly billed tokens prove that the model answers.
      if (recordUsage(draft, claim, run, signal.threadId, signal.totals, now) && run.probe && signal.totals.output > 0)
        probeSucceeded(draft, claim.issue.id);
      return;
    case 'asked': {
      if (run.questions.some((question) => question.id === signal.question.id)) return;
      draft.noteOn(claim, 'warn', 'run asks a person', {
        question: signal.question.text,
        question_id: signal.question.id,
      });
      const asking = withRun(claim, { ...run, questions: [...run.questions, signal.question] });
      return update(draft, asking, live, { ...(live.askedAtAwakeMs === null ? askingSince(now) : {}) });
    }
    case 'question_closed':
      // The agent is stopping, so its question stays open and must be answered before the issue continues.
      if (live.stop !== null) return;
      return closeQuestion(draft, claim, run, live, signal.questionId, now);
    case 'host_calls': {
      const run = { ...live, hostCalls: signal.open, ...progressAt(now) };
      const updated = draft.putClaim({ ...claim, live: { ...claim.live, run } });
      // The issue moved while a tool call was open. The call has returned, so the mover is known now.
      if (run.grace && run.hostCalls === 0) reconcileRun(draft, updated, run, run.grace.reason, now);
      return;
    }
    case 'moved_issue':
      return update(draft, claim, live, {
        ownMove: { state: signal.state, awakeMs: now.awakeMs },
        ...progressAt(now),
      });
    default:
      return assertNever(signal);
  }
}

export function closeQuestion(
  draft: Draft,
  claim: Claim,
  run: RunFacts,
  live: LiveRun,
  questionId: string,
  now: Instant,
): void {
  const questions = run.questions.filter((question) => question.id !== questionId);
  if (questions.length === run.questions.length) return;
  const clock = questions.length === 0 ? NOT_ASKING : askingSince(now);
  update(draft, withRun(claim, { ...run, questions }), live, { ...clock, ...progressAt(now) });
}

/** SIGKILL did not end the processes of the run. The issue is parked for a person and keeps its slot. */
export function parkUnkillable(draft: Draft, runId: string, now: Instant): void {
  const claim = draft.claim(draft.state.runs[runId] ?? '');
  if (claim?.status.kind !== 'running') return;
  const { run } = claim.status;
  const message = 'processes of the run outlive SIGKILL';
  park(draft, { ...claim, live: { ...claim.live, run: null } }, 'unkillable', message, now, {
    run,
    threadId: run.threadId,
  });
}

function withRun(claim: Claim, run: RunFacts): Claim {
  return { ...claim, status: { kind: 'running', run } };
}

function update(draft: Draft, claim: Claim, live: LiveRun, change: Partial<LiveRun>): void {
  draft.putClaim({ ...claim, live: { ...claim.live, run: { ...live, ...change } } });
}
