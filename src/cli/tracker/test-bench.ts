import { type Fields, fieldsOf, textOf } from '../../domain/fields.js';
import type { JsonObject } from '../../domain/json.js';
import type { Description } from '../../tracker/command/read-result.js';
import type { Conversation, Heard } from './conversation.js';
import type { Exchange, ExchangeRequest } from './exchange.js';
import { fail, type Said, type Verdict } from './verdict.js';

/** One thing that a tracker program is held to. */
export interface Check {
  /** What a good one does, as a sentence without its subject. */
  readonly law: string;
  see(bench: TestBench): Promise<Verdict>;
}

/** A program on its stand, and what the checks so far have found out about it. */
export interface TestBench {
  readonly talk: Conversation;
  /** In a process of its own; `limitMs` is that of all answers where it is absent. */
  exchange(request: BenchRequest): Promise<Exchange>;
  readonly limitMs: number;
  readonly states: readonly string[];
  /** An issue that may be changed. */
  readonly writeId: string | null;
  /** The records that came, as they came. */
  records: readonly Fields[];
  description: Description | null;
  /** How a process that had answered once went when its stdin ended. */
  parting: Exchange | null;
}

export type BenchRequest = Pick<ExchangeRequest, 'deliver' | 'until' | 'isWatched'> &
  Partial<Pick<ExchangeRequest, 'limitMs'>>;

export const NO_ISSUES = 'no issue came in the states that were asked for; name others with --states';

/** Ends the check where there is no result. */
export function resultIn(heard: Heard): Fields {
  const { answer } = heard;
  if (typeof answer === 'string') return fail(answer, adviceFor(answer), heard);
  if (answer.kind === 'result') return answer.result;
  const { code, message } = answer.error;
  const why = `answered with the error ${code}${message === null ? '' : ` (${message})`}`;
  return fail(why, 'It must answer this with a result.', heard);
}

/** The same where it need not know the question: `null`. */
export function optionalResultIn(heard: Heard): Fields | null {
  const { answer } = heard;
  return isUnsupported(answer) ? null : resultIn(heard);
}

export function isUnsupported(answer: Heard['answer']): boolean {
  return typeof answer !== 'string' && answer.kind === 'error' && answer.error.code === 'unsupported';
}

/** The records in a result. */
export function listIn(result: Fields, key: 'issues' | 'comments', said: Said): readonly Fields[] {
  const list = result[key];
  if (Array.isArray(list)) return list.map((each: unknown) => fieldsOf(each));
  const action = `Answer {"id": …, "result": {"${key}": […]}}; where there are none, the list is empty.`;
  return fail(`answered without a list \`${key}\` in its result`, action, said);
}

export async function askForIssues(
  bench: TestBench,
  method: 'issues_by_states' | 'issues_by_ids',
  params: JsonObject,
): Promise<{ readonly heard: Heard; readonly records: readonly Fields[] }> {
  const heard = await bench.talk.ask(method, params);
  return { heard, records: listIn(resultIn(heard), 'issues', heard) };
}

/** As Baton reads it: trackers count ids, and so a whole number is as good as its digits. */
export function wordIn(record: Fields, field: 'id' | 'identifier' | 'state'): string {
  const value = record[field];
  return Number.isSafeInteger(value) ? String(value) : (textOf(value)?.trim() ?? '');
}

function adviceFor(problem: string): string {
  if (problem.startsWith('did not answer')) {
    return 'Answer every line with one line, and flush stdout after it: to a pipe most languages write only when a buffer is full.';
  }
  if (/\bbefore it had answered|in the middle/.test(problem)) {
    return 'It may exit after an answer, not before: look at its stderr for why it does.';
  }
  return 'Write nothing but answers to stdout, one JSON object on a line, with the id of the request; write everything else to stderr.';
}
