import type { QuestionView } from '../../api/schemas.js';

type Field = QuestionView['fields'][number];

/** The choice of a free text instead of an option. */
export const OTHER = 'other';

export const draftOf = (question: Pick<QuestionView, 'id'>): string => `answer/${question.id}/`;
export const choiceKey = (question: QuestionView, field: Field): string => `${draftOf(question)}choice/${field.id}`;
export const textKey = (question: QuestionView, field: Field): string => `${draftOf(question)}text/${field.id}`;

/** The current answer, by field. */
export function valuesOf(question: QuestionView, drafts: Pick<Drafts, 'get'>): { [fieldId: string]: string } {
  return Object.fromEntries(question.fields.map((field) => [field.id, answerTo(question, field, drafts)]));
}

function answerTo(question: QuestionView, field: Field, drafts: Pick<Drafts, 'get'>): string {
  const choice = drafts.get(choiceKey(question, field));
  if (field.options.length === 0 || choice === OTHER) return drafts.get(textKey(question, field)).trim();
  return choice === '' ? '' : (field.options[Number(choice)] ?? '');
}

/** Text that is not sent yet. It is stored outside the components, so that live updates and other views do not lose it. It ends with the page. */
export class Drafts {
  readonly #texts = new Map<string, string>();

  get(key: string): string {
    return this.#texts.get(key) ?? '';
  }

  set(key: string, text: string): void {
    if (text === '') this.#texts.delete(key);
    else this.#texts.set(key, text);
  }

  /** Removes the drafts of one question or issue. */
  drop(prefix: string): void {
    for (const key of [...this.#texts.keys()]) if (key.startsWith(prefix)) this.#texts.delete(key);
  }

  has(prefix: string): boolean {
    return [...this.#texts.keys()].some((key) => key.startsWith(prefix));
  }
}
