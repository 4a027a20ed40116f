import { useMemo } from 'preact/hooks';
import type { IssueView } from '../../status/shapes/issue-shape.js';
import { QuestionCards } from '../board/needs-you.js';
import { RetryButton } from '../board/lists.js';
import { StopButton } from '../board/running.js';
import { askingNeed, parkedNeed } from '../model/needs-you.js';
import { boardHref } from '../model/route.js';
import { shownLine } from '../model/shown-text.js';
import { standingWords } from '../model/standing.js';
import { statusWords } from '../model/words.js';
import { TrackerLink } from '../parts/issue-name.js';
import { useSession } from '../parts/session.js';
import { Sentence } from '../parts/time.js';
import { MessageBox } from './message-box.js';

/** Which issue, where it stands, what it waits for, and what can be done. */
export function IssueHead({ issue }: { readonly issue: IssueView }) {
  const { asking, parked } = issue;
  const needs = useMemo(() => {
    const need = asking ? askingNeed(asking) : parked ? parkedNeed(parked) : null;
    return need ? [need] : [];
  }, [asking, parked]);
  return (
    <div class="head issue-head">
      <p class="crumbs">
        <a href={boardHref()}>All issues</a>
      </p>
      <h1 class="headline" tabIndex={-1}>
        <span class="identifier">{shownLine(issue.issue_identifier)}</span>{' '}
        <bdi>{shownLine(issue.title) || '(no title)'}</bdi>
      </h1>
      <p class="standing">
        <span class={`status status-${issue.status}`}>{statusWords(issue.status)}</span>{' '}
        <Sentence text={shownLine(standingWords(issue))} />
      </p>
      {issue.running?.last_message ? (
        <p class="row-says">
          <Sentence text={shownLine(issue.running.last_message)} />
        </p>
      ) : null}
      {parked && parked.question === null ? (
        <p class="row-says">
          <Sentence text={shownLine(parked.message)} />
        </p>
      ) : null}
      <div class="actions">
        <Actions issue={issue} />
        <TrackerLink url={issue.issue_url} />
      </div>
      <section class="group-needs-you" aria-label="Questions">
        <h2 class="unseen" tabIndex={-1}>
          Questions
        </h2>
        <QuestionCards needs={needs} withName={false} />
      </section>
      {issue.status === 'running' ? <MessageBox identifier={issue.issue_identifier} /> : null}
    </div>
  );
}

function Actions({ issue }: { readonly issue: IssueView }) {
  const { canAct } = useSession();
  if (!canAct) return null;
  return (
    <>
      {issue.running ? (
        <StopButton identifier={issue.issue_identifier} isOffered={issue.running.stopping === null} />
      ) : null}
      {issue.parked ? <RetryButton identifier={issue.issue_identifier}>Retry</RetryButton> : null}
      {issue.retrying ? <RetryButton identifier={issue.issue_identifier}>Retry now</RetryButton> : null}
      {issue.retrying ? <StopButton identifier={issue.issue_identifier} isWaiting={true} /> : null}
    </>
  );
}
