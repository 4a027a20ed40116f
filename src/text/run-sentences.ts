import { type Fields, fieldsOf, listOf } from '../domain/json.js';
import type { Outcome } from '../domain/outcome.js';
import type { RuntimeEvent } from '../domain/run-signal.js';
import { counted, formatTokens } from './format-numbers.js';
import { begunItem, endedItem } from './item-sentences.js';
import { OUTCOME_TEXTS } from './outcomes.js';
import { because, command, line } from './phrases.js';

/**
 * What an agent does, as a short sentence without its subject: "ran `npm test`, exit 1 (2.3 s)". One line, no control characters, at most
 * 300 characters, whatever the agent sent. `null` for events that users do not need to read (deltas, counters, bookkeeping).
 */
export function sentenceOf(event: RuntimeEvent): string | null {
  const sentence = describe(event);
  return sentence === null ? null : line(sentence, MAX_SENTENCE);
}

/** The start of an item, whose end is an event too: for a status line, not for a record. */
export function isPassing({ type, method }: RuntimeEvent): boolean {
  return type === 'notification' && method === 'item/started';
}

const MAX_SENTENCE = 300;

function describe(event: RuntimeEvent): string | null {
  const data: Fields = event.data ?? {};
  switch (event.type) {
    case 'session_started':
      return typeof data.turn === 'number' ? `turn ${line(String(data.turn))} began` : 'a turn began';
    case 'startup_failed':
      return `could not start${because(data.message)}${codeOf(data)}`;
    case 'turn_completed':
      return 'the turn is complete';
    case 'turn_failed':
      return `the turn failed${because(data.message)}${codeOf(data)}`;
    case 'turn_cancelled':
      return `the turn was cancelled${because(data.message)}`;
    case 'turn_ended_with_error':
      return `the turn ended${because(data.message)}${codeOf(data)}`;
    case 'turn_input_required':
      return `asks: ${line(data.question) || 'something'} (no person may be asked)`;
    case 'approval_auto_approved':
      return `${askedFor(event.method ?? '', data) ?? 'asks for approval'} (accepted)`;
    case 'unsupported_tool_call':
      return `called a tool that does not exist${because(data.tool)}`;
    case 'other_message':
      return line(data.warning) === '' ? null : `warning: ${line(data.warning)}${because(data.message)}`;
    case 'malformed':
      return null;
    case 'notification':
      return notificationSentence(event.method ?? '', data, event.workspace);
    default:
      return null;
  }
}

function notificationSentence(method: string, data: Fields, workspace: unknown): string | null {
  switch (method) {
    case 'item/started':
      return begunItem(fieldsOf(data.item));
    case 'item/completed':
      return endedItem(fieldsOf(data.item), workspace);
    case 'turn/plan/updated':
      return planSentence(listOf(data.plan).map(fieldsOf));
    case 'error':
      return errorSentence(data);
    case 'warning':
    case 'guardianWarning':
      return `warns${because(data.message)}`;
    case 'configWarning':
      return `warns${because(data.summary)}`;
    case 'model/rerouted':
      return `now uses the model ${line(data.toModel) || '?'} instead of ${line(data.fromModel) || '?'}`;
    default:
      return requestSentence(method, data);
  }
}

function planSentence(steps: readonly Fields[]): string | null {
  if (steps.length === 0) return null;
  const done = steps.filter(({ status }) => status === 'completed').length;
  const now = steps.find(({ status }) => status === 'inProgress');
  return `plan: ${done} of ${steps.length} steps done${now ? `, now${because(now.step)}` : ''}`;
}

function errorSentence(data: Fields): string {
  const { message } = fieldsOf(data.error);
  return data.willRetry === true
    ? `has trouble and tries again${because(message)}`
    : `reports an error${because(message)}`;
}

function codeOf({ code }: Fields): string {
  const text = line(code);
  return text === '' ? '' : ` (${text})`;
}

/** A request to a person; `null` for other methods. */
function requestSentence(method: string, data: Fields): string | null {
  const asked = askedFor(method, data);
  return asked === null ? null : `${asked}${answered(data.answered)}`;
}

function askedFor(method: string, data: Fields): string | null {
  switch (method) {
    case 'item/commandExecution/requestApproval':
      return `asks to run ${command(data.command)}${because(data.reason)}`;
    case 'item/fileChange/requestApproval':
      return `asks to edit files${because(data.reason)}`;
    case 'item/permissions/requestApproval':
      return `asks for more rights${because(data.reason)}`;
    case 'item/tool/requestUserInput':
      return `asks: ${line(fieldsOf(listOf(data.questions)[0]).question) || 'something'}`;
    case 'mcpServer/elicitation/request':
      return `asks for ${line(data.serverName) || 'an MCP server'}${because(data.message)}`;
    default:
      return null;
  }
}

/** The answer by policy; without one, a person is asked. */
function answered(answer: unknown): string {
  if (answer === 'decline') return ' (declined)';
  return answer === undefined || answer === 'ask' ? ' (waits for a person)' : '';
}

/** How a run ended, in a few words, on one line. */
export function describeOutcome(outcome: Outcome): string {
  const turns = outcome.meta.turns === undefined ? '' : ` after ${counted(outcome.meta.turns, 'turn')}`;
  if (outcome.state === 'success') {
    const { stop_reason: reason, usage } = fieldsOf(outcome.output);
    return `${reason === 'max_turns' ? 'used up its turns' : OUTCOME_TEXTS.success}${turns}${tokens(fieldsOf(outcome.meta.usage ?? usage))}`;
  }
  const { code, message } = outcome.error;
  return line(`${OUTCOME_TEXTS[outcome.state]}${because(message)} (${code})`, MAX_CHARS);
}

const MAX_CHARS = 300;

/** Tokens as budgets count them: uncached input and output. */
function tokens({ input, cached, output }: Fields): string {
  if (![input, cached, output].every(Number.isSafeInteger)) return '';
  const spent = Number(input) - Number(cached) + Number(output);
  return `, ${formatTokens(spent)} tokens`;
}
