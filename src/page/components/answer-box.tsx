import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { QuestionView } from '../../api/schemas.js';
import { issuePath } from '../live/api.js';
import { choiceKey, draftOf, OTHER, textKey, valuesOf } from '../model/answer-draft.js';
import { lineKind } from '../model/diff-lines.js';
import { introOf } from '../model/question-cards.js';
import { shownLine, shownLines } from '../model/shown-text.js';
import { ActionResult, Sentence, useAction } from './controls.js';
import { useSession } from './session.js';

interface AnswerBoxProps {
  readonly identifier: string;
  readonly question: QuestionView;
  /** `false`: the question is no longer open. */
  readonly isOpen: boolean;
  onHide(): void;
}

/** A question and the fields to answer it. */
export function AnswerBox({ identifier, question, isOpen, onHide }: AnswerBoxProps) {
  const { drafts } = useSession();
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
  const intro = question.kind === 'input' && !question.is_cut ? introOf(question) : question.text;
  return (
    <>
      {intro === '' ? null : <QuestionText text={intro} isCode={question.kind === 'approval'} />}
      {question.is_cut ? (
        <>
          <p class="hint">
            This is only a part of the question: the rest was too long to be kept. You can only decline it, because an
            approval must cover exactly what is shown. Then ask for smaller steps.
          </p>
          <div class="answer-buttons">
            <Decline isBusy={state.kind === 'busy'} onClick={() => void answer({ decision: 'decline' })} />
            <ActionResult state={state} />
          </div>
        </>
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
        : `Left empty: ${empty.map(({ label }) => shownLine(label)).join(', ')}. Send again to confirm.`;
    const next = isEmpty ? 'Give an answer first, or decline.' : warning;
    setProblem(next);
    // The page does not know which fields are optional: empty ones need a second click.
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

/** Takes over the focus of the buttons, so that keyboard users keep their place. */
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

interface FieldProps {
  readonly question: QuestionView;
  readonly field: QuestionView['fields'][number];
}

/** More options are shown as a list instead of radio buttons. */
const MAX_RADIOS = 8;

/** One field of a question: the options of the agent, and always a free text. */
function AnswerField({ question, field }: FieldProps) {
  const { drafts } = useSession();
  const [choice, setChoice] = useState(drafts.get(choiceKey(question, field)));
  const choose = (value: string) => {
    drafts.set(choiceKey(question, field), value);
    setChoice(value);
  };
  const label = shownLine(field.label) || 'Your answer';
  if (field.options.length === 0) return <OwnWords question={question} field={field} label={label} />;
  const own = choice === OTHER ? <OwnWords question={question} field={field} label="Your own answer" /> : null;
  if (field.options.length > MAX_RADIOS) {
    return (
      <Choices label={label} options={field.options} choice={choice} choose={choose}>
        {own}
      </Choices>
    );
  }
  return (
    <Radios label={label} options={field.options} choice={choice} choose={choose}>
      {own}
    </Radios>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly options: readonly string[];
  readonly choice: string;
  choose(value: string): void;
  readonly children: preact.ComponentChildren;
}

function Radios({ label, options, choice, choose, children }: ChoiceProps) {
  const name = useId();
  const all = [
    ...options.map((text, at) => [String(at), shownLine(text)] as const),
    [OTHER, 'Something else'] as const,
  ];
  return (
    <fieldset class="field">
      <legend>
        <bdi>{label}</bdi>
      </legend>
      <div class="choices">
        {all.map(([value, text]) => (
          <label key={value} class="choice">
            <input type="radio" name={name} value={value} checked={choice === value} onChange={() => choose(value)} />
            <bdi>{text}</bdi>
          </label>
        ))}
      </div>
      {children}
    </fieldset>
  );
}

function Choices({ label, options, choice, choose, children }: ChoiceProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>
        <bdi>{label}</bdi>
      </label>
      <select id={id} value={choice} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="">Choose…</option>
        {options.map((text, at) => (
          <option key={at} value={String(at)}>
            {shownLine(text)}
          </option>
        ))}
        <option value={OTHER}>Something else</option>
      </select>
      {children}
    </div>
  );
}

function OwnWords({ question, field, label }: FieldProps & { readonly label: string }) {
  const { drafts } = useSession();
  const key = textKey(question, field);
  const id = useId();
  const [text, setText] = useState(drafts.get(key));
  return (
    <div class="field">
      <label for={id}>
        <bdi>{label}</bdi>
      </label>
      <textarea
        id={id}
        rows={2}
        value={text}
        onInput={(event) => {
          drafts.set(key, event.currentTarget.value);
          setText(event.currentTarget.value);
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit();
        }}
      />
    </div>
  );
}

/** The whole text of a question. Long text scrolls and is never cut, because users approve it. */
function QuestionText({ text, isCode }: { readonly text: string; readonly isCode: boolean }) {
  const lines = shownLines(text).split('\n');
  const mayScroll = lines.length > 12 || text.length > 600;
  const isDiff = lines.some((line) => line.startsWith('@@'));
  return (
    <section
      class={isCode ? 'question-text is-code' : 'question-text'}
      aria-label="Question"
      tabIndex={mayScroll ? 0 : undefined}
    >
      {lines.map((line, at) => (
        <bdi key={at} class={isDiff ? `line ${lineKind(line)}` : 'line'}>
          {line === '' ? '\u00a0' : line}
        </bdi>
      ))}
    </section>
  );
}
