import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { formatTokens } from '../../text/format-numbers.js';
import { ApiError } from '../live/api.js';
import { clockTime, elapsed, fullCount, fullTime, relativeTime, shareOf } from '../model/numbers.js';
import { issueHref } from '../model/route.js';
import { linkAddress, sentenceParts, shownLine, type TextPart } from '../model/shown-text.js';
import { useSession } from './session.js';
import { nowMs, useTicking } from './ticker.js';

interface ActionButtonProps {
  readonly path: string;
  readonly children: ComponentChildren;
  /** The label for screen readers, with the issue. */
  readonly label?: string;
  readonly look?: 'primary' | 'plain' | 'quiet';
}

/** A button that changes something, with its result or error beside it. */
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
  /** `false`: it was done already, and only the result is shown. */
  readonly isOffered?: boolean;
}

/** A button that asks for confirmation in place. */
export function ConfirmedButton(props: ConfirmedButtonProps) {
  const { path, children, label, look = 'quiet', question, confirm, isOffered = true } = props;
  const [isAsked, setAsked] = useState(false);
  const [state, send] = useAction(READ_MS);
  const keep = useRef<HTMLButtonElement>(null);
  const begin = useRef<HTMLButtonElement>(null);
  const wasAsked = useRef(false);
  useLayoutEffect(() => {
    // The focus moves to the harmless choice.
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

type ActionState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'busy' }
  | { readonly kind: 'done'; readonly message: string }
  | { readonly kind: 'failed'; readonly message: string };

const IDLE: ActionState = { kind: 'idle' };
/** How long a result is shown. An error stays until the next action. */
export const READ_MS = 10_000;

/** Sends a request, one at a time, and provides its result or error. `forgetsAfterMs`: when a good result disappears; `null`: never. */
export function useAction(
  forgetsAfterMs: number | null = null,
): [ActionState, (path: string, body?: object) => Promise<boolean>, () => void] {
  const { act } = useSession();
  const [state, setState] = useState<ActionState>(IDLE);
  useEffect(() => {
    if (state.kind !== 'done' || forgetsAfterMs === null) return;
    const timer = setTimeout(() => setState(IDLE), forgetsAfterMs);
    return () => clearTimeout(timer);
  }, [state, forgetsAfterMs]);
  const isBusy = useRef(false);
  const isGone = useRef(false);
  useEffect(
    () => () => {
      isGone.current = true;
    },
    [],
  );
  const send = async (path: string, body?: object) => {
    if (isBusy.current) return false;
    isBusy.current = true;
    setState({ kind: 'busy' });
    const end = await act(path, body).then(
      (message): ActionState => ({ kind: 'done', message }),
      (error): ActionState => ({ kind: 'failed', message: error instanceof ApiError ? error.message : String(error) }),
    );
    isBusy.current = false;
    if (!isGone.current) setState(end);
    return end.kind === 'done';
  };
  return [state, send, () => setState(IDLE)];
}

interface Budget {
  readonly spent: number;
  readonly limit: number | null;
}

/** Spent tokens of the limit; without a limit only the number. */
export function BudgetBar({ budget, unit = 'tokens' }: { readonly budget: Budget; readonly unit?: string }) {
  const share = shareOf(budget);
  const { spent, limit } = budget;
  const full = limit === null ? `${fullCount(spent)} ${unit}` : `${fullCount(spent)} of ${fullCount(limit)} ${unit}`;
  return (
    <span class="budget" title={full}>
      <span class="budget-text">
        {formatTokens(spent)}
        {limit === null ? '' : ` of ${formatTokens(limit)}`} {unit}
      </span>
      {share === null ? null : <Bar share={share} />}
    </span>
  );
}

/** Repeats a number that is shown as text. */
export function Bar({ share, isHarmless = false }: { readonly share: number; readonly isHarmless?: boolean }) {
  const tone = isHarmless || share < 0.8 ? 'bar' : share < 0.95 ? 'bar bar-warn' : 'bar bar-bad';
  return (
    <svg class={tone} viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
      <rect class="bar-back" width="100" height="1" />
      <rect class="bar-fill" width={share === 0 ? 0 : Math.max(1, share * 100)} height="1" />
    </svg>
  );
}

interface Named {
  readonly issue_identifier: string;
  readonly title: string;
}

/** Identifier and title, linked to the issue. Titles are foreign text: isolated in direction, on one line. */
export function IssueName({ issue }: { readonly issue: Named }) {
  return (
    <a class="issue-name" href={issueHref(issue.issue_identifier)}>
      <span class="identifier">{shownLine(issue.issue_identifier)}</span>{' '}
      <bdi class="title">{shownLine(issue.title) || '(no title)'}</bdi>
    </a>
  );
}

/** A link to the tracker, or text when the address is not http(s). */
export function TrackerLink({ url }: { readonly url: string | null }) {
  const address = linkAddress(url);
  if (address !== null) {
    return (
      <a class="tracker-link" href={address} target="_blank" rel="noreferrer noopener">
        Open in the tracker
      </a>
    );
  }
  return url === null ? null : <span class="address">{shownLine(url)}</span>;
}

/** `3 min ago`, with the date as a tooltip. */
export function Ago({ at }: { readonly at: string | null }) {
  const text = useTicking((now) => relativeTime(at, now));
  return at === null || text === '' ? null : (
    <time dateTime={at} title={fullTime(at)}>
      {text}
    </time>
  );
}

/** `14 min 5 s`, counting up. */
export function Elapsed({ from, to }: { readonly from: string | null; readonly to?: string | null }) {
  const text = useTicking((now) => elapsed(from, to ? Date.parse(to) : now));
  return from === null ? null : (
    <time dateTime={from} title={`since ${fullTime(from)}`}>
      {text}
    </time>
  );
}

/** `14:03:22`. */
export function Clock({ at }: { readonly at: string | null }) {
  return at === null ? null : (
    <time dateTime={at} title={fullTime(at)}>
      {clockTime(at, nowMs())}
    </time>
  );
}

/** A sentence of the daemon or an agent. The caller passes it through `shownLine`. */
export function Sentence({ text }: { readonly text: string }) {
  return (
    <bdi>
      {sentenceParts(text).map((part, at) => (
        <Part key={at} part={part} />
      ))}
    </bdi>
  );
}

function Part({ part: { kind, text } }: { readonly part: TextPart }) {
  if (kind === 'time') return <Clock at={text} />;
  return kind === 'code' ? <code>{text}</code> : <span>{text}</span>;
}
