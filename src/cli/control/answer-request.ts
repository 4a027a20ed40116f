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

export function isGiven({ text, accept, decline, fields }: GivenAnswer): boolean {
  return text !== undefined || accept || decline || fields.length > 0;
}

/** The answer as the daemon takes it, or what is wrong with it. Pure. */
export function requestOf(given: GivenAnswer, question: QuestionView): AnswerRequest | { readonly problem: string } {
  const { text, accept, decline, fields } = given;
  const id = { question_id: question.id };
  if (text !== undefined && (accept || decline || fields.length > 0))
    return { problem: `either "${text}" or a flag, not both` };
  if (accept) return { ...id, decision: 'accept' };
  if (decline) return { ...id, decision: 'decline' };
  if (text !== undefined) return fromText(text, question);
  const values: [string, string][] = [];
  for (const pair of fields) {
    const at = pair.indexOf('=');
    if (at < 1) return { problem: `--field wants id=value, not "${pair}"` };
    values.push([pair.slice(0, at), pair.slice(at + 1)]);
  }
  const twice = values.find(([name], index) => values.findIndex(([other]) => other === name) !== index);
  if (twice) return { problem: `the field ${twice[0]} is given twice` };
  return { ...id, values: Object.fromEntries(values) };
}

const YES = ['yes', 'y', 'accept', 'ok'];
const NO = ['no', 'n', 'decline'];

function fromText(text: string, question: QuestionView): AnswerRequest | { readonly problem: string } {
  const id = { question_id: question.id };
  if (question.kind === 'approval') {
    const word = text.trim().toLowerCase();
    if (YES.includes(word)) return { ...id, decision: 'accept' };
    if (NO.includes(word)) return { ...id, decision: 'decline' };
    return { problem: `this question wants ${waysToAnswer(question)}` };
  }
  const [only, ...others] = question.fields;
  if (only && others.length === 0) return { ...id, values: { [only.id]: text } };
  return { problem: `this question has ${question.fields.length} blanks: ${waysToAnswer(question)}` };
}
