import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiAccess } from '../live/api.js';
import { type Connection, LiveClient } from '../live/live-client.js';
import { EMPTY_VIEW, type LiveView } from '../live/live-view.js';
import { setClock } from './ticker.js';

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
