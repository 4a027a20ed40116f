import type { Acceptance, AcceptanceParams, FailedRule, Refusal, RefusalParams } from '../domain/reasons.js';
import { counted } from './format-numbers.js';
import { isoTime } from './format-time.js';
import { stopText } from './outcomes.js';
import { batonCommand, quotedList } from './phrases.js';
import { ruleWhy } from './rules.js';

/** Why a request of a person is refused, in sentences. */
export function refusalText(refusal: Refusal): string {
  return (REFUSALS[refusal.code] as (params: Refusal['params']) => string)(refusal.params);
}

/** What comes of a request of a person, in sentences. */
export function acceptanceText(acceptance: Acceptance): string {
  return (ACCEPTANCES[acceptance.code] as (params: Acceptance['params']) => string)(acceptance.params);
}

const WRITE_IT = 'Write it into the issue, and the next run reads it.';

const REFUSALS: { readonly [Code in keyof RefusalParams]: (params: RefusalParams[Code]) => string } = {
  issue_not_found: ({ name, nearest }) =>
    `No issue ${name} is claimed or among the candidates of the last poll.${nearest === null ? '' : ` Did you mean ${nearest}?`}`,
  not_active: ({ identifier, state, since, open_states }) =>
    `${identifier} has been "${state}" since ${since} and is not worked on any more. To go on, move it to ${quotedList(open_states, ' or ')} in the tracker.`,
  already_stopped: ({ identifier, since_ms }) =>
    since_ms === null
      ? `${identifier} is being stopped already.`
      : `${identifier} is stopped already, since ${isoTime(since_ms)}.`,
  being_stopped: (params) =>
    `The run of ${params.identifier} is being stopped: ${stopText(params.stop)}. ${afterStop(params)}`,
  processes_outlive_kill: ({ identifier, run_number }) =>
    `Processes of run ${run_number} of ${identifier} outlive SIGKILL. It can be retried once they are gone.`,
  already_running: ({ identifier, run_number, is_asking }) =>
    `${identifier} is running already (run ${run_number}). ${is_asking ? `It waits for an answer: ${batonCommand('answer', identifier)}.` : 'To start again, stop it first.'}`,
  not_startable: ({ identifier, failed }) => `${identifier} has no run and will not start: ${reasons(failed)}.`,
  nothing_to_retry: ({ identifier, failed }) =>
    failed.length === 0
      ? `${identifier} has no run to repeat and is in line already. ${seeExplain(identifier)}`
      : `${identifier} has no run to repeat. It does not start: ${reasons(failed)}.`,
  no_run: ({ identifier }) => `${identifier} has no run that could receive a message. ${WRITE_IT}`,
  not_started_yet: ({ identifier }) =>
    `The run of ${identifier} is about to start. Send the message again in a moment.`,
  agent_finished: ({ identifier }) => `The agent of ${identifier} has finished; only hooks are running. ${WRITE_IT}`,
  retry_needs_answer: ({ identifier }) =>
    `The push of ${identifier} waits for an answer: ${batonCommand('answer', identifier)}. To work on it again, move it to an active state.`,
  nothing_to_answer: ({ identifier }) => `${identifier} has no open question.`,
  question_ambiguous: ({ identifier, open }) =>
    `${identifier} has ${open.length} open questions. Name one: ${open.join(', ')}.`,
  question_cut: ({ identifier }) =>
    `The question of ${identifier} is too long to be shown whole, so it can only be declined. The transcript of the run has all of it: ${batonCommand('logs', identifier)}.`,
  question_unknown: ({ identifier, question_id, open }) =>
    `${identifier} has no open question ${question_id}. Open: ${open.join(', ')}.`,
};

function afterStop({ request, stop, is_retry_pending }: RefusalParams['being_stopped']): string {
  switch (request) {
    case 'stop':
      return 'There is nothing left to stop.';
    case 'message':
      return WRITE_IT;
    case 'answer':
      return 'Its question can be answered once it is parked.';
    case 'retry':
      return is_retry_pending && stop !== 'terminal'
        ? 'It starts again after that, as requested before.'
        : 'It starts again when the issue is active again.';
  }
}

const ACCEPTANCES: { readonly [Code in keyof AcceptanceParams]: (params: AcceptanceParams[Code]) => string } = {
  run_stops: ({ identifier }) =>
    `The run of ${identifier} is being stopped; then it is parked ${untilFreed(identifier)}.`,
  stopped_waiting: ({ identifier }) => `${identifier} is parked ${untilFreed(identifier)}.`,
  stopped_parked: ({ identifier, reason }) =>
    `${identifier} was parked as ${reason}; now it is stopped ${untilFreed(identifier)}.`,
  not_to_be_started: ({ identifier }) => `${identifier} will not be started ${untilFreed(identifier)}.`,
  retries_after_stop: ({ identifier }) =>
    `The run of ${identifier} is being stopped; it starts again as soon as its processes are gone.`,
  due_now: ({ identifier, was_parked, drops_question }) =>
    `${identifier} is due now, with ${was_parked ? 'no failures counted and ' : ''}a new budget${drops_question ? '; the open question of its agent is dropped' : ''}. ${seeExplain(identifier)}`,
  new_budget: ({ identifier, failed }) =>
    `${identifier} has a new budget. ${failed.length === 0 ? seeExplain(identifier) : `It still does not start: ${reasons(failed)}.`}`,
  probes_hold: ({ identifier }) => `A run is tried now, despite the hold. ${seeExplain(identifier)}`,
  answered: ({ identifier, push, open }) =>
    `${push === null ? `The agent of ${identifier} has your answer.` : pushText(identifier, push)}${open === 0 ? '' : ` ${counted(open, 'more question')} ${open === 1 ? 'is' : 'are'} open.`}`,
  resumes: ({ identifier, push, has_thread }) => {
    if (push !== null) return pushText(identifier, push);
    return has_thread
      ? `${identifier} goes on with your answer, on the same thread.`
      : `${identifier} is due now. Its thread is not known, so the agent starts from the beginning.`;
  },
  message_sent: ({ identifier, is_agent_running }) =>
    `The agent of ${identifier} receives the message${is_agent_running ? '' : ' with its first prompt'}.`,
};

function pushText(identifier: string, push: 'accepted' | 'declined'): string {
  return push === 'accepted'
    ? `The work of ${identifier} is pushed now, without an agent.`
    : `The work of ${identifier} is not pushed.`;
}

function untilFreed(identifier: string): string {
  return `until ${batonCommand('retry', identifier)} or a change of the issue`;
}

function seeExplain(identifier: string): string {
  return `${batonCommand('explain', identifier)} shows what it waits for.`;
}

function reasons(failed: readonly FailedRule[]): string {
  return failed.map(ruleWhy).join('; ');
}
