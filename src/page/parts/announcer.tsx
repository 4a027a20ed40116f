import { useEffect, useRef, useState } from 'preact/hooks';
import type { Connection } from '../live/live-client.js';
import type { Need } from '../model/needs-you.js';
import { counted } from '../model/numbers.js';
import { shownLine } from '../model/shown-text.js';

/** What a screen reader should say by itself: who newly needs a person, and that the connection is lost or back. Nothing else. */
export function Announcer({ needs, connection }: { readonly needs: readonly Need[]; readonly connection: Connection }) {
  return (
    <div class="unseen">
      <p role="status">{useNeedNews(needs)}</p>
      <p role="status">{useConnectionNews(connection.kind)}</p>
    </div>
  );
}

function useNeedNews(needs: readonly Need[]): string {
  const known = useRef<ReadonlySet<string>>(new Set());
  const [news, setNews] = useState('');
  useEffect(() => {
    const added = needs.filter(({ questions }) => questions.some(({ id }) => !known.current.has(id)));
    known.current = new Set(needs.flatMap(({ questions }) => questions.map(({ id }) => id)));
    const [first] = added;
    if (first && added.length === 1) setNews(`${shownLine(first.issue.issue_identifier)} needs you.`);
    else if (added.length > 1) setNews(`${counted(added.length, 'issue')} need you.`);
    else if (needs.length === 0) setNews('');
  }, [needs]);
  return news;
}

function useConnectionNews(kind: Connection['kind']): string {
  const wasLost = useRef(false);
  if (kind === 'lost' || kind === 'refused') wasLost.current = true;
  if (kind === 'lost') return 'Connection to the daemon lost.';
  return kind === 'live' && wasLost.current ? 'Connected again.' : '';
}
