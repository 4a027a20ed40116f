import type { QuestionView } from '../../api/schemas.js';

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

/**
 * What somebody has begun to write and not sent: kept outside of what is drawn, so that neither a live update nor a look at another view
 * loses it. It ends with the page.
 */
export class Drafts {
  readonly #texts = new Map<string, string>();

  get(key: string): string {
    return this.#texts.get(key) ?? '';
  }

  set(key: string, text: string): void {
    if (text === '') this.#texts.delete(key);
    else this.#texts.set(key, text);
  }

  /** Everything that was written for one question or issue. */
  drop(prefix: string): void {
    for (const key of [...this.#texts.keys()]) if (key.startsWith(prefix)) this.#texts.delete(key);
  }

  has(prefix: string): boolean {
    return [...this.#texts.keys()].some((key) => key.startsWith(prefix));
  }
}
