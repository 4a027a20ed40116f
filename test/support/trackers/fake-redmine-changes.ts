import type { FakeRedmine } from './fake-redmine.js';
import { allowedStatuses, issueRecord, NOTHING, projectFor, STATUSES } from './fake-redmine-records.js';
import type { FakeAnswer, FakeRequest } from './fake-server.js';

/** Applies a change as Redmine does for an authenticated account. */
export function changed({ method, url, body }: FakeRequest, redmine: FakeRedmine): FakeAnswer {
  const [, first, second = '', third] = url.pathname.replace(/\.json$/, '').split('/');
  if (first !== 'issues') return { status: 404, ...NOTHING };
  if (method === 'POST' && second === '') return created(body, redmine);
  const issue = redmine.board.get(second);
  if (!issue) return { status: 404, ...NOTHING };
  if (projectFor(second, redmine)?.isPublic === false) return { status: 403, ...NOTHING };
  if (method === 'POST' && third === 'watchers') return { status: 204, ...NOTHING };
  if (method === 'POST' && third === 'relations') {
    redmine.board.get(String(body.relation.issue_to_id))?.blockedBy.push(second);
    const relation = { id: 1, issue_id: Number(second), ...body.relation, delay: null };
    return { status: 201, body: { relation } };
  }
  if (method !== 'PUT' || third !== undefined) return { status: 404, ...NOTHING };
  const { status_id: status, notes, subject } = body.issue;
  if (subject === '') return { status: 422, body: { errors: ['Subject cannot be blank'] } };
  // Redmine silently ignores forbidden fields and applies the others.
  const to = allowedStatuses(issue, redmine, redmine.forbidden).find(({ id }) => String(id) === String(status));
  if (to) issue.state = to.name;
  if (typeof notes === 'string' && notes !== '' && redmine.canAddNotes) {
    issue.comments.push({ author: 'baton', isMember: true, body: notes, createdAt: new Date().toISOString() });
  }
  return { status: 204, ...NOTHING };
}

function created(body: FakeRequest['body'], redmine: FakeRedmine): FakeAnswer {
  const { project_id: wanted, subject } = body.issue;
  const seen = redmine.projects.filter(({ isPublic }) => isPublic);
  const project = seen.find(({ id, identifier }) => identifier === wanted || id === wanted);
  const errors = [
    ...(project ? [] : ['Project cannot be blank', 'Tracker cannot be blank', 'Status cannot be blank']),
    ...(subject ? [] : ['Subject cannot be blank']),
  ];
  if (!project || errors.length > 0) return { status: 422, body: { errors } };
  const issue = redmine.add({ title: subject, author: 'baton', state: STATUSES[0]?.name ?? 'New' });
  redmine.projectOf.set(issue.id, project.id);
  return { status: 201, body: { issue: issueRecord(issue, redmine) } };
}
