import { useState } from 'preact/hooks';
import type { TimelineEntry } from '../../status/shapes/issue-shape.js';
import type { LiveTimeline } from '../live/live-view.js';
import { counted } from '../model/numbers.js';
import { shownLine, shownLines } from '../model/shown-text.js';
import { memo } from '../parts/memo.js';
import { Clock, Sentence } from '../parts/time.js';

const PAGE = 100;
const KINDS: { readonly [kind in TimelineEntry['kind']]: string } = {
  run: 'Run',
  agent: 'Agent',
  hook: 'Hook',
  step: 'Step',
  question: 'Question',
  problem: 'Problem',
};

/** Everything that happened in a run, the newest first, so that a live one is read without scrolling. */
export function TimelineView({ timeline }: { readonly timeline: LiveTimeline }) {
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
