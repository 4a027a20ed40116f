import { useEffect, useRef, useState } from 'preact/hooks';
import { formatTimeLeft } from '../../text/format-time.js';
import { AnswerBox } from '../components/answer-box.js';
import { Ago, IssueName } from '../components/controls.js';
import { useSession } from '../components/session.js';
import { useTicking } from '../components/ticker.js';
import { draftOf } from '../model/answer-draft.js';
import { cardsAfter, type Need, type QuestionCard } from '../model/question-cards.js';
import { Section } from './lists.js';

/** Open questions, with the fields to answer them. */
export function NeedsYou({ needs }: { readonly needs: readonly Need[] }) {
  const count = needs.reduce((sum, need) => sum + need.questions.length, 0);
  return (
    <Section id="needs-you" title="Needs you" count={count} isUrgent={count > 0}>
      <QuestionCards needs={needs} withName={true}>
        <p class="calm">Nothing needs you.</p>
      </QuestionCards>
    </Section>
  );
}

interface QuestionCardsProps {
  readonly needs: readonly Need[];
  /** Whether to name the issue. */
  readonly withName: boolean;
  /** Shown without questions. */
  readonly children?: preact.ComponentChildren;
}

export function QuestionCards({ needs, withName, children }: QuestionCardsProps) {
  const { cards, holder, hide } = useQuestionCards(needs);
  const box = useRef<HTMLDivElement>(null);
  const hideAndStay = (id: string) => {
    hide(id);
    box.current?.closest('section')?.querySelector<HTMLElement>('h2')?.focus();
  };
  return (
    <div ref={box} class="cards" {...holder}>
      {cards.length === 0 ? children : null}
      {cards.map((card) => (
        <Card key={card.question.id} card={card} withName={withName} onHide={() => hideAndStay(card.question.id)} />
      ))}
    </div>
  );
}

function Card({ card, withName, onHide }: { readonly card: QuestionCard; readonly withName: boolean; onHide(): void }) {
  const { need, question, isOpen } = card;
  return (
    <article class={isOpen ? 'card asks' : 'card'} tabIndex={-1} aria-label={`${need.issue.issue_identifier} asks`}>
      {withName ? (
        <h3 class="card-title">
          <IssueName issue={need.issue} />
        </h3>
      ) : null}
      {isOpen ? <Patience need={need} isApproval={question.kind === 'approval'} /> : null}
      <AnswerBox identifier={need.issue.issue_identifier} question={question} isOpen={isOpen} onHide={onHide} />
    </article>
  );
}

/** How long it has waited, how long it still waits, and what happens then. */
function Patience({ need: { since, run }, isApproval }: { readonly need: Need; readonly isApproval: boolean }) {
  const left = useTicking((now) => formatTimeLeft(run?.until ?? null, now));
  const what = isApproval ? 'Asked for your approval' : 'Asked you';
  const then = run?.onTimeout === 'decline' ? 'it counts as declined' : 'it is parked and can still be answered';
  return (
    <p class="patience">
      {what} <Ago at={since} />
      {run === null
        ? '. It is parked: nothing runs until you answer.'
        : left === null
          ? `. Its time is up: ${then}.`
          : `. Waits ${left} more, then ${then}.`}
    </p>
  );
}

interface Held {
  readonly cards: readonly QuestionCard[];
  /** For the element around the cards: reports pointer and focus. */
  readonly holder: {
    onPointerEnter(): void;
    onPointerLeave(): void;
    onFocusIn(): void;
    onFocusOut(event: FocusEvent): void;
  };
  hide(id: string): void;
}

/** A card that closes at once would move the next one under a moving pointer. */
const LINGER_MS = 3_000;

function useQuestionCards(needs: readonly Need[]): Held {
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

/** Becomes `true` at once and `false` after a delay. */
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
