import { type GitlabWorld, refusal } from './fake-gitlab.js';
import { issueShape, noteShape } from './fake-gitlab-shapes.js';
import type { FakeAnswer, FakeRequest } from './fake-server.js';
import type { FakeIssue } from './fake-tracker.js';

const KNOWN = ['add_labels', 'remove_labels', 'state_event', 'title', 'description'];

export function changeIssue(issue: FakeIssue, body: FakeRequest['body'], world: GitlabWorld): FakeAnswer {
  const stranger = Object.keys(body).find((key) => !KNOWN.includes(key));
  if (stranger !== undefined) return { status: 400, body: { error: `the fake does not know ${stranger}` } };
  if (Object.keys(body).length === 0) return { status: 400, body: { error: 'labels, state_event, … are missing' } };
  if (body.title === '') return refusal(400, { title: ["can't be blank"] });
  if (world.isArchived) return refusal(403, '403 Forbidden');
  if (world.isChangeIgnored) return { body: issueShape(issue, world) };
  if (body.title !== undefined) issue.title = body.title;
  if (body.description !== undefined) issue.description = body.description;
  const carried = [...issue.labels, ...(world.stateLabels.includes(issue.state) ? [issue.state] : [])];
  const removed = namesIn(body.remove_labels);
  const labels = new Set([...carried.filter((each) => !removed.includes(each)), ...namesIn(body.add_labels)]);
  const wasOpen = issue.state !== 'closed';
  const isOpen = body.state_event === 'close' ? false : body.state_event === 'reopen' ? true : wasOpen;
  // The board has one state where GitLab has labels: one that stands for a state is it.
  const label = isOpen ? [...labels].find((each) => world.stateLabels.includes(each)) : undefined;
  issue.state = label ?? (isOpen ? 'opened' : 'closed');
  issue.labels = [...labels].filter((each) => each !== label);
  for (const name of labels) if (!world.labels.includes(name)) world.labels.push(name);
  return { body: issueShape(issue, world) };
}

export function createNote(issue: FakeIssue, body: FakeRequest['body'], world: GitlabWorld): FakeAnswer {
  if (world.locked.has(issue.id)) return refusal(403, '403 Forbidden');
  const { body: text } = body;
  if (typeof text !== 'string' || text === '') return { status: 400, body: { error: 'body is missing' } };
  const author = world.user ?? 'token';
  const createdAt = new Date().toISOString();
  issue.comments.push({ author, isMember: true, body: text, createdAt });
  return { status: 201, body: noteShape(author, text, createdAt, false) };
}

function namesIn(value: unknown): readonly string[] {
  return typeof value === 'string' ? value.split(',').filter((name) => name !== '') : [];
}
