import { useMemo } from 'preact/hooks';
import type { StateView } from '../../api/schemas.js';
import { Sentence } from '../components/controls.js';
import { NoticeList } from '../components/frame.js';
import { filterState, issueCount } from '../model/lists.js';
import { noticesOf } from '../model/notices.js';
import { fullCount } from '../model/numbers.js';
import { needsOf } from '../model/question-cards.js';
import { shownLine } from '../model/shown-text.js';
import { headlineOf } from '../model/words.js';
import { Charts } from './charts.js';
import { Done, Ineligible, Next, Parked, Running, Waiting } from './lists.js';
import { NeedsYou } from './needs-you.js';
import { About, Today } from './today.js';

interface BoardProps {
  readonly state: StateView;
  readonly query: string;
  onQuery(query: string): void;
}

/** A filter is shown from this number of issues on. */
const FILTER_FROM = 12;
/** A longer headline gets a smaller font. */
const LONG = 90;

/** All issues: open questions first, then running, next, waiting, parked, done and ineligible issues. */
export function Board({ state, query, onQuery }: BoardProps) {
  const shown = useMemo(() => filterState(state, query), [state, query]);
  const lists = useLists(shown);
  const headline = shownLine(headlineOf(state));
  const total = issueCount(state);
  const found = issueCount(shown);
  return (
    <>
      <div class="head">
        <h1 class={headline.length > LONG ? 'headline is-long' : 'headline'} tabIndex={-1}>
          <Sentence text={headline} />
        </h1>
        <NoticeList notices={noticesOf(state)} />
      </div>
      <div class="columns">
        <div class="lists">
          {total >= FILTER_FROM || query !== '' ? (
            <Filter query={query} onQuery={onQuery} found={found} total={total} />
          ) : null}
          {total === 0 ? <NoIssues state={state} /> : null}
          <NeedsYou needs={lists.needs} />
          {total === 0 ? null : <Running running={shown.running} slots={shown.slots} />}
          <Next ready={shown.ready} />
          <Waiting retrying={lists.waiting} />
          <Parked parked={lists.parked} />
          <Done done={shown.done} />
          <Ineligible ineligible={shown.ineligible} isOpen={query !== ''} />
        </div>
        <aside class="side" aria-label="Use and cost">
          <Today state={state} />
          <Charts
            moment={`${state.done.length}/${state.done[0]?.finished_at ?? ''}/${state.generated_at?.slice(0, 15) ?? ''}`}
          />
          <About daemon={state.daemon} workflow={state.workflow} />
        </aside>
      </div>
    </>
  );
}

/** Shows every issue once: a due retry under Next, a parked question under Needs you. */
function useLists({ asking, parked, ready, retrying }: StateView) {
  return {
    needs: useMemo(() => needsOf({ asking, parked }), [asking, parked]),
    parked: useMemo(() => parked.filter(({ question }) => question === null), [parked]),
    waiting: useMemo(() => {
      const inLine = new Set(ready.map((entry) => entry.issue_id));
      return retrying.filter((entry) => !inLine.has(entry.issue_id));
    }, [ready, retrying]),
  };
}

function NoIssues({ state }: { readonly state: StateView }) {
  return (
    <div class="empty">
      <p class="empty-title">{state.poll.health === 'ok' ? 'No issues in an active state.' : 'No issues to show.'}</p>
      {state.poll.health === 'ok' ? (
        <p>
          An issue appears here as soon as it is in an active state of the tracker. If you miss one,{' '}
          <code>baton explain</code> says why it is not picked up.
        </p>
      ) : (
        <p>The tracker has not been read, so there may be some.</p>
      )}
    </div>
  );
}

interface FilterProps {
  readonly query: string;
  readonly found: number;
  readonly total: number;
  onQuery(query: string): void;
}

function Filter({ query, onQuery, found, total }: FilterProps) {
  return (
    <search class="filter">
      <label for="filter" class="unseen">
        Filter issues
      </label>
      <input
        id="filter"
        type="search"
        value={query}
        placeholder="Filter by name, title, state or reason"
        autoComplete="off"
        spellcheck={false}
        onInput={(event) => onQuery(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Escape' && onQuery('')}
      />
      <output class="faint">
        {query === '' ? `${fullCount(total)} issues` : `${fullCount(found)} of ${fullCount(total)}`}
      </output>
    </search>
  );
}
