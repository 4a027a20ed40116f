import { useEffect, useState } from 'preact/hooks';
import type { Timeline } from '../../status/shapes/issue-shape.js';
import { ApiError, getJson, runPath } from '../live/api.js';
import type { LiveTimeline } from '../live/live-view.js';
import { useSession } from '../parts/session.js';

interface RunTimeline {
  readonly timeline: LiveTimeline | null;
  readonly error: string | null;
}

/** What happened in one run: from the stream where it tells of this very run, else read once. */
export function useRunTimeline(identifier: string, runId: string, live: LiveTimeline | null): RunTimeline {
  const { access } = useSession();
  const isLive = live !== null && live.runId === runId;
  const wanted = isLive ? null : runId;
  const [read, setRead] = useState<RunTimeline & { readonly of: string | null }>({
    of: null,
    timeline: null,
    error: null,
  });
  useEffect(() => {
    if (wanted === null) return;
    const asking = new AbortController();
    getJson<Timeline>(access, runPath(identifier, 'timeline', wanted), asking.signal).then(
      (timeline) => setRead({ of: wanted, timeline: fromAnswer(timeline), error: null }),
      (error) => {
        if (error instanceof ApiError) setRead({ of: wanted, timeline: null, error: error.message });
      },
    );
    return () => asking.abort();
  }, [access, identifier, wanted]);
  if (isLive) return { timeline: live, error: null };
  return read.of === wanted ? read : { timeline: null, error: null };
}

function fromAnswer({ run_id: runId, live, truncated, entries, plan, diff }: Timeline): LiveTimeline {
  return { runId, isLive: live, isCut: truncated, entries, dropped: 0, plan, diff };
}
