import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { QuestionView } from '../../status/shapes/entry-shapes.js';
import { issuePath } from '../live/api.js';
import { draftOf, valuesOf } from '../model/answer-draft.js';
import { introOf, wholeText } from '../model/needs-you.js';
import { shownLine } from '../model/shown-text.js';
import { ActionResult } from './controls.js';
import { AnswerField } from './answer-field.js';
import { QuestionText } from './question-text.js';
import { useSession } from './session.js';
import { Sentence } from './time.js';
import { useAction } from './use-action.js';

interface AnswerBoxProps {
  readonly identifier: string;
  readonly question: QuestionView;
  /** `false`: nobody waits for an answer any more. */
  readonly isOpen: boolean;
  onHide(): void;
}

/** A question in full, and the way to answer it. */
export function AnswerBox({ identifier, question, isOpen, onHide }: AnswerBoxProps) {
  const { canAct, drafts } = useSession();
  const [state, send] = useAction();
  const isSent = state.kind === 'done';
  if (isSent || !isOpen) {
    const gone = 'This question is no longer open: it was answered elsewhere, or its run has ended.';
    return <Settled text={isSent ? state.message : gone} isGood={isSent} onHide={isOpen ? null : onHide} />;
  }
  const answer = async (body: object) => {
    const isTaken = await send(issuePath(identifier, '/answer'), { question_id: question.id, ...body });
    if (isTaken) drafts.drop(draftOf(question));
  };
  const intro = canAct && question.kind === 'input' ? introOf(question) : wholeText(question);
  return (
    <>
      {intro === '' ? null : <QuestionText text={intro} isCode={question.kind === 'approval'} />}
      {!canAct ? (
        <p class="hint">
          To answer here, open the page with <code>baton open</code>. On the command line:{' '}
          <code>baton answer {shownLine(identifier)}</code>
        </p>
      ) : question.kind === 'approval' ? (
        <div class="answer-buttons">
          <button
            type="button"
            class="button primary"
            aria-disabled={state.kind === 'busy'}
            onClick={() => void answer({ decision: 'accept' })}
          >
            Accept
          </button>
          <Decline isBusy={state.kind === 'busy'} onClick={() => void answer({ decision: 'decline' })} />
          <ActionResult state={state} />
        </div>
      ) : (
        <InputForm question={question} isBusy={state.kind === 'busy'} answer={answer}>
          <ActionResult state={state} />
        </InputForm>
      )}
    </>
  );
}

interface InputFormProps {
  readonly question: QuestionView;
  readonly isBusy: boolean;
  readonly children: preact.ComponentChildren;
  answer(body: object): Promise<void>;
}

function InputForm({ question, isBusy, children, answer }: InputFormProps) {
  const { drafts } = useSession();
  const [problem, setProblem] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    const values = valuesOf(question, drafts);
    const empty = question.fields.filter(({ id }) => values[id] === '');
    const isEmpty = question.fields.length > 0 && empty.length === question.fields.length;
    const warning =
      empty.length === 0
        ? ''
        : `Left empty: ${empty.map(({ label }) => shownLine(label)).join(', ')}. Send again to leave it so.`;
    const next = isEmpty ? 'Give an answer first, or decline.' : warning;
    setProblem(next);
    // Some may be left empty, as nobody here knows which must not be; but not by mistake.
    if (next === '' || (!isEmpty && next === problem)) void answer({ values });
  };
  return (
    <form class="answer-form" onSubmit={submit}>
      {question.fields.map((field) => (
        <AnswerField key={field.id} question={question} field={field} />
      ))}
      <div class="answer-buttons">
        <button type="submit" class="button primary" aria-disabled={isBusy}>
          Send answer
        </button>
        <Decline isBusy={isBusy} onClick={() => void answer({ decision: 'decline' })} />
        <output class="action-result is-bad">{problem}</output>
        {children}
      </div>
    </form>
  );
}

function Decline({ isBusy, onClick }: { readonly isBusy: boolean; onClick(): void }) {
  return (
    <button type="button" class="button plain" aria-disabled={isBusy} onClick={onClick}>
      Decline
    </button>
  );
}

/** Takes the focus that the buttons had, so that who works with the keyboard is still here. */
function Settled({
  text,
  isGood,
  onHide,
}: {
  readonly text: string;
  readonly isGood: boolean;
  readonly onHide: (() => void) | null;
}) {
  const line = useRef<HTMLParagraphElement>(null);
  useLayoutEffect(() => {
    if (isGood && (document.activeElement === document.body || document.activeElement === null)) line.current?.focus();
  }, [isGood]);
  return (
    <div class="settled">
      <p ref={line} tabIndex={-1} role="status" class={isGood ? 'is-good' : undefined}>
        <Sentence text={shownLine(text)} />
      </p>
      {onHide === null ? null : (
        <button type="button" class="button quiet" onClick={onHide}>
          Hide
        </button>
      )}
    </div>
  );
}
