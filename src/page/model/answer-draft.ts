import type { QuestionView } from '../../status/shapes/entry-shapes.js';
import type { Drafts } from './drafts.js';

type Field = QuestionView['fields'][number];

/** The choice that stands for "none of these: I write it myself". */
export const OTHER = 'other';

export const draftOf = (question: Pick<QuestionView, 'id'>): string => `answer/${question.id}/`;
export const choiceKey = (question: QuestionView, field: Field): string => `${draftOf(question)}choice/${field.id}`;
export const textKey = (question: QuestionView, field: Field): string => `${draftOf(question)}text/${field.id}`;

/** What would be sent now, by field. */
export function valuesOf(question: QuestionView, drafts: Pick<Drafts, 'get'>): { [fieldId: string]: string } {
  return Object.fromEntries(question.fields.map((field) => [field.id, answerTo(question, field, drafts)]));
}

function answerTo(question: QuestionView, field: Field, drafts: Pick<Drafts, 'get'>): string {
  const choice = drafts.get(choiceKey(question, field));
  if (field.options.length === 0 || choice === OTHER) return drafts.get(textKey(question, field)).trim();
  return choice === '' ? '' : (field.options[Number(choice)] ?? '');
}
