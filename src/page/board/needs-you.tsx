import { useRef } from 'preact/hooks';
import type { Need } from '../model/needs-you.js';
import type { QuestionCard } from '../model/question-cards.js';
import { timeLeft } from '../model/relative-time.js';
import { AnswerBox } from '../parts/answer-box.js';
import { IssueName } from '../parts/issue-name.js';
import { useTicking } from '../parts/ticker.js';
import { Ago } from '../parts/time.js';
import { useQuestionCards } from '../parts/use-question-cards.js';
import { Section } from './section.js';

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
  const left = useTicking((now) => timeLeft(run?.until ?? null, now));
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
