import type { IssueView, RunningView, RunView, StateView } from '../../api/schemas.js';
import { counted, formatTokens } from '../../text/format-numbers.js';
import { OUTCOME_TEXTS } from '../../text/outcomes.js';
import { parkedSummary } from '../../text/parked-reasons.js';
import { ruleText } from '../../text/rules.js';
import { needsOf } from './question-cards.js';

/** The codes of the daemon in the words of people. A code that is not known here is shown as it is, without its underlines. */

export const ruleWords = (rule: string): string => capital(ruleText(rule));
export const reasonWords = (reason: string): string => REASONS[reason] ?? plain(reason);
export const stopWords = (reason: string): string => `being stopped: ${plain(reason)}`;

export function phaseWords({ phase, step, probe }: Pick<RunningView, 'phase' | 'step' | 'probe'>): string {
  const where = phase === 'agent' && step ? `step ${step.id}` : (PHASES[phase ?? ''] ?? '');
  return probe ? [where, 'tries whether the hold is over'].filter((part) => part !== '').join(', ') : where;
}

export function statusWords(status: IssueView['status']): string {
  return STATUSES[status];
}

/** What brought a run about. */
export function startedWords({ cause, reason }: Pick<RunView, 'cause' | 'reason'>): string {
  if (reason === 'resumed') return 'went on after a restart of the daemon';
  if (cause === 'poll' && reason === 'continuation')
    return 'the run before it ended well, and the issue is still active';
  return CAUSES[cause] ?? plain(cause);
}

export function outcomeWords({ outcome, code }: Pick<RunView, 'outcome' | 'code'>): string {
  if (outcome === null) return 'at work';
  const text = OUTCOME_TEXTS[outcome];
  return code === null ? text : `${text} (${code})`;
}

const CAUSES: Words = {
  poll: 'found on the board',
  retry: 'tried again after a failure',
  answer: 'somebody answered its question',
  operator: 'somebody asked for it',
};

const REASONS: Words = {
  first: 'first run',
  continuation: 'goes on',
  retry: 'tries again',
  resumed: 'goes on after a restart',
  answer: 'goes on with an answer',
};

const PHASES: Words = {
  claiming: 'is being claimed',
  preparing: 'prepares its workspace',
  agent: 'agent at work',
  finishing: 'finishes: last hooks',
};

const STATUSES: { readonly [status in IssueView['status']]: string } = {
  running: 'At work',
  asking: 'Needs you',
  retrying: 'Waiting',
  parked: 'Parked',
  ready: 'Next',
  ineligible: 'Not picked up',
  done: 'Done',
  past: 'Not on the board now',
};

type Words = { readonly [code: string]: string };

function plain(code: string): string {
  return code.replaceAll('_', ' ');
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** The one sentence at the top: what is going on, and when nothing is, why. */
export function headlineOf(state: StateView): string {
  if (state.shutting_down) return 'Baton is shutting down: it ends as soon as its runs have.';
  if (state.why_idle !== null) return state.why_idle;
  const needs = needsOf(state).length;
  const working = state.running.filter(({ asking }) => !asking).length;
  if (working > 0) return needs > 0 ? `${needing(needs)}; ${others(working)} at work.` : `${capital(atWork(working))}.`;
  if (needs > 0) return `${needing(needs)}.`;
  const next = state.ready.find(({ why }) => why === null);
  return next ? `${next.issue_identifier} is about to start.` : 'Nothing is going on right now.';
}

function needing(count: number): string {
  return `${counted(count, 'issue')} ${count === 1 ? 'needs' : 'need'} you`;
}

function others(count: number): string {
  return `${count} ${count === 1 ? 'other is' : 'others are'}`;
}

function atWork(count: number): string {
  return count === 1 ? 'one issue is at work' : `${counted(count, 'issue')} are at work`;
}

/**
 * Where an issue stands by the live state, as a text that becomes another when its details should be read again. Numbers that only run
 * up are left out: they come with the live state itself.
 */
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

/** The details with what the live state knows better. */
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

/** One sentence: what it is doing, or what it waits for. Times in it are UTC, ISO 8601. */
export function standingWords(issue: IssueView): string {
  const { running, retrying, parked, done } = issue;
  switch (issue.status) {
    case 'running':
      return running === null ? 'A run is at work.' : `Run ${running.run_number} ${runningWords(running)}.`;
    case 'asking':
      return 'Its run waits for your answer.';
    case 'retrying':
      return retrying === null ? 'It goes on by itself.' : retryingWords(retrying);
    case 'parked':
      return parked === null ? 'It is parked.' : `Parked: ${parkedSummary(parked.reason)}. ${whatFrees(parked)}`;
    case 'ready':
      return issue.why_not_started === null ? 'It is about to start.' : `It is in line: ${issue.why_not_started}.`;
    case 'ineligible':
      return `It is not picked up: ${firstFault(issue)}.`;
    case 'done':
      return done === null ? 'It is done.' : doneWords(done);
    case 'past':
      return 'It is not among the issues that Baton sees now. What is shown is from its earlier runs.';
  }
}

type Entry<K extends 'running' | 'retrying' | 'parked' | 'done'> = NonNullable<IssueView[K]>;

function runningWords(running: Entry<'running'>): string {
  if (running.stopping !== null) return `is being stopped (${running.stopping.replaceAll('_', ' ')})`;
  const phase = phaseWords(running);
  return `is at work${phase === '' || phase === 'agent at work' ? '' : `: ${phase}`}`;
}

function retryingWords(retrying: Entry<'retrying'>): string {
  const when =
    retrying.due || retrying.due_at === null ? 'It is due' : `It ${reasonWords(retrying.reason)} at ${retrying.due_at}`;
  return retrying.error === null ? `${when}.` : `${when}, after: ${retrying.error}`;
}

function whatFrees({ question, reason }: Entry<'parked'>): string {
  if (question !== null) return 'An answer goes on where it stopped.';
  return reason === 'configuration'
    ? 'It goes on when the workflow changes, or when you retry it.'
    : 'It goes on when you retry it, or when the issue changes.';
}

function firstFault({ rules }: IssueView): string {
  return rules.find(({ pass }) => !pass)?.why ?? 'a rule keeps it out';
}

function doneWords({ terminal, state, finished_at: at, runs, tokens }: Entry<'done'>): string {
  const what = terminal ? `Done (${state})` : `Handed over: it went to ${state}`;
  return `${what}${at === null ? '' : ` at ${at}`}, after ${counted(runs, 'run')} and ${formatTokens(tokens)} tokens.`;
}
