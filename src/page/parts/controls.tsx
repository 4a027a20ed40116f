import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { shownLine } from '../model/shown-text.js';
import { Sentence } from './time.js';
import { type ActionState, READ_MS, useAction } from './use-action.js';

interface ActionButtonProps {
  readonly path: string;
  readonly children: ComponentChildren;
  /** Said to screen readers instead of the text: which issue it is about. */
  readonly label?: string;
  readonly look?: 'primary' | 'plain' | 'quiet';
}

/** A button that changes something. Its result, or its error, stands beside it. */
export function ActionButton({ path, children, label, look = 'plain' }: ActionButtonProps) {
  const [state, send] = useAction(READ_MS);
  return (
    <span class="action">
      <button
        type="button"
        class={`button ${look}`}
        aria-label={label}
        aria-disabled={state.kind === 'busy'}
        onClick={() => void send(path)}
      >
        {children}
      </button>
      <ActionResult state={state} />
    </span>
  );
}

interface ConfirmedButtonProps extends ActionButtonProps {
  readonly question: string;
  readonly confirm: string;
  /** `false`: it has been done already; only what came of it is still shown. */
  readonly isOffered?: boolean;
}

/** Asks once, in its own place, before it does something that cannot be taken back. */
export function ConfirmedButton(props: ConfirmedButtonProps) {
  const { path, children, label, look = 'quiet', question, confirm, isOffered = true } = props;
  const [isAsked, setAsked] = useState(false);
  const [state, send] = useAction(READ_MS);
  const keep = useRef<HTMLButtonElement>(null);
  const begin = useRef<HTMLButtonElement>(null);
  const wasAsked = useRef(false);
  useLayoutEffect(() => {
    // Focus goes along with what replaced the button; the harmless choice is under the finger first.
    if (isAsked) keep.current?.focus();
    else if (wasAsked.current) begin.current?.focus();
    wasAsked.current = isAsked;
  }, [isAsked]);
  if (!isAsked || !isOffered) {
    return (
      <span class="action">
        {isOffered ? (
          <button ref={begin} type="button" class={`button ${look}`} aria-label={label} onClick={() => setAsked(true)}>
            {children}
          </button>
        ) : null}
        <ActionResult state={state} />
      </span>
    );
  }
  const decide = (isMeant: boolean) => {
    setAsked(false);
    if (isMeant) void send(path);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would be a form's; this is a question with two buttons.
    <span
      class="action confirm"
      role="group"
      aria-label={question}
      onKeyDown={(event) => event.key === 'Escape' && decide(false)}
    >
      <span class="confirm-question">{question}</span>
      <button type="button" class="button danger" onClick={() => decide(true)}>
        {confirm}
      </button>
      <button ref={keep} type="button" class="button plain" onClick={() => decide(false)}>
        Keep it
      </button>
    </span>
  );
}

export function ActionResult({ state }: { readonly state: ActionState }) {
  const text = state.kind === 'done' || state.kind === 'failed' ? shownLine(state.message) : '';
  return (
    <output class={`action-result ${state.kind === 'failed' ? 'is-bad' : 'is-good'}`} aria-live="polite">
      {state.kind === 'busy' ? 'Sending…' : text === '' ? null : <Sentence text={text} />}
    </output>
  );
}
