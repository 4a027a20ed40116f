import type { FakeJira } from './fake-jira.js';
import { textIn, wrongInAdf } from './fake-jira-adf.js';
import { issueNamed, ME, MISSING, refusal, transitionsOf } from './fake-jira-records.js';
import type { FakeAnswer, FakeRequest } from './fake-server.js';
import type { FakeIssue } from './fake-tracker.js';

/** Applies a change as Jira does for an authenticated account. */
export function changed({ method, body }: FakeRequest, path: string, jira: FakeJira): FakeAnswer {
  const [, first, second = '', third] = path.split('/').map(decodeURIComponent);
  if (path === '/issue' && method === 'POST') return created(body, jira);
  if (path === '/issueLink' && method === 'POST') return linked(body, jira);
  const issue = first === 'issue' ? issueNamed(second, jira) : undefined;
  if (!issue) return MISSING;
  if (method === 'POST' && third === 'comment') return commented(body, issue);
  if (method === 'POST' && third === 'transitions') return moved(body, issue, jira);
  if (method === 'PUT' && third === undefined) {
    if (body?.fields?.summary === '') return refusal('', { summary: 'You must specify a summary of the issue.' });
    issue.title = body?.fields?.summary ?? issue.title;
  }
  return { status: 204, raw: '' };
}

function commented(body: FakeRequest['body'], issue: FakeIssue): FakeAnswer {
  if (wrongInAdf(body?.body) !== null) return refusal('INVALID_INPUT');
  const at = new Date().toISOString();
  issue.comments.push({ author: ME, isMember: true, body: textIn(body.body), createdAt: at });
  return { status: 201, body: { id: '10500', body: body.body, created: at } };
}

function moved(body: FakeRequest['body'], issue: FakeIssue, jira: FakeJira): FakeAnswer {
  const to = transitionsOf(issue, jira).find(({ id }) => id === body?.transition?.id)?.to;
  if (!to) return refusal('It seems that you have tried to perform a workflow operation that is not valid.');
  const isFilled = body.fields?.resolution !== undefined;
  if (jira.demanding.has(to.name) && !isFilled) return refusal('', { resolution: 'Resolution is required.' });
  issue.state = to.name;
  return { status: 204, raw: '' };
}

function created(body: FakeRequest['body'], jira: FakeJira): FakeAnswer {
  const { project, summary } = body?.fields ?? {};
  const found = jira.projects.find(({ id, key }) => id === project?.id || key === project?.key);
  if (!found) return refusal('', { project: 'Specify a valid project ID or key' });
  if (!summary) return refusal('', { summary: 'You must specify a summary of the issue.' });
  const { id, identifier } = jira.add({
    title: summary,
    author: ME,
    identifier: `${found.key}-${jira.board.size + 1}`,
  });
  return { status: 201, body: { id, key: identifier, self: `/rest/api/3/issue/${id}` } };
}

function linked(body: FakeRequest['body'], jira: FakeJira): FakeAnswer {
  const nameOf = (end: FakeRequest['body']) => String(end?.id ?? end?.key);
  // The inward issue blocks the outward issue.
  const [blocker, blocked] = [nameOf(body?.inwardIssue), nameOf(body?.outwardIssue)].map((name) =>
    issueNamed(name, jira),
  );
  if (!blocker || !blocked) return MISSING;
  if (body?.type?.name !== 'Blocks') return { status: 404, body: { errorMessages: ['No issue link type.'] } };
  blocked.blockedBy.push(blocker.id);
  return { status: 201, raw: '' };
}
