import type { IssueView, RunningView, RunView, StateView } from '../../api/schemas.js';
import { counted, formatTokens } from '../../text/format-numbers.js';
import { AFTER_RUN_FAILED, OUTCOME_TEXTS, WAITS_FOR_SLOT } from '../../text/outcomes.js';
import { parkedSummary } from '../../text/parked-reasons.js';
import { ruleText } from '../../text/rules.js';
import { needsOf } from './question-cards.js';

/** Texts for codes of the API. An unknown code is shown without its underscores. */

export const ruleWords = (rule: string): string => capital(ruleText(rule));
export const reasonWords = (reason: string): string => REASONS[reason] ?? plain(reason);
export const stopWords = (reason: string): string => `being stopped: ${plain(reason)}`;

export function phaseWords({ phase, step, probe }: Pick<RunningView, 'phase' | 'step' | 'probe'>): string {
  const where = phase === 'agent' && step ? `step ${step.id}` : (PHASES[phase ?? ''] ?? '');
  return probe ? [where, 'probes whether the hold is over'].filter((part) => part !== '').join(', ') : where;
}

export function statusWords(status: IssueView['status']): string {
  return STATUSES[status];
}

/** What caused a run. */
export function startedWords({ cause, reason }: Pick<RunView, 'cause' | 'reason'>): string {
  if (reason === 'resumed') return 'resumed after a restart of the daemon';
  if (cause === 'poll' && reason === 'continuation')
    return 'the run before it succeeded, and the issue is still active';
  return CAUSES[cause] ?? plain(cause);
}

export function outcomeWords({
  outcome,
  code,
  after_run_failed,
}: Pick<RunView, 'outcome' | 'code' | 'after_run_failed'>): string {
  if (outcome === null) return 'running';
  const text = `${OUTCOME_TEXTS[outcome]}${after_run_failed ? ', but after_run failed' : ''}`;
  return code === null ? text : `${text} (${code})`;
}

const CAUSES: Words = {
  poll: 'found in the tracker',
  retry: 'retried after a failure',
  answer: 'a person answered its question',
  operator: 'a person requested it',
};

const REASONS: Words = {
  first: 'first run',
  continuation: 'continues',
  retry: 'retries',
  resumed: 'resumes after a restart',
  answer: 'continues with an answer',
};

const PHASES: Words = {
  claiming: 'is being claimed',
  preparing: 'prepares its workspace',
  agent: 'agent is working',
  finishing: 'runs its last hooks',
};

const STATUSES: { readonly [status in IssueView['status']]: string } = {
  running: 'Running',
  asking: 'Needs you',
  retrying: 'Waiting',
  parked: 'Parked',
  ready: 'Next',
  ineligible: 'Not picked up',
  done: 'Done',
  past: 'Not on the board',
};

type Words = { readonly [code: string]: string };

function plain(code: string): string {
  return code.replaceAll('_', ' ');
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** The headline: the current activity, or the reason why there is none. */
export function headlineOf(state: StateView): string {
  if (state.shutting_down) return 'Baton is shutting down: it exits when its runs have ended.';
  if (state.why_idle !== null) return state.why_idle;
  const needs = needsOf(state).length;
  const working = state.running.filter(({ asking }) => !asking).length;
  if (working > 0)
    return needs > 0 ? `${needing(needs)}; ${otherIssues(working)} running.` : `${capital(runningIssues(working))}.`;
  if (needs > 0) return `${needing(needs)}.`;
  const next = state.ready.find(({ why }) => why === null);
  return next ? `${next.issue_identifier} is about to start.` : 'Nothing is going on right now.';
}

function needing(count: number): string {
  return `${counted(count, 'issue')} ${count === 1 ? 'needs' : 'need'} you`;
}

function otherIssues(count: number): string {
  return `${count} ${count === 1 ? 'other is' : 'others are'}`;
}

function runningIssues(count: number): string {
  return count === 1 ? 'one issue is running' : `${counted(count, 'issue')} are running`;
}

/** A key of the live state of an issue: its details are read again when the key changes. Counters are left out, because they are live anyway. */
export function standingKey(state: StateView, identifier: string): string {
  const isIt = (entry: { readonly issue_identifier: string }) => entry.issue_identifier === identifier;
  const running = state.running.find(isIt);
  const parked = state.parked.find(isIt);
  return JSON.stringify([
    running && [running.run_id, running.phase, running.stopping, running.state, running.step],
    state.asking.find(isIt)?.questions.map(({ id }) => id),
    state.retrying.find(isIt)?.due_at,
    parked && [parked.reason, parked.since, parked.question?.id],
    state.ready.find(isIt)?.why,
    state.ineligible.find(isIt)?.reasons,
    state.done.find(isIt)?.finished_at,
    state.holds.map(({ code }) => code),
    state.paused,
    state.poll.health,
  ]);
}

/** The details, updated from the live state. */
export function withLive(issue: IssueView, state: StateView | null): IssueView {
  if (state === null) return issue;
  const isIt = (entry: { readonly issue_id: string }) => entry.issue_id === issue.issue_id;
  const running = state.running.find(isIt) ?? null;
  const asking = state.asking.find(isIt) ?? null;
  const retrying = state.retrying.find(isIt) ?? null;
  const parked = state.parked.find(isIt) ?? null;
  const isClaimed = running !== null || retrying !== null || parked !== null;
  if (!isClaimed) return { ...issue, running, asking, retrying, parked };
  const status = asking ? 'asking' : running ? 'running' : parked ? 'parked' : 'retrying';
  return { ...issue, status, running, asking, retrying, parked, budget: running?.budget ?? issue.budget };
}

/** What the issue is doing or what it waits for, in one sentence. Times in it are UTC, ISO 8601. */
export function standingWords(issue: IssueView): string {
  const { running, retrying, parked, done } = issue;
  switch (issue.status) {
    case 'running':
      return running === null ? 'A run is active.' : `Run ${running.run_number} ${runningWords(running)}.`;
    case 'asking':
      return 'Its run waits for your answer.';
    case 'retrying':
      return retrying === null ? 'It continues by itself.' : retryingWords(retrying);
    case 'parked':
      return parked === null ? 'It is parked.' : `Parked: ${parkedSummary(parked.reason)}. ${wayOut(parked)}`;
    case 'ready':
      return issue.why_not_started === null ? 'It is about to start.' : `It is in line: ${issue.why_not_started}.`;
    case 'ineligible':
      return `It is not picked up: ${firstFailure(issue)}.`;
    case 'done':
      return done === null ? 'It is done.' : doneWords(done);
    case 'past':
      return 'Baton does not see this issue now. The page shows its earlier runs.';
  }
}

type Entry<K extends 'running' | 'retrying' | 'parked' | 'done'> = NonNullable<IssueView[K]>;

function runningWords(running: Entry<'running'>): string {
  if (running.stopping !== null) return `is being stopped (${running.stopping.replaceAll('_', ' ')})`;
  const isPlain = running.phase === null || (running.phase === 'agent' && !running.step && !running.probe);
  return isPlain ? 'is active' : `is active: ${phaseWords(running)}`;
}

function retryingWords(retrying: Entry<'retrying'>): string {
  const when =
    retrying.due || retrying.due_at === null ? 'It is due' : `It ${reasonWords(retrying.reason)} at ${retrying.due_at}`;
  if (retrying.error === null) return `${when}.`;
  return retrying.error_code === 'no_slot' ? `${when} and ${WAITS_FOR_SLOT}.` : `${when}, after: ${retrying.error}`;
}

/** Why a waiting issue waits; empty after a successful run. */
export function waitingWords({ error, error_code }: Entry<'retrying'>): string {
  return error_code === 'no_slot' ? WAITS_FOR_SLOT : (error ?? '');
}

function wayOut({ question, reason }: Entry<'parked'>): string {
  if (question !== null) return 'It continues with your answer.';
  return reason === 'configuration'
    ? 'It continues when the workflow changes or when you retry it.'
    : 'It continues when you retry it or when the issue changes.';
}

function firstFailure({ rules }: IssueView): string {
  return rules.find(({ pass }) => !pass)?.why ?? 'a rule fails';
}

function doneWords({ terminal, state, finished_at: at, runs, tokens, after_run_failed }: Entry<'done'>): string {
  const what = terminal ? `Done (${state})` : `Handed over: its state is ${state}`;
  return `${what}${at === null ? '' : ` at ${at}`}, after ${counted(runs, 'run')} and ${formatTokens(tokens)} tokens${after_run_failed ? `; ${AFTER_RUN_FAILED}` : ''}.`;
}
