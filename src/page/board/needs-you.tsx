import { useEffect, useRef, useState } from 'preact/hooks';
import { formatTimeLeft } from '../../text/format-time.js';
import { draftOf } from '../model/answer-draft.js';
import { cardsAfter, type Need, type QuestionCard } from '../model/question-cards.js';
import { AnswerBox } from '../parts/answer-box.js';
import { Ago, IssueName } from '../parts/controls.js';
import { useSession } from '../parts/session.js';
import { useTicking } from '../parts/ticker.js';
import { Section } from './lists.js';

/** What goes on only when a person answers: first on the page, with the answer in its place. */
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
  /** Which issue it is about; not needed where one issue is all that is shown. */
  readonly withName: boolean;
  /** Shown when there is nothing to answer. */
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

/** Since when it waits, until when, and what comes then. */
function Patience({ need: { since, run }, isApproval }: { readonly need: Need; readonly isApproval: boolean }) {
  const left = useTicking((now) => formatTimeLeft(run?.until ?? null, now));
  const what = isApproval ? 'Asked for your leave' : 'Asked you';
  const then = run?.onTimeout === 'decline' ? 'it counts as declined' : 'it is parked and can still be answered';
  return (
    <p class="patience">
      {what} <Ago at={since} />
      {run === null
        ? '. It is parked: nothing runs meanwhile, and it goes on with your answer whenever you give it.'
        : left === null
          ? `. Its time is up: ${then}.`
          : `. Waits ${left} more, then ${then}.`}
    </p>
  );
}

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
