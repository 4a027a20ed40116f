import type { IssueView } from '../../status/shapes/issue-shape.js';
import { issueHref } from '../model/route.js';
import { shownLine } from '../model/shown-text.js';
import { BudgetBar } from '../parts/budget-bar.js';
import { Ago } from '../parts/time.js';

/** What the tracker says of the issue, and what it has cost. */
export function IssueFacts({ issue }: { readonly issue: IssueView }) {
  return (
    <section class="facts" aria-labelledby="facts-title">
      <h2 id="facts-title">Issue</h2>
      <dl>
        <dt>State</dt>
        <dd>{shownLine(issue.state)}</dd>
        <dt>Author</dt>
        <dd>{issue.author === null ? 'not told by the tracker' : <Author author={issue.author} />}</dd>
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
