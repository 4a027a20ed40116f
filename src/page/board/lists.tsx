import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { DoneView, IneligibleView, ParkedView, ReadyView, RetryingView, RunningView } from '../../api/schemas.js';
import { counted, formatTokens } from '../../text/format-numbers.js';
import { parkedSummary } from '../../text/parked-reasons.js';
import { ruleGroup } from '../../text/rules.js';
import { ActionButton, Ago, BudgetBar, ConfirmedButton, Elapsed, IssueName, Sentence } from '../components/controls.js';
import { memo } from '../components/ticker.js';
import { issuePath } from '../live/api.js';
import { groupByRule, heldOrder } from '../model/lists.js';
import { fullCount } from '../model/numbers.js';
import { shownLine } from '../model/shown-text.js';
import { phaseWords, reasonWords, stopWords, waitingWords } from '../model/words.js';

export const Next = memo(function Group({ ready }: { readonly ready: readonly ReadyView[] }) {
  if (ready.length === 0) return null;
  // Usually all of them wait for the same reason, which is shown once.
  const first = ready.find(({ why }) => why !== null)?.why ?? null;
  return (
    <Section
      id="next"
      title="Next"
      count={ready.length}
      note={first === null ? 'about to start' : <Sentence text={shownLine(`in this order; ${first}`)} />}
    >
      <Rows
        ordered={true}
        entries={ready}
        row={(entry) => <ReadyRow key={entry.issue_id} entry={entry} heading={first} />}
      />
    </Section>
  );
}, 'Next');

const ReadyRow = memo(function Row({ entry, heading }: { readonly entry: ReadyView; readonly heading: string | null }) {
  return (
    <li class="row slim">
      <div class="row-main">
        <h3 class="row-title">
          <IssueName issue={entry} />
        </h3>
        {entry.why !== null && entry.why !== heading ? (
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
  return (
    <li class="row">
      <div class="row-main">
        <h3 class="row-title">
          <span class={entry.error === null ? 'dot' : 'dot dot-bad'} aria-hidden="true" />
          <IssueName issue={entry} />
        </h3>
        <p class="row-says">
          <Sentence text={shownLine(waitingWords(entry)) || `${reasonWords(entry.reason)} after a successful run`} />
        </p>
      </div>
      <div class="row-facts">
        <span>{entry.due ? 'due now' : <Ago at={entry.due_at} />}</span>
        {entry.failures > 0 ? <span class="faint">{counted(entry.failures, 'failure')} in a row</span> : null}
        {entry.runs_without_progress > 0 ? (
          <span class="faint">{counted(entry.runs_without_progress, 'run')} without progress</span>
        ) : null}
      </div>
      <RetryButton identifier={entry.issue_identifier}>Retry now</RetryButton>
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
        <span class="tag tag-warn">{parkedSummary(entry.reason)}</span>
        <span class="faint">
          <Ago at={entry.since} />
        </span>
      </div>
      <RetryButton identifier={entry.issue_identifier}>Retry</RetryButton>
    </li>
  );
}, 'ParkedRow');

export const Done = memo(function Group({ done }: { readonly done: readonly DoneView[] }) {
  if (done.length === 0) return null;
  // As in the report, an issue that waits for a review is not done.
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
        {entry.after_run_failed ? <span class="tag tag-warn">after_run failed</span> : null}
        <span class={entry.terminal ? 'tag tag-go' : 'tag'}>{shownLine(entry.state)}</span>
        <span class="faint">
          <Ago at={entry.finished_at} /> · {counted(entry.runs, 'run')} · {formatTokens(entry.tokens)} tokens
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

interface RunningProps {
  readonly running: readonly RunningView[];
  readonly slots: { readonly taken: number; readonly limit: number };
}

export function Running({ running, slots }: RunningProps) {
  // Asking issues are listed above, with their questions.
  const working = running.filter(({ asking }) => !asking);
  const note = `${slots.taken} of ${slots.limit} ${slots.limit === 1 ? 'slot' : 'slots'} taken`;
  return (
    <Section id="running" title="Running" count={working.length} note={note}>
      {working.length === 0 ? (
        <p class="calm">{running.length === 0 ? 'Nothing is running.' : 'Nothing else is running.'}</p>
      ) : (
        <Rows entries={working} row={(entry) => <RunningRow key={entry.issue_id} entry={entry} />} />
      )}
    </Section>
  );
}

const RunningRow = memo(function Row({ entry }: { readonly entry: RunningView }) {
  const isStopping = entry.stopping !== null;
  return (
    <li class="row running-row">
      <div class="row-main">
        <h3 class="row-title">
          <span class={isStopping ? 'dot dot-warn' : 'dot dot-live'} aria-hidden="true" />
          <IssueName issue={entry} />
        </h3>
        <p class="row-says">
          <Sentence text={saysNow(entry)} />{' '}
          <span class="faint">
            <Ago at={entry.last_event_at} />
          </span>
        </p>
      </div>
      <div class="row-facts">
        <span>
          <Elapsed from={entry.started_at} />
          {entry.turn_count > 0 ? ` · turn ${entry.turn_count}` : ''}
          {entry.step ? ` · step ${shownLine(entry.step.id)}` : ''}
        </span>
        <BudgetBar budget={entry.budget} />
        {entry.run_number > 1 || entry.probe ? (
          <span class="faint">
            run {entry.run_number}, {entry.probe ? 'probes whether the hold is over' : reasonWords(entry.reason)}
          </span>
        ) : null}
      </div>
      <StopButton identifier={entry.issue_identifier} isOffered={!isStopping} />
    </li>
  );
}, 'RunningRow');

function saysNow(entry: RunningView): string {
  if (entry.stopping !== null) return stopWords(entry.stopping);
  return shownLine(entry.last_message ?? '') || phaseWords(entry);
}

interface StopButtonProps {
  readonly identifier: string;
  /** It has no process. */
  readonly isWaiting?: boolean;
  readonly isOffered?: boolean;
}

export function StopButton({ identifier, isWaiting = false, isOffered = true }: StopButtonProps) {
  const name = shownLine(identifier);
  const what = isWaiting ? 'It will not continue by itself' : 'Its processes are ended';
  return (
    <ConfirmedButton
      path={issuePath(identifier, '/stop')}
      label={`Stop ${name}`}
      question={`Stop ${name}? ${what}, and it stays parked until you retry it.`}
      confirm="Stop it"
      isOffered={isOffered}
    >
      Stop
    </ConfirmedButton>
  );
}

interface SectionProps {
  readonly id: string;
  readonly title: string;
  readonly count: number;
  readonly note?: ComponentChildren;
  readonly isUrgent?: boolean;
  readonly children: ComponentChildren;
}

/** A list of issues, with their number in the heading. */
export function Section({ id, title, count, note, isUrgent = false, children }: SectionProps) {
  return (
    <section class={`group group-${id}`} id={id} aria-labelledby={`${id}-title`}>
      <header class="group-head">
        <h2 id={`${id}-title`} tabIndex={-1}>
          {title} <span class={isUrgent ? 'count tag-warn' : 'count'}>{fullCount(count)}</span>
        </h2>
        {note === undefined ? null : <p class="group-note">{note}</p>}
      </header>
      {children}
    </section>
  );
}

const PAGE = 50;

interface RowsProps<T> {
  readonly entries: readonly T[];
  readonly ordered?: boolean;
  row(entry: T, place: number): ComponentChildren;
}

/** A list that keeps its order while the pointer is on it, and shows long lists page by page. */
function Rows<T extends { readonly issue_id: string }>({ entries, ordered, row }: RowsProps<T>) {
  const [limit, setLimit] = useState(PAGE);
  const [isHeld, setHeld] = useState(false);
  const ids = useRef<readonly string[]>([]);
  const sorted = isHeld ? heldOrder(entries, ids.current, (entry) => entry.issue_id) : entries;
  ids.current = sorted.map((entry) => entry.issue_id);
  const List = ordered ? 'ol' : 'ul';
  const left = sorted.length - limit;
  return (
    <>
      <List class="rows" onPointerEnter={() => setHeld(true)} onPointerLeave={() => setHeld(false)}>
        {sorted.slice(0, limit).map((entry, place) => row(entry, place))}
      </List>
      {left <= 0 ? null : (
        <div class="more">
          <button type="button" class="button quiet" onClick={() => setLimit(limit + PAGE)}>
            Show {Math.min(PAGE, left)} more
          </button>
          <button type="button" class="button quiet" onClick={() => setLimit(Number.MAX_SAFE_INTEGER)}>
            Show all {fullCount(sorted.length)}
          </button>
        </div>
      )}
    </>
  );
}

/** Ineligible issues with their reasons, collapsed at first. */
export const Ineligible = memo(function Group({
  ineligible,
  isOpen,
}: {
  readonly ineligible: readonly IneligibleView[];
  readonly isOpen: boolean;
}) {
  if (ineligible.length === 0) return null;
  const groups = groupByRule(ineligible).map(({ rule, count }) => `${fullCount(count)} ${ruleGroup(rule)}`);
  return (
    <section class="group" id="ineligible" aria-labelledby="ineligible-title">
      <details open={isOpen}>
        <summary class="group-head">
          <h2 id="ineligible-title">
            Not picked up <span class="count">{fullCount(ineligible.length)}</span>
          </h2>
          <span class="group-note">{groups.join(', ')}</span>
        </summary>
        <Rows entries={ineligible} row={(entry) => <IneligibleRow key={entry.issue_id} entry={entry} />} />
      </details>
    </section>
  );
}, 'Ineligible');

const IneligibleRow = memo(function Row({ entry }: { readonly entry: IneligibleView }) {
  return (
    <li class="row slim">
      <div class="row-main">
        <h3 class="row-title">
          <IssueName issue={entry} />
        </h3>
        <p class="row-says">{entry.reasons.map(({ why }) => shownLine(why)).join('; ')}</p>
      </div>
      <div class="row-facts">
        <span class="faint">{shownLine(entry.state)}</span>
      </div>
    </li>
  );
}, 'IneligibleRow');
