import { useEffect, useRef, useState } from 'preact/hooks';
import { draftOf } from '../model/answer-draft.js';
import type { Need } from '../model/needs-you.js';
import { cardsAfter, type QuestionCard } from '../model/question-cards.js';
import { useSession } from './session.js';

interface Held {
  readonly cards: readonly QuestionCard[];
  /** For the element around the cards: says while somebody points at them or has the focus in them. */
  readonly holder: {
    onPointerEnter(): void;
    onPointerLeave(): void;
    onFocusIn(): void;
    onFocusOut(event: FocusEvent): void;
  };
  hide(id: string): void;
}

/** What closes the moment somebody turns away would slide the next thing under a pointer that is on its way. */
const LINGER_MS = 3_000;

export function useQuestionCards(needs: readonly Need[]): Held {
  const { drafts } = useSession();
  const shown = useRef<readonly QuestionCard[]>([]);
  const hidden = useRef(new Set<string>());
  const [isPointed, setPointed] = useLingering();
  const [hasFocus, setFocus] = useLingering();
  const [, draw] = useState(0);
  const keeps = ({ id }: { readonly id: string }) => !hidden.current.has(id) && drafts.has(draftOf({ id }));
  const cards = cardsAfter(shown.current, needs, isPointed || hasFocus, keeps).filter(
    (card) => card.isOpen || !hidden.current.has(card.question.id),
  );
  shown.current = cards;
  return {
    cards,
    holder: {
      onPointerEnter: () => setPointed(true),
      onPointerLeave: () => setPointed(false),
      onFocusIn: () => setFocus(true),
      onFocusOut: (event) => {
        const { currentTarget, relatedTarget } = event;
        if (!(currentTarget instanceof Node) || !(relatedTarget instanceof Node)) setFocus(false);
        else if (!currentTarget.contains(relatedTarget)) setFocus(false);
      },
    },
    hide(id) {
      hidden.current.add(id);
      drafts.drop(draftOf({ id }));
      draw((count) => count + 1);
    },
  };
}

/** `true` at once, `false` only after a while. */
function useLingering(): [boolean, (value: boolean) => void] {
  const [value, setValue] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const set = (next: boolean) => {
    clearTimeout(timer.current);
    if (next) setValue(true);
    else timer.current = setTimeout(() => setValue(false), LINGER_MS);
  };
  return [value, set];
}
