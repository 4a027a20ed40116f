import type { Claim, IssueRecord, RunFacts } from '../src/domain/claim.js';
import type { Instant } from '../src/domain/clock.js';
import type { Spending } from '../src/domain/durable.js';
import type { TokenTotals } from '../src/domain/run-signal.js';
import type { Draft } from './draft.js';
import { hasBudget } from './eligibility.js';
import { addSpending, tokensOn } from './ledger.js';
import { requestStop } from './run-end.js';
import { addTokens, withAccount } from './run-record.js';
import { recordOf } from './state.js';

/** Counts the tokens since the last report. Totals are absolute per thread, also after a resume. */
export function countUsage(
  record: IssueRecord,
  run: RunFacts,
  threadId: string,
  totals: TokenTotals,
): { record: IssueRecord; spent: Spending } {
  if (!isValid(totals)) return { record, spent: NOTHING };
  const known = record.threads.find((thread) => thread.id === threadId)?.totals;
  // The history of this resumed thread is unknown, so counting starts at its first report.
  const before = known ?? (run.resume?.threadId === threadId ? totals : NONE);
  const next = {
    input: Math.max(before.input, totals.input),
    cached: Math.max(before.cached, totals.cached),
    output: Math.max(before.output, totals.output),
  };
  const spent: Spending = {
    input: next.input - before.input,
    cached: next.cached - before.cached,
    output: next.output - before.output,
    tokens: Math.max(0, billable(next) - billable(before)),
  };
  if (known && spent.input === 0 && spent.cached === 0 && spent.output === 0) return { record, spent };
  const others = record.threads.filter((thread) => thread.id !== threadId).slice(1 - MAX_THREADS);
  const threads = [...others, { id: threadId, totals: next }];
  return { record: { ...record, tokens: record.tokens + spent.tokens, threads }, spent };
}

/** Records the tokens of a run and stops runs without budget. Returns false when no tokens were billed. */
export function recordUsage(
  draft: Draft,
  claim: Claim,
  run: RunFacts,
  threadId: string,
  totals: TokenTotals,
  now: Instant,
): boolean {
  const { record, spent } = countUsage(recordOf(draft.state, claim.issue.id), run, threadId, totals);
  draft.put('records', claim.issue.id, record);
  if (spent.input === 0 && spent.cached === 0 && spent.output === 0) return false;
  const account = { tokens: addTokens(run.account.tokens, spent) };
  draft.putClaim({ ...claim, status: { kind: 'running', run: withAccount(run, account) } });
  draft.set({ ledger: addSpending(draft.state.ledger, now.day, claim.issue.id, spent) });
  if (spent.tokens === 0) return false;

  if (!hasBudget(draft.state, claim.issue.id, draft.state.config)) {
    draft.noteOn(claim, 'warn', 'token budget of the issue is spent, stopping its run', { tokens: record.tokens });
    requestStop(draft, claim.issue.id, 'budget', now);
  }
  enforceDayBudget(draft, now);
  return true;
}

/** Applies the daily token cap. It also interrupts active runs; they continue on their threads the next day. */
export function enforceDayBudget(draft: Draft, now: Instant): void {
  const { config, ledger, holds } = draft.state;
  const cap = config.agent.maxTokensPerDay;
  const tokens = tokensOn(ledger, now.day);
  if (cap === null || tokens < cap || holds.budget) return;
  const message = `${tokens} tokens today, agent.max_tokens_per_day is ${cap}`;
  draft.putHold('budget', {
    code: 'budget_exceeded',
    message,
    sinceMs: now.wallMs,
    tries: 0,
    untilMs: now.dayEndsAtMs,
    probed: [],
  });
  draft.note('warn', 'holding until tomorrow: the token budget of the day is spent', {
    fields: { tokens, cap },
  });
  for (const [issueId, claim] of Object.entries(draft.state.claims)) {
    if (claim.status.kind === 'running') requestStop(draft, issueId, 'day_budget', now);
  }
}

/** True when a new day has begun or the cap was raised. */
export function isDayBudgetAvailable(draft: Draft, now: Instant): boolean {
  const { ledger, config, holds } = draft.state;
  if (!holds.budget) return false;
  const cap = config.agent.maxTokensPerDay;
  return cap === null || tokensOn(ledger, now.day) < cap;
}

/** An agent may use several threads, and their reports arrive in any order. */
const MAX_THREADS = 20;

const NONE: TokenTotals = { input: 0, cached: 0, output: 0 };
const NOTHING: Spending = { ...NONE, tokens: 0 };

function billable(totals: TokenTotals): number {
  return totals.input - Math.min(totals.cached, totals.input) + totals.output;
}

function isValid(totals: TokenTotals): boolean {
  return [totals.input, totals.cached, totals.output].every((count) => Number.isSafeInteger(count) && count >= 0);
}
