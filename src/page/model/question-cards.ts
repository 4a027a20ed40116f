import type { AskingView, ParkedView, QuestionView, StateView } from '../../api/schemas.js';

/** One question to answer. */
export interface QuestionCard {
  readonly need: Need;
  readonly question: QuestionView;
  /** `false`: it is no longer open, and stays only so that the next card does not move under the pointer. */
  readonly isOpen: boolean;
}

/**
 * The cards to show after `shown`. While `isHeld` (pointer or focus on a card) no card moves: closed cards stay, new ones are appended.
 * `keeps`: closed cards that stay in any case, because they contain a draft.
 */
export function cardsAfter(
  shown: readonly QuestionCard[],
  needs: readonly Need[],
  isHeld: boolean,
  keeps: (question: QuestionView) => boolean,
): QuestionCard[] {
  const open = needs.flatMap((need) => need.questions.map((question) => ({ need, question, isOpen: true })));
  const byId = new Map(open.map((card) => [card.question.id, card]));
  const stay = shown.flatMap((card): QuestionCard[] => {
    const now = byId.get(card.question.id);
    if (now) return isHeld ? [now] : [];
    return isHeld || keeps(card.question) ? [{ ...card, isOpen: false }] : [];
  });
  const known = new Set(stay.map((card) => card.question.id));
  return [...stay, ...open.filter((card) => !known.has(card.question.id))];
}

/** An issue with open questions. */
export interface Need {
  readonly issue: Pick<AskingView, 'issue_id' | 'issue_identifier' | 'issue_url' | 'title' | 'state'>;
  readonly questions: readonly QuestionView[];
  readonly since: string | null;
  /** The waiting run; `null`: the issue is parked and waits without a limit. */
  readonly run: { readonly until: string | null; readonly onTimeout: AskingView['on_timeout'] } | null;
}

/** Waiting runs first, because their time is limited; then by age. */
export function needsOf(state: Pick<StateView, 'asking' | 'parked'>): Need[] {
  const asking = state.asking.map(askingNeed).filter(({ questions }) => questions.length > 0);
  const known = new Set(asking.map(({ issue }) => issue.issue_id));
  const parked = state.parked
    .flatMap((entry) => parkedNeed(entry) ?? [])
    .filter(({ issue }) => !known.has(issue.issue_id));
  return [...asking.sort(bySince), ...parked.sort(bySince)];
}

export function askingNeed(entry: AskingView): Need {
  const run = { until: entry.answer_until, onTimeout: entry.on_timeout };
  return { issue: entry, questions: entry.questions, since: entry.asked_at, run };
}

export function parkedNeed(entry: ParkedView): Need | null {
  return entry.question && { issue: entry, questions: [entry.question], since: entry.since, run: null };
}

/** The text above the fields of a question: without the lines that are labels of the fields. */
export function introOf({ text, fields }: QuestionView): string {
  const labels = new Set(fields.map(({ label }) => label.trim()));
  return text
    .split('\n')
    .filter((line) => !labels.has(line.trim()))
    .join('\n')
    .trim();
}

/** The title of the tab: `(2) Baton`. */
export function pageTitle(needs: number, place: string | null): string {
  const name = place === null ? 'Baton' : `${place} · Baton`;
  return needs === 0 ? name : `(${needs}) ${name}`;
}

function bySince(a: Need, b: Need): number {
  return (a.since ?? '').localeCompare(b.since ?? '') || a.issue.issue_id.localeCompare(b.issue.issue_id);
}
