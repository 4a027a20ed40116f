/** Something an agent asks a person. */
export interface Question {
  /** Unique among all runs: an answer that comes late finds no other question. */
  readonly id: string;
  readonly kind: 'approval' | 'input';
  /** What is asked, for a person: the command, the diff, the question's text. */
  readonly text: string;
  readonly fields: readonly QuestionField[];
}

/** One blank of an `input` question; an `approval` has none. */
export interface QuestionField {
  readonly id: string;
  readonly label: string;
  readonly options: readonly string[];
}

export type Answer =
  | { readonly kind: 'accept' }
  /** `isLate`: nobody answered in time, and the workflow says no then. */
  | { readonly kind: 'decline'; readonly isLate?: true }
  /** By field id. */
  | { readonly kind: 'input'; readonly values: { readonly [fieldId: string]: string } };
