import { createContext } from 'preact';
import { useCallback, useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type ApiAccess, ApiError, forgetToken, postJson, tokenIn } from '../live/api.js';
import { type Connection, LiveClient } from '../live/live-client.js';
import { EMPTY_VIEW, type LiveView } from '../live/live-view.js';
import { Drafts } from '../model/answer-draft.js';
import { isSameRoute, issueHref, parseRoute, type Route } from '../model/route.js';
import { setClock } from './ticker.js';

/** What every part of the page may need and nobody wants to hand down. */
export interface Session {
  readonly access: ApiAccess;
  /** Without a token the page only looks. */
  readonly canAct: boolean;
  readonly drafts: Drafts;
  /** Something was changed: whoever shows details should read them again. */
  readonly changes: number;
  /** Sends a change and answers what comes of it, for a person. Throws `ApiError`. */
  act(path: string, body?: object): Promise<string>;
}

export const SessionContext = createContext<Session>({
  access: { base: '', token: null },
  canAct: false,
  drafts: new Drafts(),
  changes: 0,
  act: () => Promise.reject(new ApiError(0, 'unreachable', 'The page has not started yet.')),
});

export function useSession(): Session {
  return useContext(SessionContext);
}

interface ChangeAnswer {
  readonly message?: unknown;
  /** Of a refresh. */
  readonly queued?: unknown;
  readonly coalesced?: unknown;
}

async function sendChange(access: ApiAccess, path: string, body?: object): Promise<string> {
  const { message, queued, coalesced } = await postJson<ChangeAnswer>(access, path, body);
  if (typeof message === 'string') return message;
  if (queued !== true) return 'Done.';
  return coalesced === true ? 'A reading was under way; another follows it.' : 'The tracker is being read.';
}

interface OwnedSession {
  readonly session: Session;
  /** There was a token, and the daemon did not accept it. */
  readonly hasLostToken: boolean;
  setToken(token: string | null): void;
}

export function useSessionOf(base: string, firstToken: string | null): OwnedSession {
  const [token, setToken] = useState(firstToken);
  const [hasLostToken, setLost] = useState(false);
  const [changes, setChanges] = useState(0);
  const [drafts] = useState(() => new Drafts());
  const access = useMemo(() => ({ base, token }), [base, token]);
  const act = useCallback(
    async (path: string, body?: object) => {
      try {
        const message = await sendChange(access, path, body);
        setChanges((count) => count + 1);
        return message;
      } catch (error) {
        if (error instanceof ApiError && error.status === 401) {
          forgetToken(sessionStorage);
          setToken(null);
          setLost(true);
        }
        throw error;
      }
    },
    [access],
  );
  const session = useMemo(
    () => ({ access, canAct: token !== null, drafts, changes, act }),
    [access, token, drafts, changes, act],
  );
  const renew = useCallback((next: string | null) => {
    setToken(next);
    if (next !== null) setLost(false);
  }, []);
  return { session, hasLostToken, setToken: renew };
}

/** Where on the page one is. Whoever comes back to the board finds the place again where they left it. */
export function useRoute(onToken: () => void): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  const left = useRef<{ readonly scrollY: number; readonly identifier: string } | null>(null);
  const tokenCame = useRef(onToken);
  tokenCame.current = onToken;
  // At once: an address that changes before the first picture is an address too.
  useLayoutEffect(() => {
    const look = () => {
      // A new address of `baton open` in a page that is open already.
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

/** What the daemon tells, as long as the page is there. `issue`: whose timeline is wanted. */
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
