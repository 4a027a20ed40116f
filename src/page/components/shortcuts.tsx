import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { boardHref } from '../model/route.js';
import type { Session } from './session.js';

const KEYS: readonly (readonly [string, string])[] = [
  ['n', 'go to the next question'],
  ['/', 'filter the issues'],
  ['b', 'back to all issues'],
  ['r', 'read the tracker now'],
  ['?', 'show these shortcuts'],
];

const OFF = 'baton.shortcuts-off';

/**
 * Single-key shortcuts. They can be turned off, because screen readers and voice control may press keys unintentionally. A layout effect
 * listens before the first paint: a key that is pressed as soon as the page is visible must not be lost.
 */
export function useShortcuts(session: Session, help: RefObject<HTMLDialogElement | null>): void {
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent) => {
      const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.repeat && !event.defaultPrevented;
      if (!isPlain || isWriting(event.target) || help.current?.open || isOff()) return;
      const act = actions(session, help)[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, [session, help]);
}

function actions(session: Session, help: RefObject<HTMLDialogElement | null>): { readonly [key: string]: () => void } {
  return {
    '?': () => help.current?.showModal(),
    '/': () => document.getElementById('filter')?.focus(),
    b: () => {
      location.hash = boardHref();
    },
    n: toNextQuestion,
    // The result shows in the live state as the time of the last poll.
    r: () => void session.act('api/v1/refresh').catch(() => {}),
  };
}

function toNextQuestion(): void {
  const cards = [...document.querySelectorAll<HTMLElement>('.card.asks')];
  const at = cards.findIndex((card) => card.contains(document.activeElement));
  const next = cards[(at + 1) % Math.max(1, cards.length)];
  if (next) next.focus();
  else location.hash = boardHref();
}

/** A checkbox takes no letters. The one in the help keeps the focus for a moment after the dialog has closed. */
function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.matches('input:not([type="checkbox"], [type="radio"]), textarea, select')
  );
}

function isOff(): boolean {
  try {
    return localStorage.getItem(OFF) !== null;
  } catch {
    return false;
  }
}

export function ShortcutHelp({ dialog }: { readonly dialog: RefObject<HTMLDialogElement | null> }) {
  const [isUsed, setUsed] = useState(!isOff());
  const use = (isWanted: boolean) => {
    setUsed(isWanted);
    try {
      if (isWanted) localStorage.removeItem(OFF);
      else localStorage.setItem(OFF, '1');
    } catch {
      // Without storage the choice ends with the page.
    }
  };
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title">
      <h2 id="help-title">Keyboard shortcuts</h2>
      <dl>
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p class="faint">Tab reaches everything; Ctrl+Enter sends what you have written.</p>
      <label class="choice">
        <input type="checkbox" checked={isUsed} onChange={(event) => use(event.currentTarget.checked)} />
        Use single-key shortcuts
      </label>
      <button type="button" class="button primary" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}
