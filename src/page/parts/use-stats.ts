import { useEffect, useState } from 'preact/hooks';
import type { Stats } from '../../status/shapes/issue-shape.js';
import { getJson } from '../live/api.js';
import { useSession } from './session.js';

/** The numbers of the last thirty days; asked for again when `moment` has become another. `null`: not there yet. */
export function useStats(moment: string): Stats | null {
  const { access } = useSession();
  const [stats, setStats] = useState<Stats | null>(null);
  // `moment` is the reason to ask again.
  useEffect(() => {
    const asking = new AbortController();
    getJson<Stats>(access, 'api/v1/stats?days=30', asking.signal).then(setStats, () => {
      // Charts are no reason to alarm anybody: the old ones stay, and the connection has its own banner.
    });
    return () => asking.abort();
  }, [access, moment]);
  return stats;
}
