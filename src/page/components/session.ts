import { createContext } from 'preact';
import { useCallback, useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type ApiAccess, ApiError, postJson, tokenIn } from '../live/api.js';
import { type Connection, LiveClient } from '../live/live-client.js';
import { EMPTY_VIEW, type LiveView } from '../live/live-view.js';
import { Drafts } from '../model/answer-draft.js';
import { isSameRoute, issueHref, parseRoute, type Route } from '../model/route.js';
import { setClock } from './ticker.js';

/** What every component may need. */
export interface Session {
  readonly access: ApiAccess;
  readonly drafts: Drafts;
  /** Counts changes made on this page: components read their details again. */
  readonly changes: number;
  /** Sends a request and returns its message. Throws `ApiError`. */
  act(path: string, body?: object): Promise<string>;
}

export const SessionContext = createContext<Session>({
  access: { base: '', token: null },
  drafts: new Drafts(),
  changes: 0,
  act: () => Promise.reject(new ApiError(0, 'unreachable', 'The page has not started yet.')),
});

export function useSession(): Session {
  return useContext(SessionContext);
}

interface ChangeAnswer {
  readonly message?: unknown;
  /** In the answer to a refresh. */
  readonly queued?: unknown;
  readonly coalesced?: unknown;
}

async function sendChange(access: ApiAccess, path: string, body?: object): Promise<string> {
  const { message, queued, coalesced } = await postJson<ChangeAnswer>(access, path, body);
  if (typeof message === 'string') return message;
  if (queued !== true) return 'Done.';
  return coalesced === true ? 'A poll was already running; another one follows.' : 'The tracker is being read.';
}

interface OwnedSession {
  readonly session: Session;
  setToken(token: string | null): void;
}

export function useSessionOf(base: string, firstToken: string | null): OwnedSession {
  const [token, setToken] = useState(firstToken);
  const [changes, setChanges] = useState(0);
  const [drafts] = useState(() => new Drafts());
  const access = useMemo(() => ({ base, token }), [base, token]);
  const act = useCallback(
    async (path: string, body?: object) => {
      const message = await sendChange(access, path, body);
      setChanges((count) => count + 1);
      return message;
    },
    [access],
  );
  const session = useMemo(() => ({ access, drafts, changes, act }), [access, drafts, changes, act]);
  return { session, setToken };
}

/** The current view. Returning to the board restores scroll position and focus. */
export function useRoute(onToken: () => void): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  const left = useRef<{ readonly scrollY: number; readonly identifier: string } | null>(null);
  const tokenCame = useRef(onToken);
  tokenCame.current = onToken;
  // A layout effect, so that a change of the address before the first paint is not missed.
  useLayoutEffect(() => {
    const look = () => {
      // `baton open` opened a new address in this tab.
      if (tokenIn(location.hash) !== null) tokenCame.current();
      const next = parseRoute(location.hash);
      setRoute((before) => {
        if (isSameRoute(before, next)) return before;
        if (before.name === 'board' && next.name === 'issue') {
          left.current = { scrollY: window.scrollY, identifier: next.identifier };
        }
        return next;
      });
    };
    window.addEventListener('hashchange', look);
    return () => window.removeEventListener('hashchange', look);
  }, []);
  useEffect(() => {
    if (route.name !== 'board' || left.current === null) return;
    const { scrollY, identifier } = left.current;
    left.current = null;
    window.scrollTo(0, scrollY);
    const link = document.querySelector<HTMLElement>(`a[href="${CSS.escape(issueHref(identifier))}"]`);
    (link ?? document.querySelector<HTMLElement>('h1'))?.focus({ preventScroll: true });
  }, [route]);
  return route;
}

interface Live {
  readonly view: LiveView;
  readonly connection: Connection;
  retryNow(): void;
}

/** Follows the daemon. `issue`: also its timeline. */
export function useLive({ base, token }: ApiAccess, issue: string | null): Live {
  const [live, setLive] = useState<Omit<Live, 'retryNow'>>({ view: EMPTY_VIEW, connection: { kind: 'connecting' } });
  const client = useRef<LiveClient | null>(null);
  client.current ??= new LiveClient({
    base,
    token,
    onChange(view, connection) {
      setClock(view.aheadMs);
      setLive({ view, connection });
    },
  });
  useEffect(() => client.current?.useToken(token), [token]);
  useEffect(() => client.current?.watch(issue), [issue]);
  useEffect(() => {
    const retry = () => {
      if (!document.hidden) client.current?.retryNow();
    };
    window.addEventListener('online', retry);
    document.addEventListener('visibilitychange', retry);
    return () => {
      window.removeEventListener('online', retry);
      document.removeEventListener('visibilitychange', retry);
      client.current?.close();
    };
  }, []);
  return { ...live, retryNow: () => client.current?.retryNow() };
}
