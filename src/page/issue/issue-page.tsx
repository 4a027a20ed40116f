import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks';
import type { IssueView, RuleView, RunView, StateView } from '../../api/schemas.js';
import { RetryButton, StopButton } from '../board/lists.js';
import { QuestionCards } from '../board/needs-you.js';
import { ActionResult, Ago, BudgetBar, READ_MS, Sentence, TrackerLink, useAction } from '../components/controls.js';
import { useSession } from '../components/session.js';
import { ApiError, getJson, issuePath } from '../live/api.js';
import type { LiveTimeline } from '../live/live-view.js';
import { runCost } from '../model/numbers.js';
import { askingNeed, parkedNeed } from '../model/question-cards.js';
import { boardHref, issueHref } from '../model/route.js';
import { shownLine } from '../model/shown-text.js';
import { outcomeWords, ruleWords, standingKey, standingWords, statusWords, withLive } from '../model/words.js';
import { RunPanel } from './run-panel.js';

interface IssuePageProps {
  readonly identifier: string;
  /** `null`: the newest. */
  readonly runId: string | null;
  readonly state: StateView;
  readonly timeline: LiveTimeline | null;
}

/** Everything about one issue: its state, questions, rules and runs. */
export function IssuePage({ identifier, runId, state, timeline }: IssuePageProps) {
  const { issue: details, error } = useIssue(identifier, standingKey(state, identifier));
  const top = useRef<HTMLDivElement>(null);
  const isThere = details !== null;
  // A new view starts at the top, with the focus on its heading.
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
      {error === null ? null : <p class="is-bad">The details may be old: {shownLine(error.message)}</p>}
      <div class="columns">
        <div class="lists">
          {/* Before the first run there are only the rules to show. */}
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

/** Name, status, actions and questions of the issue. */
function IssueHead({ issue }: { readonly issue: IssueView }) {
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

/** Facts from the tracker, and the budget. */
function IssueFacts({ issue }: { readonly issue: IssueView }) {
  return (
    <section class="facts" aria-labelledby="facts-title">
      <h2 id="facts-title">Issue</h2>
      <dl>
        <dt>State</dt>
        <dd>{shownLine(issue.state)}</dd>
        <dt>Author</dt>
        <dd>{issue.author === null ? 'unknown to the tracker' : <Author author={issue.author} />}</dd>
        {issue.priority === null ? null : <Fact name="Priority">{String(issue.priority)}</Fact>}
        {issue.labels.length === 0 ? null : (
          <Fact name="Labels">
            <span class="tags">
              {issue.labels.map((label) => (
                <bdi key={label} class="tag">
                  {shownLine(label)}
                </bdi>
              ))}
            </span>
          </Fact>
        )}
        {issue.blocked_by.length === 0 ? null : <Blockers blockers={issue.blocked_by} />}
        <dt>Tokens</dt>
        <dd>
          <BudgetBar budget={issue.budget} />
        </dd>
        {issue.created_at === null ? null : (
          <Fact name="Created">
            <Ago at={issue.created_at} />
          </Fact>
        )}
        {issue.updated_at === null ? null : (
          <Fact name="Updated">
            <Ago at={issue.updated_at} />
          </Fact>
        )}
      </dl>
    </section>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: preact.ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Author({ author }: { readonly author: NonNullable<IssueView['author']> }) {
  const trust = author.trusted === null ? '' : author.trusted ? 'trusted' : 'not trusted';
  return (
    <>
      <bdi>{shownLine(author.login)}</bdi>{' '}
      {trust === '' ? null : <span class={author.trusted ? 'faint' : 'tag tag-warn'}>{trust}</span>}
    </>
  );
}

function Blockers({ blockers }: { readonly blockers: IssueView['blocked_by'] }) {
  return (
    <>
      <dt>Blocked by</dt>
      {blockers.map(({ id, identifier, state }) => (
        <dd key={id ?? identifier}>
          {identifier === null ? shownLine(id ?? '?') : <a href={issueHref(identifier)}>{shownLine(identifier)}</a>}{' '}
          <span class="faint">{state === null ? 'not found' : shownLine(state)}</span>
        </dd>
      ))}
    </>
  );
}

/** The rules for a start, with what to do about those that fail. */
function Rules({ rules, isClaimed }: { readonly rules: readonly RuleView[]; readonly isClaimed: boolean }) {
  if (rules.length === 0) return null;
  const failed = rules.filter(({ pass }) => !pass).length;
  return (
    <section class="rules" aria-labelledby="rules-title">
      <h2 id="rules-title">
        Rules for a start{' '}
        <span class="count">{failed === 0 ? 'all pass' : `${failed} of ${rules.length} do not pass`}</span>
      </h2>
      {isClaimed ? <p class="faint">They are checked again before its next run.</p> : null}
      <ul>
        {rules.map(({ rule, pass, why, action }) => (
          <li key={rule} class={pass ? 'rule' : 'rule rule-fails'}>
            <span class="mark" role="img" aria-label={pass ? 'passes' : 'does not pass'}>
              {pass ? '✓' : '✕'}
            </span>
            <div>
              <span>{ruleWords(rule)}</span>
              {pass || why === null ? null : (
                <p class="rule-why">
                  <Sentence text={shownLine(why)} />
                </p>
              )}
              {pass || action === null ? null : (
                <p class="rule-action">
                  <Sentence text={shownLine(action)} />
                </p>
              )}
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The runs, newest first, with outcome and cost. */
function RunList({ issue, selected }: { readonly issue: IssueView; readonly selected: string | null }) {
  if (issue.history.length === 0) return null;
  const left = issue.runs - issue.history.length;
  return (
    <section class="run-list" aria-labelledby="runs-title">
      <h2 id="runs-title">
        Runs <span class="count">{issue.runs}</span>
      </h2>
      <ul>
        {issue.history.map((run) => (
          <li key={run.run_id}>
            <a
              class="run"
              href={issueHref(issue.issue_identifier, run.run_id)}
              aria-current={run.run_id === selected ? 'true' : undefined}
            >
              <span class={`dot ${dotOf(run)}`} aria-hidden="true" />
              <span class="run-number">Run {run.run_number}</span>
              <span class="run-outcome">{outcomeWords(run)}</span>
              <span class="faint">
                <Ago at={run.started_at} /> · {runCost(run)}
              </span>
            </a>
          </li>
        ))}
      </ul>
      {left > 0 ? <p class="faint">{left} older ones are not listed.</p> : null}
    </section>
  );
}

function dotOf({ outcome }: RunView): string {
  if (outcome === null) return 'dot-live';
  return outcome === 'success' ? 'dot-good' : outcome === 'cancelled' ? 'dot-warn' : 'dot-bad';
}

/** A message to the running agent, which receives it during its current turn. */
function MessageBox({ identifier }: { readonly identifier: string }) {
  const { drafts } = useSession();
  const key = `message/${identifier}`;
  const id = useId();
  const [text, setText] = useState(drafts.get(key));
  const [state, send, clear] = useAction(READ_MS);
  const write = (value: string) => {
    drafts.set(key, value);
    setText(value);
    if (state.kind !== 'busy') clear();
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    if (text.trim() === '') return;
    if (!(await send(issuePath(identifier, '/message'), { text: text.trim() }))) return;
    drafts.drop(key);
    setText('');
  };
  return (
    <form class="message-box" onSubmit={(event) => void submit(event)}>
      <label for={id}>Message to the agent of {shownLine(identifier)}</label>
      <div class="message-row">
        <textarea
          id={id}
          rows={1}
          value={text}
          placeholder="The agent reads this during its turn"
          onInput={(event) => write(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit();
          }}
        />
        <button type="submit" class="button plain" aria-disabled={state.kind === 'busy' || text.trim() === ''}>
          Send message
        </button>
      </div>
      <ActionResult state={state} />
    </form>
  );
}

interface IssueDetails {
  readonly issue: IssueView | null;
  /** Why the details are missing or old. */
  readonly error: ApiError | null;
}

const NOTHING: IssueDetails = { issue: null, error: null };

/** The details of an issue, read again when `standing` changes or a request was sent from this page. */
function useIssue(identifier: string, standing: string): IssueDetails {
  const { access, changes } = useSession();
  const [known, setKnown] = useState<{ readonly of: string; readonly details: IssueDetails }>({
    of: '',
    details: NOTHING,
  });
  // Runs again when `standing` or `changes` changes.
  useEffect(() => {
    const asking = new AbortController();
    getJson<IssueView>(access, issuePath(identifier), asking.signal).then(
      (issue) => setKnown({ of: identifier, details: { issue, error: null } }),
      (error) => {
        if (asking.signal.aborted || !(error instanceof ApiError)) return;
        // Old details stay visible, unless the daemon does not know the issue.
        setKnown((before) => {
          const issue = before.of === identifier && error.status !== 404 ? before.details.issue : null;
          return { of: identifier, details: { issue, error } };
        });
      },
    );
    return () => asking.abort();
  }, [access, identifier, standing, changes]);
  return known.of === identifier ? known.details : NOTHING;
}
