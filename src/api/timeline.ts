import { type Fields, fieldsOf, listOf, textOf } from '../domain/json.js';
import type { Outcome } from '../domain/outcome.js';
import { RUNTIME_EVENT_TYPES, type RuntimeEvent } from '../domain/run-signal.js';
import { neutraliseLines } from '../text/neutralise.js';
import { AFTER_RUN_FAILED } from '../text/outcomes.js';
import { because, line, took } from '../text/phrases.js';
import { describeOutcome, isPassing, sentenceOf } from '../text/run-sentences.js';
import type { PlanStep, TimelineEntry } from './schemas.js';

/** One line of a transcript. */
export interface TranscriptLine {
  /** UTC, ISO 8601. */
  readonly time: string;
  readonly kind: string;
  readonly data: unknown;
}

const MAX_DETAIL = 8_000;
const EVENT_TYPES: ReadonlySet<string> = new Set(RUNTIME_EVENT_TYPES);

/** The entry of a line; null for a line that users do not need to read. */
export function timelineEntry({ time, kind, data }: TranscriptLine): TimelineEntry | null {
  const entry = EVENT_TYPES.has(kind)
    ? eventEntry({ ...fieldsOf(data), type: kind } as RuntimeEvent)
    : recordEntry(kind, data);
  return entry && { at: time, detail: null, ...entry };
}

/** The plan of the agent, when this line has one. */
export function planOf({ kind, data }: TranscriptLine): PlanStep[] | null {
  const event = fieldsOf(data);
  if (kind !== 'notification' || event.method !== 'turn/plan/updated') return null;
  return listOf(fieldsOf(event.data).plan)
    .filter((step) => typeof step === 'object')
    .map(fieldsOf)
    .map(({ step, status }) => ({ step: line(step, 300), status: isStatus(status) ? status : 'pending' }));
}

/** All changes of the turn so far as one diff, when this line has one. */
export function diffOf({ kind, data }: TranscriptLine): string | null {
  const event = fieldsOf(data);
  if (kind !== 'notification' || event.method !== 'turn/diff/updated') return null;
  const { diff } = fieldsOf(event.data);
  return typeof diff === 'string' ? neutraliseLines(diff) : null;
}

type Detail = Pick<TimelineEntry, 'detail' | 'detail_omitted'>;
type EntryText = Pick<TimelineEntry, 'kind' | 'text'> & Partial<Detail>;

const PROBLEMS: ReadonlySet<string> = new Set([
  'startup_failed',
  'turn_failed',
  'turn_ended_with_error',
  'unsupported_tool_call',
]);

function eventEntry(event: RuntimeEvent): EntryText | null {
  // A question to a person has a separate record: `asked`.
  if (isPassing(event) || isAskedOfPerson(event)) return null;
  const text = sentenceOf(event);
  if (text === null) return null;
  const isQuestion =
    event.type === 'turn_input_required' || /request(?:Approval|UserInput)$/.test(String(event.method));
  const kind = isQuestion ? 'question' : PROBLEMS.has(event.type) ? 'problem' : 'agent';
  return { kind, text, ...detailOf(fieldsOf(fieldsOf(event.data).item)) };
}

function isAskedOfPerson({ method, data }: RuntimeEvent): boolean {
  const answered = fieldsOf(data).answered ?? 'ask';
  return answered === 'ask' && /request(?:Approval|UserInput)$|elicitation\/request$/.test(String(method));
}

/** What does not fit on the line: the whole message or comment, or the output of a command. */
function detailOf(item: Fields): Detail {
  const { comment, comment_omitted } = fieldsOf(item.arguments);
  switch (item.type) {
    case 'dynamicToolCall':
      return block(comment, 120, comment_omitted);
    case 'agentMessage':
      return block(item.text, 120, item.text_omitted);
    case 'commandExecution':
      return block(item.aggregatedOutput, 0, item.aggregatedOutput_omitted);
    default:
      return NO_DETAIL;
  }
}

function recordEntry(kind: string, data: unknown): EntryText | null {
  const fields = fieldsOf(data);
  switch (kind) {
    case 'run_began':
      return { kind: 'run', text: `run ${line(String(fields.number))} began${reasonOf(fields.reason)}` };
    case 'closing_began':
      return { kind: 'run', text: 'the daemon was restarted and closes this run' };
    case 'run_ended':
      return { kind: 'run', text: `the run ${endOf(fields)}` };
    case 'prompt':
      return { kind: 'agent', text: 'received its prompt', ...block(data, 0) };
    case 'stderr':
      return { kind: 'problem', text: `wrote to stderr${because(data)}`, ...block(data, 120) };
    case 'hook':
      return hookEntry(fields);
    case 'step_started':
      if (fields.skipped === true) return null;
      return { kind: 'step', text: `step ${line(fields.step)} (${line(fields.kind)}) began` };
    case 'step_finished':
      return { kind: 'step', text: `step ${line(fields.step)} ${stepEnd(fields.outcome)}${took(fields.duration_ms)}` };
    case 'asked':
      return { kind: 'question', text: `asks a person${because(fields.text)}`, ...block(fields.text, 120) };
    case 'answered': {
      if (fields.by === 'timeout') return { kind: 'question', text: 'no answer in time: declined' };
      return { kind: 'question', text: `a person answered${because(fields.text)}`, ...block(fields.text, 120) };
    }
    case 'unheard':
      return { kind: 'problem', text: `did not receive a message of a person${because(fields.text)}` };
    case 'message':
      return {
        kind: 'question',
        text: `a person sent a message${because(fields.text)}`,
        ...block(fields.text, 120),
      };
    case 'gap':
    case 'cut':
      return { kind: 'problem', text: 'some lines of the transcript are missing here' };
    default:
      return null;
  }
}

const HOOK_ENDS = new Map<unknown, string>([
  ['ok', 'finished'],
  ['held', 'finished, but its push waits for a person'],
]);

function hookEntry({ hook, outcome, duration_ms: durationMs, message, stdout, stderr }: Fields): EntryText {
  const end = HOOK_ENDS.get(outcome) ?? `failed${because(message)}`;
  const output = [stdout, stderr]
    .map((part) => (typeof part === 'string' ? part.trim() : ''))
    .filter((part) => part !== '');
  const text = `hook ${line(hook)} ${end}${took(durationMs)}`;
  return { kind: 'hook', text, ...block(output.join('\n'), 0) };
}

function endOf(outcome: Fields): string {
  const isOutcome = typeof outcome.state === 'string' && typeof outcome.meta === 'object' && outcome.meta !== null;
  if (!isOutcome) return 'ended';
  const { afterRunFailed } = fieldsOf(outcome.meta);
  const end = describeOutcome(outcome as unknown as Outcome);
  return afterRunFailed === true ? `${end}, but ${AFTER_RUN_FAILED}` : end;
}

function stepEnd(outcome: unknown): string {
  if (outcome === 'skipped') return 'was skipped';
  const { state, error } = fieldsOf(outcome);
  return state === 'success' ? 'finished' : `failed${because(fieldsOf(error).message)}`;
}

function reasonOf(reason: unknown): string {
  return reason === 'first' || textOf(reason) === null ? '' : ` (${line(reason)})`;
}

const NO_DETAIL: Detail = { detail: null };

/** Several lines, bounded; without a detail when the text on the line is complete. `omitted`: the characters that were cut before. */
function block(value: unknown, fits: number, omitted: unknown = 0): Detail {
  if (typeof value !== 'string') return NO_DETAIL;
  const text = value.trim();
  if (text === '' || (text.length <= fits && !text.includes('\n'))) return NO_DETAIL;
  const cut = Math.max(0, text.length - MAX_DETAIL);
  const detail = neutraliseLines(cut === 0 ? text : `${text.slice(0, MAX_DETAIL)}\n… (${cut} more characters)`);
  const missing = cut + (Number.isSafeInteger(omitted) ? Math.max(0, omitted as number) : 0);
  return missing === 0 ? { detail } : { detail, detail_omitted: missing };
}

function isStatus(status: unknown): status is PlanStep['status'] {
  return status === 'pending' || status === 'inProgress' || status === 'completed';
}
