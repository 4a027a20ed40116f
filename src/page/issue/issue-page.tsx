import { useEffect, useRef } from 'preact/hooks';
import type { StateView } from '../../api/schemas.js';
import type { LiveTimeline } from '../live/live-view.js';
import { boardHref } from '../model/route.js';
import { shownLine } from '../model/shown-text.js';
import { standingKey, withLive } from '../model/standing.js';
import { IssueFacts } from './issue-facts.js';
import { IssueHead } from './issue-head.js';
import { Rules } from './rules.js';
import { RunList } from './run-list.js';
import { RunPanel } from './run-panel.js';
import { useIssue } from './use-issue.js';

interface IssuePageProps {
  readonly identifier: string;
  /** `null`: the newest. */
  readonly runId: string | null;
  readonly state: StateView;
  readonly timeline: LiveTimeline | null;
}

/** Everything about one issue: who began it, what it does or waits for, every rule, every run. */
export function IssuePage({ identifier, runId, state, timeline }: IssuePageProps) {
  const { issue: details, error } = useIssue(identifier, standingKey(state, identifier));
  const top = useRef<HTMLDivElement>(null);
  const isThere = details !== null;
  // A view that has come up is where the reading begins.
  useEffect(() => {
    window.scrollTo(0, 0);
    top.current?.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true });
  }, [identifier, isThere]);
  if (details === null) {
    return (
      <div ref={top} class="empty">
        <h1 class="empty-title" tabIndex={-1}>
          {error === null ? `Reading ${shownLine(identifier)}…` : shownLine(identifier)}
        </h1>
        {error === null ? null : <p class="is-bad">{shownLine(error.message)}</p>}
        <p>
          <a href={boardHref()}>All issues</a>
        </p>
      </div>
    );
  }
  const issue = withLive(details, state);
  const newest = timeline?.runId ?? issue.running?.run_id ?? issue.history[0]?.run_id ?? null;
  const selected = runId ?? newest;
  const isClaimed = ['running', 'asking', 'retrying', 'parked'].includes(issue.status);
  const rules = <Rules rules={issue.rules} isClaimed={isClaimed} />;
  return (
    <div ref={top}>
      <IssueHead issue={issue} />
      {error === null ? null : <p class="is-bad">Its details may be old: {shownLine(error.message)}</p>}
      <div class="columns">
        <div class="lists">
          {/* Before its first run the rules are all that there is to tell. */}
          {selected === null ? rules : <RunPanel issue={issue} runId={selected} live={timeline} />}
        </div>
        <aside class="side" aria-label="About the issue">
          <IssueFacts issue={issue} />
          {selected === null ? null : rules}
          <RunList issue={issue} selected={selected} />
        </aside>
      </div>
    </div>
  );
}
