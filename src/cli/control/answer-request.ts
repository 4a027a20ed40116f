import { neutralise } from '../../text/neutralise.js';
import type { QuestionView } from '../../status/shapes/entry-shapes.js';
import type { AnswerRequest } from '../../status/shapes/request-shapes.js';
import { waysToAnswer } from './tell-question.js';

/** What a person gave on the command line. */
export interface GivenAnswer {
  readonly text: string | undefined;
  readonly accept: boolean;
  readonly decline: boolean;
  /** Each `id=value`. */
  readonly fields: readonly string[];
}

interface Problem {
  readonly problem: string;
}

export function isGiven({ text, accept, decline, fields }: GivenAnswer): boolean {
  return text !== undefined || accept || decline || fields.length > 0;
}

/** The answer as the daemon takes it, or what is wrong with it and what to type instead. Pure. */
export function requestOf(given: GivenAnswer, question: QuestionView): AnswerRequest | Problem {
  const { text, accept, decline, fields } = given;
  const id = { question_id: question.id };
  if (text !== undefined && (accept || decline || fields.length > 0))
    return { problem: `either "${text}" or a flag, not both` };
  // To decline is always possible: the agent goes on without.
  if (decline) return { ...id, decision: 'decline' };
  if (question.kind === 'approval') return fields.length > 0 ? wanting(question) : decisionOf(text, accept, question);
  if (accept && question.fields.length === 0) return { ...id, values: {} };
  if (accept) return { problem: `this question wants words, not a yes: ${waysToAnswer(question)}` };
  return text === undefined ? fromPairs(fields, question) : fromText(text, question);
}

const YES = ['yes', 'y', 'accept', 'ok'];
const NO = ['no', 'n', 'decline'];

function decisionOf(text: string | undefined, accept: boolean, question: QuestionView): AnswerRequest | Problem {
  const word = text?.trim().toLowerCase();
  if (accept || (word !== undefined && YES.includes(word))) return { question_id: question.id, decision: 'accept' };
  return word !== undefined && NO.includes(word)
    ? { question_id: question.id, decision: 'decline' }
    : wanting(question);
}

function fromText(text: string, question: QuestionView): AnswerRequest | Problem {
  const [only, ...others] = question.fields;
  if (only && others.length === 0) return filled([[only.id, text]], question);
  return { problem: `this question has ${question.fields.length} blanks: ${waysToAnswer(question)}` };
}

function fromPairs(pairs: readonly string[], question: QuestionView): AnswerRequest | Problem {
  const values: [string, string][] = [];
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1) return { problem: `--field wants id=value, not "${pair}"` };
    values.push([pair.slice(0, at), pair.slice(at + 1)]);
  }
  const twice = values.find(([name], index) => values.findIndex(([other]) => other === name) !== index);
  if (twice) return { problem: `the field ${twice[0]} is given twice` };
  return filled(values, question);
}

/** Every blank, and no other; to say nothing is to decline, and that is said as such. */
function filled(values: readonly [string, string][], question: QuestionView): AnswerRequest | Problem {
  const ids = question.fields.map(({ id }) => id);
  const unknown = values.find(([name]) => !ids.includes(name));
  if (unknown) return { problem: `there is no field ${unknown[0]}; this question wants ${waysToAnswer(question)}` };
  const empty = values.find(([, value]) => value.trim() === '');
  if (empty) return { problem: `${neutralise(empty[0])} is empty; give an answer or --decline` };
  const missing = ids.filter((id) => !values.some(([name]) => name === id));
  if (missing.length > 0) return { problem: `not answered: ${missing.join(', ')}; give ${waysToAnswer(question)}` };
  return { question_id: question.id, values: Object.fromEntries(values) };
}

function wanting(question: QuestionView): Problem {
  return { problem: `this question wants ${waysToAnswer(question)}` };
}
