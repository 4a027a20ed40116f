import { Draft } from '../../orchestrator/draft.js';
import { RULES } from '../../orchestrator/eligibility.js';
import { reconcile } from '../../orchestrator/reconcile.js';
import { isDue } from '../../orchestrator/select.js';
import { isAsking, type State } from '../../orchestrator/state.js';
import type { Claim, Parked, Waiting } from '../domain/claim.js';
import type { Instant } from '../domain/clock.js';
import type { Issue } from '../domain/issue.js';
import { cancelled } from '../domain/outcome.js';
import { shellWord } from '../domain/shell-word.js';
import { startRules } from '../status/explain-start.js';
import { isoTime } from '../text/iso-time.js';
import { failed, passed } from '../status/rule-view.js';
import type { RuleView } from '../status/shapes/issue-shape.js';
import { askedOf } from './start-order.js';

/**
 * Every rule that can keep an issue from running, with what a person can do about those that do. An issue that is not running is
 * started with the next reading of it if and only if none fails; one that runs, goes on. It asks the very functions that the core asks.
 */
export function explainRules(state: State, now: Instant, issue: Issue, claim: Claim | null): RuleView[] {
  const seen = claim && afterLook(state, claim, now);
  const own = [...issueRules(state, issue, claim), ...claimRules(claim, seen, now)];
  // What keeps others from being started does not end what runs.
  const isRunning = claim?.status.kind === 'running';
  return [...own, ...startRules(state, now, issue, { isRunning, passesOwn: own.every(({ pass }) => pass) })];
}

/** Asked once, before the first run of a claim; the others are asked again before each run. */
const ONLY_AT_FIRST: readonly string[] = ['complete', 'blockers_at_rest', 'budget_left'];

/** Whether it is claimed is told by the rules about its claim. */
function issueRules(state: State, issue: Issue, claim: Claim | null): RuleView[] {
  return RULES.filter(({ name }) => name !== 'not_claimed').map((rule) => {
    const asked = askedOf(rule.name, issue, state);
    if (rule.passes(asked, state) || (claim !== null && ONLY_AT_FIRST.includes(rule.name))) return passed(rule.name);
    return failed(rule.name, rule.why(asked, state), rule.action(asked, state));
  });
}

/** What becomes of a claim that is due when its issue is read again and found as it is; of any other claim, nothing. */
function afterLook(state: State, claim: Claim, now: Instant): Claim {
  if (!isDue(claim, now)) return claim;
  const draft = new Draft(state);
  reconcile(draft, claim.issue.id, claim.issue, draft.nextSeq(), now);
  return draft.claim(claim.issue.id) ?? claim;
}

function claimRules(claim: Claim | null, seen: Claim | null, now: Instant): RuleView[] {
  return [stopping(claim), asking(claim), parking(claim, seen), processes(claim), waiting(seen, now)];
}

function stopping(claim: Claim | null): RuleView {
  const reason = claim?.status.kind === 'running' ? (claim.live.run?.stop ?? null) : null;
  if (reason === null) return passed('not_being_stopped');
  const action =
    claim?.status.kind === 'running' && claim.status.run.wish === 'retry'
      ? 'wait: it starts again as soon as the run has ended'
      : 'wait until its processes are gone';
  return failed('not_being_stopped', `its run is being ended: ${cancelled(reason).error.message}`, action);
}

function asking(claim: Claim | null): RuleView {
  if (claim === null || !isAsking(claim)) return passed('no_open_question');
  return failed('no_open_question', 'its agent waits for an answer', command('answer', claim.issue));
}

function parking(claim: Claim | null, seen: Claim | null): RuleView {
  if (claim?.status.kind !== 'parked' && seen?.status.kind === 'parked')
    return failed('not_parked', `it will be parked: ${seen.status.message}`, WAYS_OUT[seen.status.reason](seen.issue));
  if (claim?.status.kind !== 'parked') return passed('not_parked');
  const { reason, message } = claim.status;
  return failed('not_parked', `parked as ${reason}: ${message}`, wayOut(claim.issue, claim.status));
}

/** A question that came with it is worth more than a new beginning. */
function wayOut(issue: Issue, { reason, question }: Parked): string {
  const other = WAYS_OUT[reason](issue);
  if (question === null) return other;
  return reason === 'input_required' ? command('answer', issue) : `${command('answer', issue)}, or ${other}`;
}

const retry = (issue: Issue) => command('retry', issue);

const WAYS_OUT: { readonly [reason in Parked['reason']]: (issue: Issue) => string } = {
  too_many_failures: (issue) => `see why with ${command('logs', issue)}, then ${retry(issue)}, or change the issue`,
  no_progress: (issue) => `${retry(issue)}, or change the issue`,
  budget: (issue) => `raise agent.max_tokens_per_issue, or ${retry(issue)}, which grants it a new budget`,
  input_required: (issue) => `write the answer into the issue, or ${retry(issue)}`,
  stopped_by_operator: retry,
  unkillable: (issue) => `once its processes are gone, ${retry(issue)}`,
  configuration: (issue) => `fix WORKFLOW.md, or ${retry(issue)}`,
};

function processes(claim: Claim | null): RuleView {
  if (claim?.status.kind !== 'parked' || claim.status.run === null) return passed('processes_gone');
  const why = `processes of run ${claim.status.run.number} outlive SIGKILL, and keep its slot`;
  return failed('processes_gone', why, 'look for a hung disk or device; when they are gone, the slot is free');
}

function waiting(seen: Claim | null, now: Instant): RuleView {
  if (seen?.status.kind !== 'waiting' || isDue(seen, now)) return passed('due');
  const until = isoTime(seen.status.dueAtMs);
  const action = `wait until ${until}, or ${command('retry', seen.issue)} starts it now`;
  return failed('due', `its next run is due at ${until}${because(seen.status, seen)}`, action);
}

function because({ error, reason }: Waiting, { failures, idleRuns }: Claim): string {
  if (error !== null && error.code !== 'no_slot') return `, after ${count(failures)}: ${error.message}`;
  if (reason !== 'continuation') return ` (${reason})`;
  return idleRuns === 0
    ? ': it is looked at again after a run that ended well'
    : `: ${idleRuns === 1 ? 'its last run' : `its last ${idleRuns} runs`} left the issue as it was`;
}

function count(failures: number): string {
  return failures === 1 ? 'a failure' : `${failures} failures in a row`;
}

/** As a person types it. */
function command(name: 'answer' | 'retry' | 'logs', { identifier }: Issue): string {
  return `\`baton ${name} ${shellWord(identifier)}\``;
}
