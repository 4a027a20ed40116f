import type { RunningView } from '../../status/shapes/entry-shapes.js';
import { issuePath } from '../live/api.js';
import { shownLine } from '../model/shown-text.js';
import { phaseWords, reasonWords, stopWords } from '../model/words.js';
import { ConfirmedButton } from '../parts/controls.js';
import { BudgetBar } from '../parts/budget-bar.js';
import { IssueName } from '../parts/issue-name.js';
import { memo } from '../parts/memo.js';
import { useSession } from '../parts/session.js';
import { Ago, Elapsed, Sentence } from '../parts/time.js';
import { Rows, Section } from './section.js';

interface RunningProps {
  readonly running: readonly RunningView[];
  readonly slots: { readonly taken: number; readonly limit: number };
}

export function Running({ running, slots }: RunningProps) {
  // Those that ask stand above, with their question.
  const working = running.filter(({ asking }) => !asking);
  const note = `${slots.taken} of ${slots.limit} ${slots.limit === 1 ? 'slot' : 'slots'} taken`;
  return (
    <Section id="running" title="Running" count={working.length} note={note}>
      {working.length === 0 ? (
        <p class="calm">{running.length === 0 ? 'Nothing is at work.' : 'Nothing else is at work.'}</p>
      ) : (
        <Rows entries={working} row={(entry) => <RunningRow key={entry.issue_id} entry={entry} />} />
      )}
    </Section>
  );
}

const RunningRow = memo(function Row({ entry }: { readonly entry: RunningView }) {
  const { canAct } = useSession();
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
            run {entry.run_number}, {entry.probe ? 'tries whether the hold is over' : reasonWords(entry.reason)}
          </span>
        ) : null}
      </div>
      {canAct ? <StopButton identifier={entry.issue_identifier} isOffered={!isStopping} /> : null}
    </li>
  );
}, 'RunningRow');

function saysNow(entry: RunningView): string {
  if (entry.stopping !== null) return stopWords(entry.stopping);
  return shownLine(entry.last_message ?? '') || phaseWords(entry);
}

interface StopButtonProps {
  readonly identifier: string;
  /** It has no process that would end. */
  readonly isWaiting?: boolean;
  readonly isOffered?: boolean;
}

export function StopButton({ identifier, isWaiting = false, isOffered = true }: StopButtonProps) {
  const name = shownLine(identifier);
  const what = isWaiting ? 'It does not go on by itself then' : 'Its processes end';
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
