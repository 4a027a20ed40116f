import { neutralise } from '../../text/neutralise.js';
import type { QuestionView } from '../../status/shapes/entry-shapes.js';
import type { AnswerRequest } from '../../status/shapes/request-shapes.js';
import { Abandoned, openQuestions, type Questions } from '../ask.js';
import type { Io } from '../io.js';

/** What Enter alone means: nobody says yes by accident. */
const LATER = 'leave it open';
/** The same where something has been said already that Enter must not throw away. */
const HOW_TO_LEAVE = 'Ctrl-D leaves all of it open';

/** Asks the person at the terminal; `null`: they leave it open. */
export async function askPerson(question: QuestionView, io: Io): Promise<AnswerRequest | null> {
  const questions = openQuestions(io);
  try {
    const isYesOrNo = question.kind === 'approval' || question.fields.length === 0;
    return isYesOrNo ? await decide(question, questions, io) : await fillIn(question, questions, io);
  } catch (error) {
    if (!(error instanceof Abandoned)) throw error;
    // What is said next begins on a line of its own, not behind the prompt.
    io.stdout.write('\n');
    return null;
  } finally {
    questions.close();
  }
}

async function decide({ id, kind }: QuestionView, questions: Questions, io: Io): Promise<AnswerRequest | null> {
  const yes: AnswerRequest =
    kind === 'approval' ? { question_id: id, decision: 'accept' } : { question_id: id, values: {} };
  for (;;) {
    const word = await questions.ask('Accept or decline?', LATER);
    if (word === LATER) return null;
    if (/^(a|accept|y|yes)$/i.test(word)) return yes;
    if (/^(d|decline|n|no)$/i.test(word)) return { question_id: id, decision: 'decline' };
    io.stdout.write(`  "${neutralise(word)}" is neither: a(ccept) or d(ecline); Enter leaves it open\n`);
  }
}

/** The first blank takes the first thing that is typed: nobody is asked whether they want to answer. */
async function fillIn({ id, fields }: QuestionView, questions: Questions, io: Io): Promise<AnswerRequest | null> {
  const values: [string, string][] = [];
  for (const field of fields) {
    const given = await fillOne(field, values.length > 0, questions, io);
    if (given === null) return null;
    if (given === DECLINED) return { question_id: id, decision: 'decline' };
    values.push([field.id, given.text]);
  }
  return { question_id: id, values: Object.fromEntries(values) };
}

const DECLINED = 'declined';
type Field = QuestionView['fields'][number];

async function fillOne(
  { id, label, options }: Field,
  isLater: boolean,
  questions: Questions,
  io: Io,
): Promise<{ readonly text: string } | typeof DECLINED | null> {
  io.stdout.write(options.map((option, index) => `  ${index + 1}  ${neutralise(option)}\n`).join(''));
  const how = options.length === 0 ? '(d declines)' : '(a number or your own words; d declines)';
  const prompt = `${neutralise(label === '' ? id : label)} ${how}`;
  const nothing = isLater ? HOW_TO_LEAVE : LATER;
  for (;;) {
    const given = await questions.ask(prompt, nothing);
    if (given !== nothing) {
      // An option may be called d.
      const isOption = options.includes(given);
      if (!isOption && /^(d|decline)$/i.test(given)) return DECLINED;
      return { text: isOption ? given : (options[Number(given) - 1] ?? given) };
    }
    if (!isLater) return null;
    io.stdout.write('  An answer is needed here: what you said so far is kept\n');
  }
}
