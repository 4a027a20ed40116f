import type { QuestionView } from '../../status/shapes/entry-shapes.js';
import type { Need } from './needs-you.js';

/** One question to answer. */
export interface QuestionCard {
  readonly need: Need;
  readonly question: QuestionView;
  /** `false`: nobody waits for it any more, and it only stays where it is so that the next one does not slide under the pointer. */
  readonly isOpen: boolean;
}

/**
 * The cards to show after `shown`. While `isHeld` (somebody points at one, or has the focus in one) no card moves: those that are gone stay
 * as closed ones, new ones come behind. `keeps`: closed cards that stay in any case, as somebody has written into them.
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
