import type { RunningView } from '../../status/shapes/entry-shapes.js';
import type { IssueView, RunView } from '../../status/shapes/issue-shape.js';

/** The codes of the daemon in the words of people. A code that is not known here is shown as it is, without its underlines. */

export const parkWords = (reason: string): string => PARKED[reason] ?? plain(reason);
export const ruleWords = (rule: string): string => RULES[rule] ?? capital(plain(rule));
export const reasonWords = (reason: string): string => REASONS[reason] ?? plain(reason);
export const ruleGroupWords = (rule: string): string => GROUPS[rule] ?? plain(rule);
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
  if (outcome === 'success') return 'finished';
  const verb = outcome === 'timeout' ? 'took too long' : outcome === 'cancelled' ? 'was stopped' : 'failed';
  return code === null ? verb : `${verb} (${code})`;
}

const PARKED: Words = {
  too_many_failures: 'failed too often',
  no_progress: 'made no progress',
  budget: 'token budget spent',
  input_required: 'asked a person',
  stopped_by_operator: 'stopped by a person',
  unkillable: 'a process cannot be ended',
  configuration: 'the workflow cannot run it',
};

const RULES: Words = {
  complete: 'Complete in the tracker',
  not_terminal: 'Not in a terminal state',
  active_state: 'In an active state',
  dispatchable: 'Ours to work on, says the tracker',
  not_blocked: 'Not blocked by another issue',
  blockers_at_rest: 'No blocker is still at work',
  trusted_author: 'Written by somebody trusted',
  required_labels: 'Has the required labels',
  not_claimed: 'Not claimed already',
  not_being_removed: 'Its workspace is not being removed',
  budget_left: 'Has tokens left',
};

const GROUPS: Words = {
  complete: 'incomplete',
  not_terminal: 'in a terminal state',
  active_state: 'not in an active state',
  dispatchable: 'not ours to work on',
  not_blocked: 'blocked',
  blockers_at_rest: 'waiting for a blocker to end',
  trusted_author: 'by somebody not trusted',
  required_labels: 'without a required label',
  not_claimed: 'claimed already',
  not_being_removed: 'being cleaned up',
  budget_left: 'out of tokens',
};

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
