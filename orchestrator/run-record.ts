import type { Claim, RunFacts } from '../src/domain/claim.js';
import type { Instant } from '../src/domain/clock.js';
import { FINISHED_KEPT, type FinishedIssue, finishedKey, type RunEnd, type RunRecord } from '../src/domain/durable.js';
import type { Outcome } from '../src/domain/outcome.js';
import type { RunAccount, RunCause } from '../src/domain/run.js';
import type { TokenTotals } from '../src/domain/run-signal.js';
import type { Draft } from './draft.js';
import { recordOf, type State } from './state.js';

/** The facts about a run that are kept after its claim is released. */
export function newAccount(cause: RunCause, { version, workflowHash }: State): RunAccount {
  return {
    cause,
    daemonVersion: version,
    workflowHash,
    issueHash: null,
    promptHash: null,
    agentVersion: null,
    model: null,
    turns: 0,
    tokens: { input: 0, cached: 0, output: 0 },
  };
}

export function withAccount(run: RunFacts, change: Partial<RunAccount>): RunFacts {
  return { ...run, account: { ...run.account, ...change } };
}

export function addTokens(a: TokenTotals, b: TokenTotals): TokenTotals {
  return { input: a.input + b.input, cached: a.cached + b.cached, output: a.output + b.output };
}

export function runRecord({ issue }: Pick<Claim, 'issue'>, run: RunFacts, end: RunEnd | null): RunRecord {
  const { runId, number, reason, attempt, threadId, startedAtMs, account } = run;
  const { id, identifier, title, author, labels } = issue;
  return {
    runId,
    issueId: id,
    identifier,
    title,
    author: author?.login ?? null,
    labels,
    number,
    reason,
    attempt,
    threadId,
    startedAtMs,
    end,
    ...account,
  };
}

/** Writes the final record of a run into the state, where it stays until it is stored. */
export function recordRunEnd(draft: Draft, claim: Claim, run: RunFacts, outcome: Outcome, now: Instant): void {
  const error = outcome.state === 'success' ? null : outcome.error;
  const { afterRunFailed: hasFailed } = outcome.meta;
  const end = {
    ...{ atMs: now.wallMs, outcome: outcome.state, code: error?.code ?? null, message: error?.message ?? null },
    ...(hasFailed ? { afterRunFailed: true as const } : {}),
  };
  draft.put('ended', run.runId, { record: runRecord(claim, run, end), seq: null });
  const { afterRunFailed, ...record } = recordOf(draft.state, claim.issue.id);
  // A run that did not get as far has pushed nothing.
  if (hasFailed === undefined || hasFailed === (afterRunFailed ?? false)) return;
  draft.put('records', claim.issue.id, hasFailed ? { ...record, afterRunFailed: true } : record);
}

/** Records that an issue is finished or handed over. Returns false when the issue never had a run. */
export function recordFinished(draft: Draft, { issue }: Claim, isTerminal: boolean, now: Instant): boolean {
  const { runs, tokens, afterRunFailed } = recordOf(draft.state, issue.id);
  if (runs === 0) return false;
  const { id: issueId, identifier, title, url, state } = issue;
  const done: FinishedIssue = {
    ...{ issueId, identifier, title, url, state, isTerminal, atMs: now.wallMs, runs, tokens },
    ...(afterRunFailed ? { afterRunFailed } : {}),
  };
  const others = draft.state.finished.filter((one) => finishedKey(one) !== finishedKey(done));
  draft.set({ finished: [...others, done].slice(-FINISHED_KEPT) });
  draft.note('info', isTerminal ? 'issue is done' : 'issue was handed over', {
    issueId,
    identifier,
    fields: { state, runs, tokens },
  });
  return true;
}
