import { useId, useState } from 'preact/hooks';
import type { QuestionView } from '../../status/shapes/entry-shapes.js';
import { choiceKey, OTHER, textKey } from '../model/answer-draft.js';
import { shownLine } from '../model/shown-text.js';
import { useSession } from './session.js';

interface FieldProps {
  readonly question: QuestionView;
  readonly field: QuestionView['fields'][number];
}

/** Above this many a list to choose from is easier than as many buttons. */
const MAX_RADIOS = 8;

/** One blank of a question: what the agent offers to choose from, and always room for one's own words. */
export function AnswerField({ question, field }: FieldProps) {
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
