import { type FieldTest, JqlError, parseJql } from './fake-jira-jql.js';
import { issueNamed, issueRecord, type JiraWorld, projectOf, refusal } from './fake-jira-records.js';
import type { FakeAnswer, FakeRequest } from './fake-server.js';
import type { FakeIssue } from './fake-tracker.js';

export function searched(body: FakeRequest['body'], jira: JiraWorld): FakeAnswer {
  const { jql, fields, maxResults, nextPageToken, reconcileIssues = [], ...rest } = body;
  if (Object.keys(rest).length > 0) return refusal('Invalid request payload. Refer to the REST API documentation.');
  if (reconcileIssues.length > 50 || reconcileIssues.some((id: unknown) => !Number.isSafeInteger(id)))
    return refusal('Invalid request payload. Refer to the REST API documentation.');
  const start = nextPageToken === undefined ? 0 : Number(Buffer.from(nextPageToken, 'base64').toString());
  if (!Number.isInteger(start)) return refusal('The provided next page token is invalid or expired.');
  try {
    const test = parseJql(jql, jqlFields(jira));
    const found = [...jira.board.values()].filter(test).sort((a, b) => a.createdAt.localeCompare(b.createdAt));
    const end = start + Math.min(maxResults, jira.pageLimit);
    const isLast = end >= found.length;
    const issues = found.slice(start, end).map((issue) => issueRecord(issue, jira, fields));
    const next = isLast ? {} : { nextPageToken: Buffer.from(String(end)).toString('base64') };
    return { body: { issues, ...next, isLast } };
  } catch (error) {
    if (error instanceof JqlError) return refusal(error.message);
    throw error;
  }
}

function jqlFields(jira: JiraWorld): ReadonlyMap<string, FieldTest<FakeIssue>> {
  const missing = (value: string, field: string) =>
    new JqlError(`The value '${value}' does not exist for the field '${field}'.`);
  return new Map<string, FieldTest<FakeIssue>>([
    [
      'project',
      (values) => {
        const ids = values.map((value) => jira.projects.find(({ id, key }) => id === value || key === value)?.id);
        if (ids.includes(undefined)) throw missing(values.join(), 'project');
        return (issue) => ids.includes(projectOf(issue, jira)?.id);
      },
    ],
    [
      'status',
      (values) => {
        const is = (value: string) => jira.statuses.filter(({ id, name }) => id === value || sameName(name, value));
        const stranger = values.find((value) => is(value).length === 0);
        if (stranger !== undefined) throw missing(stranger, 'status');
        const names = values.flatMap(is).map(({ name }) => name);
        return ({ state }) => names.includes(state);
      },
    ],
    [
      'id',
      (values) =>
        ({ id, identifier }) =>
          values.includes(id) || values.includes(identifier),
    ],
    [
      'labels',
      (values) =>
        ({ labels }) =>
          labels.some((label) => values.includes(label)),
    ],
    [
      'assignee',
      (values) =>
        ({ assignee }) =>
          assignee !== null && values.includes(`557058:${assignee}`),
    ],
  ]);
}

function sameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** Missing and hidden issues are silently left out. */
export function fetched(body: FakeRequest['body'], jira: JiraWorld): FakeAnswer {
  const { issueIdsOrKeys, fields, ...rest } = body;
  const isGood = Array.isArray(issueIdsOrKeys) && issueIdsOrKeys.length > 0 && issueIdsOrKeys.length <= 100;
  if (!isGood || Object.keys(rest).length > 0) return refusal('Invalid request payload.');
  const found = new Set(issueIdsOrKeys.flatMap((name: string) => issueNamed(name, jira) ?? []));
  const failed = [...found].filter(({ id }) => jira.failing.has(id));
  const issues = [...found].filter(({ id }) => !jira.failing.has(id)).map((issue) => issueRecord(issue, jira, fields));
  const issueErrors = failed.map(({ id }) => ({ id, errorMessage: 'The issue could not be loaded.' }));
  return { body: { expand: 'names,schema', issues, ...(failed.length === 0 ? {} : { issueErrors }) } };
}
