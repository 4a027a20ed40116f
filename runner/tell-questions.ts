import type { Json } from '../src/domain/json.js';
import type { Answer, Question } from '../src/domain/question.js';

/** What an agent asks, for the transcript. `text` is what people read of it. */
export function askedEntry({ id, kind, text, fields }: Question): Json {
  return { question_id: id, kind, text, fields: fields.map((field) => ({ ...field, options: [...field.options] })) };
}

/** What was answered to what, for the transcript. */
export function answeredEntry(question: Question, answer: Answer): Json {
  return {
    question_id: question.id,
    question: question.text,
    by: isLate(answer) ? 'timeout' : 'person',
    decision: answer.kind,
    values: answer.kind === 'input' ? { ...answer.values } : {},
    text: wordsOf(question, answer),
  };
}

function wordsOf({ fields }: Question, answer: Answer): string {
  switch (answer.kind) {
    case 'accept':
      return 'yes';
    case 'decline':
      return isLate(answer) ? 'no, because nobody answered in time' : 'no';
    case 'input': {
      const label = (id: string) => fields.find((field) => field.id === id)?.label || id;
      const entries = Object.entries(answer.values);
      const [only] = entries;
      if (only && entries.length === 1) return only[1];
      return entries.map(([id, value]) => `${label(id)}: ${value}`).join('\n');
    }
  }
}

function isLate(answer: Answer): boolean {
  return answer.kind === 'decline' && answer.isLate === true;
}
