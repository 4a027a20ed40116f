import { useEffect, useMemo, useState } from 'preact/hooks';
import type { IssueView, PlanStep, RunView, Timeline, TimelineEntry } from '../../api/schemas.js';
import { counted } from '../../text/format-numbers.js';
import { Clock, Elapsed, Sentence } from '../components/controls.js';
import { FileDiff } from '../components/file-diff.js';
import { useSession } from '../components/session.js';
import { memo } from '../components/ticker.js';
import { ApiError, getJson, request, runPath } from '../live/api.js';
import type { LiveTimeline } from '../live/live-view.js';
import { diffFiles } from '../model/diff-lines.js';
import { runCost } from '../model/numbers.js';
import { shownLine, shownLines } from '../model/shown-text.js';
import { outcomeWords, startedWords } from '../model/words.js';

interface RunPanelProps {
  readonly issue: IssueView;
  readonly runId: string;
  readonly live: LiveTimeline | null;
}

/** One run: cause, outcome, plan, changes and timeline. */
export function RunPanel({ issue, runId, live }: RunPanelProps) {
  const { timeline, error } = useRunTimeline(issue.issue_identifier, runId, live);
  const run = issue.history.find((one) => one.run_id === runId) ?? null;
  // A run that was just claimed has no timeline yet; the stream will send it.
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
      {timeline === null && (error === null || isAtWork) ? <p class="calm">No activity yet.</p> : null}
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

const PAGE = 100;
const KINDS: { readonly [kind in TimelineEntry['kind']]: string } = {
  run: 'Run',
  agent: 'Agent',
  hook: 'Hook',
  step: 'Step',
  question: 'Question',
  problem: 'Problem',
};

/** The timeline of a run, newest first, so that a live run needs no scrolling. */
function TimelineView({ timeline }: { readonly timeline: LiveTimeline }) {
  const [limit, setLimit] = useState(PAGE);
  const { entries, dropped, isCut } = timeline;
  const from = Math.max(0, entries.length - limit);
  const shown = entries.slice(from).map((entry, at) => ({ entry, number: dropped + from + at }));
  return (
    <section class="timeline" aria-labelledby="timeline-title">
      <h3 id="timeline-title">
        What happened <span class="count">newest first</span>
      </h3>
      {entries.length === 0 ? <p class="calm">Nothing yet.</p> : null}
      <ol reversed>
        {shown.reverse().map(({ entry, number }) => (
          <Entry key={number} entry={entry} />
        ))}
      </ol>
      {from > 0 ? (
        <button type="button" class="button quiet" onClick={() => setLimit(limit + PAGE * 4)}>
          Show {counted(Math.min(from, PAGE * 4), 'earlier line')}
        </button>
      ) : null}
      {isCut && from === 0 ? <p class="faint">The beginning was left out here: it is in the transcript.</p> : null}
    </section>
  );
}

const Entry = memo(function Line({ entry: { at, kind, text, detail } }: { readonly entry: TimelineEntry }) {
  return (
    <li class={`entry entry-${kind}`}>
      <span class="entry-time">
        <Clock at={at} />
      </span>
      <span class="entry-kind">{KINDS[kind]}</span>
      <div class="entry-text">
        {detail === null ? (
          <Sentence text={shownLine(text)} />
        ) : (
          <details>
            <summary>
              <Sentence text={shownLine(text)} />
            </summary>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and must do so by keyboard too. */}
            <pre tabIndex={0}>{shownLines(detail)}</pre>
          </details>
        )}
      </div>
    </li>
  );
}, 'TimelineEntry');

const MARKS = { completed: '✓', inProgress: '▸', pending: '·' } as const;
const WORDS = { completed: 'done', inProgress: 'now', pending: 'to do' } as const;

/** The plan that the agent last reported. */
function PlanView({ plan }: { readonly plan: readonly PlanStep[] }) {
  if (plan.length === 0) return null;
  const done = plan.filter(({ status }) => status === 'completed').length;
  return (
    <section class="plan" aria-labelledby="plan-title">
      <h3 id="plan-title">
        Plan{' '}
        <span class="count">
          {done} of {plan.length}
        </span>
      </h3>
      <ol>
        {plan.map(({ step, status }, at) => (
          <li key={at} class={`plan-${status}`}>
            <span class="mark" role="img" aria-label={WORDS[status]}>
              {MARKS[status]}
            </span>
            <bdi>{shownLine(step)}</bdi>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The changes of the turn so far, by file. */
const DiffView = memo(function Diff({ diff }: { readonly diff: string }) {
  const files = useMemo(() => diffFiles(shownLines(diff)), [diff]);
  return (
    <section class="diff" aria-labelledby="diff-title">
      <h3 id="diff-title">
        Changes <span class="count">{counted(files.length, 'file')}</span>
      </h3>
      {files.map((file, at) => (
        // A path may occur twice, so the index is part of the key.
        <FileDiff key={`${at}/${file.path}`} file={file} isOpen={files.length <= 3} />
      ))}
    </section>
  );
}, 'DiffView');

/** Saves the transcript as a file. The page requests it itself, because a plain link cannot carry the token. */
function TranscriptLink({ identifier, runId }: { readonly identifier: string; readonly runId: string }) {
  const { access } = useSession();
  const [problem, setProblem] = useState('');
  const path = runPath(identifier, 'transcript', runId);
  const name = `${identifier}-${runId}.jsonl`.replace(/[^\w.-]/g, '_');
  const save = async () => {
    try {
      const answer = await request(access, path);
      saveAs(name, await answer.blob());
      setProblem('');
    } catch (error) {
      setProblem(error instanceof ApiError ? error.message : 'It could not be saved.');
    }
  };
  return (
    <span class="transcript">
      <a
        href={path}
        download={name}
        onClick={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        Save the transcript
      </a>
      <output class="action-result is-bad">{shownLine(problem)}</output>
    </span>
  );
}

function saveAs(name: string, content: Blob): void {
  const href = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = href;
  link.download = name;
  link.click();
  URL.revokeObjectURL(href);
}

interface RunTimeline {
  readonly timeline: LiveTimeline | null;
  readonly error: string | null;
}

/** The timeline of one run: from the stream when that follows this run, otherwise read once. */
function useRunTimeline(identifier: string, runId: string, live: LiveTimeline | null): RunTimeline {
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
