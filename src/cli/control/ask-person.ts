import { neutralise } from '../../domain/neutralise.js';
import type { QuestionView } from '../../status/shapes/entry-shapes.js';
import type { AnswerRequest } from '../../status/shapes/request-shapes.js';
import { Abandoned, openQuestions, type Questions } from '../init/ask.js';
import type { Io } from '../io.js';

/** What Enter alone means: nobody says yes by accident. */
const LATER = 'leave it open';

/** Asks the person at the terminal; `null`: they leave it open. */
export async function askPerson(question: QuestionView, io: Io): Promise<AnswerRequest | null> {
  const questions = openQuestions(io);
  try {
    return question.kind === 'approval' ? await decide(question, questions) : await fillIn(question, questions, io);
  } catch (error) {
    if (error instanceof Abandoned) return null;
    throw error;
  } finally {
    questions.close();
  }
}

async function decide({ id }: QuestionView, questions: Questions): Promise<AnswerRequest | null> {
  for (;;) {
    const word = (await questions.ask('Accept or decline?', LATER)).toLowerCase();
    if (word === LATER) return null;
    if (/^(a|accept|y|yes)$/.test(word)) return { question_id: id, decision: 'accept' };
    if (/^(d|decline|n|no)$/.test(word)) return { question_id: id, decision: 'decline' };
  }
}

async function fillIn({ id, fields }: QuestionView, questions: Questions, io: Io): Promise<AnswerRequest | null> {
  const first = await questions.ask('Answer or decline?', 'answer');
  if (/^(d|decline|n|no)$/i.test(first)) return { question_id: id, decision: 'decline' };
  const values: [string, string][] = [];
  for (const { id: field, label, options } of fields) {
    io.stdout.write(options.map((option, index) => `  ${index + 1}  ${neutralise(option)}\n`).join(''));
    const how = options.length === 0 ? '' : ' (a number, or your own words)';
    const given = await questions.ask(`${neutralise(label === '' ? field : label)}${how}`, LATER);
    if (given === LATER) return null;
    values.push([field, options[Number(given) - 1] ?? given]);
  }
  return { question_id: id, values: Object.fromEntries(values) };
}
