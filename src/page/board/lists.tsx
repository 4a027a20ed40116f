import type { DoneView, ParkedView, ReadyView, RetryingView } from '../../status/shapes/entry-shapes.js';
import { issuePath } from '../live/api.js';
import { counted, shortCount } from '../model/numbers.js';
import { shownLine } from '../model/shown-text.js';
import { parkWords, reasonWords } from '../model/words.js';
import { ActionButton } from '../parts/controls.js';
import { IssueName } from '../parts/issue-name.js';
import { memo } from '../parts/memo.js';
import { useSession } from '../parts/session.js';
import { Ago, Sentence } from '../parts/time.js';
import { Rows, Section } from './section.js';

export const Next = memo(function Group({ ready }: { readonly ready: readonly ReadyView[] }) {
  if (ready.length === 0) return null;
  // Mostly all of them wait for one thing: it is said once, and not a thousand times.
  const first = ready.find(({ why }) => why !== null)?.why ?? null;
  return (
    <Section
      id="next"
      title="Next"
      count={ready.length}
      note={first === null ? 'about to start' : <Sentence text={shownLine(`in this order: ${first}`)} />}
    >
      <Rows
        ordered={true}
        entries={ready}
        row={(entry) => <ReadyRow key={entry.issue_id} entry={entry} said={first} />}
      />
    </Section>
  );
}, 'Next');

const ReadyRow = memo(function Row({ entry, said }: { readonly entry: ReadyView; readonly said: string | null }) {
  return (
    <li class="row slim">
      <div class="row-main">
        <h3 class="row-title">
          <IssueName issue={entry} />
        </h3>
        {entry.why !== null && entry.why !== said ? (
          <p class="row-says">
            <Sentence text={shownLine(entry.why)} />
          </p>
        ) : null}
      </div>
      <div class="row-facts">
        {entry.why === null ? <span class="tag tag-go">starts now</span> : null}
        {entry.retry ? <span class="tag">again</span> : null}
        {entry.priority === null ? null : <span class="tag">priority {entry.priority}</span>}
        <span class="faint">{shownLine(entry.state)}</span>
      </div>
    </li>
  );
}, 'ReadyRow');

export const Waiting = memo(function Group({ retrying }: { readonly retrying: readonly RetryingView[] }) {
  if (retrying.length === 0) return null;
  return (
    <Section id="waiting" title="Waiting" count={retrying.length} note="go on by themselves at a known time">
      <Rows entries={retrying} row={(entry) => <WaitingRow key={entry.issue_id} entry={entry} />} />
    </Section>
  );
}, 'Waiting');

const WaitingRow = memo(function Row({ entry }: { readonly entry: RetryingView }) {
  const { canAct } = useSession();
  return (
    <li class="row">
      <div class="row-main">
        <h3 class="row-title">
          <span class={entry.error === null ? 'dot' : 'dot dot-bad'} aria-hidden="true" />
          <IssueName issue={entry} />
        </h3>
        <p class="row-says">
          <Sentence text={shownLine(entry.error ?? '') || `${reasonWords(entry.reason)} after a good run`} />
        </p>
      </div>
      <div class="row-facts">
        <span>{entry.due ? 'due now' : <Ago at={entry.due_at} />}</span>
        {entry.failures > 0 ? <span class="faint">{counted(entry.failures, 'failure')} in a row</span> : null}
        {entry.runs_without_progress > 0 ? (
          <span class="faint">{counted(entry.runs_without_progress, 'run')} without progress</span>
        ) : null}
      </div>
      {canAct ? <RetryButton identifier={entry.issue_identifier}>Retry now</RetryButton> : null}
    </li>
  );
}, 'WaitingRow');

export const Parked = memo(function Group({ parked }: { readonly parked: readonly ParkedView[] }) {
  if (parked.length === 0) return null;
  return (
    <Section id="parked" title="Parked" count={parked.length} note="go on when you retry them or the issue changes">
      <Rows entries={parked} row={(entry) => <ParkedRow key={entry.issue_id} entry={entry} />} />
    </Section>
  );
}, 'Parked');

const ParkedRow = memo(function Row({ entry }: { readonly entry: ParkedView }) {
  const { canAct } = useSession();
  return (
    <li class="row">
      <div class="row-main">
        <h3 class="row-title">
          <span class="dot dot-warn" aria-hidden="true" />
          <IssueName issue={entry} />
        </h3>
        <p class="row-says">
          <Sentence text={shownLine(entry.message)} />
        </p>
      </div>
      <div class="row-facts">
        <span class="tag tag-warn">{parkWords(entry.reason)}</span>
        <span class="faint">
          <Ago at={entry.since} />
        </span>
      </div>
      {canAct ? <RetryButton identifier={entry.issue_identifier}>Retry</RetryButton> : null}
    </li>
  );
}, 'ParkedRow');

export const Done = memo(function Group({ done }: { readonly done: readonly DoneView[] }) {
  if (done.length === 0) return null;
  // As the report has it: what waits for a review is not done.
  const title = done.every(({ terminal }) => terminal) ? 'Done' : 'Done or handed over';
  return (
    <Section id="done" title={title} count={done.length} note="since yesterday">
      <Rows entries={done} row={(entry) => <DoneRow key={entry.issue_id} entry={entry} />} />
    </Section>
  );
}, 'Done');

const DoneRow = memo(function Row({ entry }: { readonly entry: DoneView }) {
  return (
    <li class="row slim">
      <div class="row-main">
        <h3 class="row-title">
          <span class={entry.terminal ? 'dot dot-good' : 'dot dot-live'} aria-hidden="true" />
          <IssueName issue={entry} />
        </h3>
      </div>
      <div class="row-facts">
        <span class={entry.terminal ? 'tag tag-go' : 'tag'}>{shownLine(entry.state)}</span>
        <span class="faint">
          <Ago at={entry.finished_at} /> · {counted(entry.runs, 'run')} · {shortCount(entry.tokens)} tokens
        </span>
      </div>
    </li>
  );
}, 'DoneRow');

export function RetryButton({ identifier, children }: { readonly identifier: string; readonly children: string }) {
  return (
    <ActionButton path={issuePath(identifier, '/retry')} label={`${children} ${shownLine(identifier)}`} look="quiet">
      {children}
    </ActionButton>
  );
}
