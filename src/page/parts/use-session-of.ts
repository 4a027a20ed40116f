import { useCallback, useMemo, useState } from 'preact/hooks';
import { forgetToken } from '../live/access-token.js';
import { ApiError } from '../live/api.js';
import { Drafts } from '../model/drafts.js';
import { type Session, sendChange } from './session.js';

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
