import type { IssueView, RunView } from '../../status/shapes/issue-shape.js';
import type { LiveTimeline } from '../live/live-view.js';
import { runCost } from '../model/run-cost.js';
import { shownLine } from '../model/shown-text.js';
import { outcomeWords, startedWords } from '../model/words.js';
import { Clock, Elapsed } from '../parts/time.js';
import { DiffView } from './diff-view.js';
import { PlanView } from './plan-view.js';
import { TimelineView } from './timeline-view.js';
import { TranscriptLink } from './transcript-link.js';
import { useRunTimeline } from './use-run-timeline.js';

interface RunPanelProps {
  readonly issue: IssueView;
  readonly runId: string;
  readonly live: LiveTimeline | null;
}

/** One run: who began it, how it went, its plan, what it changed, and everything that happened. */
export function RunPanel({ issue, runId, live }: RunPanelProps) {
  const { timeline, error } = useRunTimeline(issue.issue_identifier, runId, live);
  const run = issue.history.find((one) => one.run_id === runId) ?? null;
  // It has only just been claimed: there is nothing to read, and soon the stream tells.
  const isAtWork = issue.running?.run_id === runId;
  const number = run?.run_number ?? (issue.running?.run_id === runId ? issue.running.run_number : null);
  return (
    <section class="run-panel" aria-labelledby="run-title">
      <header class="group-head">
        <h2 id="run-title">
          {number === null ? 'Run' : `Run ${number}`}
          {timeline?.isLive ? <span class="count live">live</span> : null}
        </h2>
        {run?.has_transcript || timeline?.isLive ? (
          <TranscriptLink identifier={issue.issue_identifier} runId={runId} />
        ) : null}
      </header>
      {run === null ? null : <RunFacts run={run} />}
      {timeline === null ? null : <PlanView plan={timeline.plan} />}
      {timeline?.diff ? <DiffView diff={timeline.diff} /> : null}
      {error === null || isAtWork ? null : <p class="is-bad">{shownLine(error)}</p>}
      {timeline === null && (error === null || isAtWork) ? <p class="calm">Nothing to tell yet.</p> : null}
      {timeline === null ? null : <TimelineView key={runId} timeline={timeline} />}
    </section>
  );
}

function RunFacts({ run }: { readonly run: RunView }) {
  const agent = [run.model, run.agent_version].filter((part) => part !== null).map((part) => shownLine(part ?? ''));
  return (
    <dl class="run-facts">
      <dt>Started by</dt>
      <dd>{startedWords(run)}</dd>
      {run.author === null ? null : (
        <>
          <dt>Issue by</dt>
          <dd>
            <bdi>{shownLine(run.author)}</bdi>
          </dd>
        </>
      )}
      <dt>When</dt>
      <dd>
        <Clock at={run.started_at} />, {run.ended_at === null ? 'for ' : 'took '}
        <Elapsed from={run.started_at} to={run.ended_at} />
      </dd>
      <dt>Outcome</dt>
      <dd>
        {outcomeWords(run)}
        {run.message === null ? '' : `: ${shownLine(run.message)}`}
      </dd>
      <dt>Cost</dt>
      <dd>{runCost(run)}</dd>
      {agent.length === 0 ? null : (
        <>
          <dt>Agent</dt>
          <dd>{agent.join(', ')}</dd>
        </>
      )}
    </dl>
  );
}
