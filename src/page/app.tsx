import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { StateView } from '../api/schemas.js';
import { Board } from './board/board.js';
import { Announcer, ConnectionBanner, Header, StartScreen } from './components/frame.js';
import { SessionContext, useLive, useRoute, useSession, useSessionOf } from './components/session.js';
import { ShortcutHelp, useShortcuts } from './components/shortcuts.js';
import { IssuePage } from './issue/issue-page.js';
import type { Connection } from './live/live-client.js';
import { needsOf, pageTitle } from './model/question-cards.js';
import { shownLine } from './model/shown-text.js';

interface AppProps {
  readonly base: string;
  readonly firstToken: string | null;
  readToken(): string | null;
}

export function App({ base, firstToken, readToken }: AppProps) {
  const { session, setToken } = useSessionOf(base, firstToken);
  const route = useRoute(() => setToken(readToken()));
  const watched = route.name === 'issue' ? route.identifier : null;
  const { view, connection, retryNow } = useLive(session.access, watched);
  const [query, setQuery] = useState('');
  const { state } = view;
  const needs = useMemo(() => (state === null ? [] : needsOf(state)), [state]);
  const count = needs.reduce((sum, need) => sum + need.questions.length, 0);
  const title = pageTitle(count, watched === null ? null : shownLine(watched));
  useEffect(() => {
    document.title = title;
  }, [title]);

  return (
    <SessionContext.Provider value={session}>
      <Announcer needs={needs} connection={connection} />
      {state === null ? (
        <StartScreen connection={connection} hasToken={session.access.token !== null} retryNow={retryNow} />
      ) : (
        <Frame state={state} connection={connection} retryNow={retryNow}>
          {route.name === 'board' ? (
            <Board state={state} query={query} onQuery={setQuery} />
          ) : (
            <IssuePage
              key={route.identifier}
              identifier={route.identifier}
              runId={route.runId}
              state={state}
              timeline={view.issue === route.identifier ? view.timeline : null}
            />
          )}
        </Frame>
      )}
    </SessionContext.Provider>
  );
}

interface FrameProps {
  readonly state: StateView;
  readonly connection: Connection;
  readonly children: ComponentChildren;
  retryNow(): void;
}

/** Header, notices and help around every view. */
function Frame({ state, connection, children, retryNow }: FrameProps) {
  const session = useSession();
  const help = useRef<HTMLDialogElement>(null);
  useShortcuts(session, help);
  const isOld = connection.kind === 'lost' || connection.kind === 'refused';
  return (
    <>
      <button type="button" class="button skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the issues
      </button>
      <Header state={state} connection={connection} onHelp={() => help.current?.showModal()} />
      <ConnectionBanner connection={connection} retryNow={retryNow} />
      <main id="main" tabIndex={-1} class={isOld ? 'is-old' : undefined}>
        {children}
      </main>
      <ShortcutHelp dialog={help} />
    </>
  );
}
