import { describe, expect, test } from 'vitest';
import { toolOf } from './tool-bed.js';

const CALLS: readonly [string, string, object][] = [
  ['PUT', '/issue/ABC-1', {}],
  ['POST', '/issue/ABC-1/transitions', { transition: { id: '41' } }],
  ['POST', '/issue', { fields: { summary: 'New', project: { key: 'ABC' } } }],
];

describe('SEC-22 an operation stays within its issue', () => {
  test.each<[string, object]>([
    ['removes a comment by its number', { comment: [{ remove: { id: '1000300' } }] }],
    ['edits a comment by its number', { comment: [{ edit: { id: '1000300', body: 'x' } }] }],
    ['edits one, written otherwise', { ' Comment': [{ edit: { id: '1000300', body: 'x' } }] }],
    ['removes a comment beside adding one', { comment: [{ add: { body: 'x' }, remove: { id: '1000300' } }] }],
    ['removes a comment after adding one', { comment: [{ add: { body: 'x' } }, { remove: { id: '1000300' } }] }],
    ['sets comments', { comment: [{ set: [] }] }],
    ['edits a worklog by its number', { worklog: [{ edit: { id: '1', timeSpent: '1h' } }] }],
    ['removes a worklog by its number', { worklog: [{ remove: { id: '1' } }] }],
    ['copies files of another issue', { attachment: [{ copy: { sourceIssues: [{ key: 'OTHER-3' }] } }] }],
    ['takes files', { attachment: [{ set: [{ id: '7' }] }] }],
    ['copies a field of another issue', { description: [{ copy: { sourceIssues: [{ key: 'OTHER-3' }] } }] }],
    ['edits a field', { timetracking: [{ edit: { originalEstimate: '1h' } }] }],
    ['is in capitals', { labels: [{ COPY: {} }] }],
    ['is none', { labels: [{}] }],
    ['is no list', { labels: { copy: {} } }],
    ['is a text', { labels: ['copy'] }],
  ])('an operation that %s is refused, and nothing is sent', async (_what, update) => {
    const { call, sent } = await toolOf();

    for (const [method, path, body] of CALLS) {
      const { success, told } = await call(method, path, { ...body, update });
      expect([success, told.error?.code]).toEqual([false, 'refused']);
    }
    expect(sent()).toEqual([]);
  });

  test.each(['comment', 'worklog', ' Worklog', 'attachment'])('fields.%s is refused', async (name) => {
    const { call, sent } = await toolOf();

    const { told } = await call('PUT', '/issue/ABC-1', { fields: { [name]: [{ id: '1000300' }] } });

    expect([told.error?.code, sent()]).toEqual(['refused', []]);
  });

  test('labels are added and removed, fields set, a comment and a worklog added', async () => {
    const { jira, call } = await toolOf();
    const update = {
      labels: [{ add: 'a' }, { remove: 'b' }],
      summary: [{ set: 'New' }],
      comment: [{ add: { body: {} } }],
      worklog: [{ add: { timeSpent: '1h' } }],
    };

    const { success } = await call('PUT', '/issue/ABC-1', { update });

    expect(success).toBe(true);
    expect(jira.server.requests.find(({ method }) => method === 'PUT')?.body).toEqual({ update });
  });
});

describe('SEC-22 items of an issue are changed and deleted one by one', () => {
  test.each(['comment', 'worklog', 'remotelink'])('%s', async (part) => {
    const { call, sent } = await toolOf();

    for (const method of ['PUT', 'DELETE']) {
      const { told } = await call(method, `/issue/ABC-1/${part}?globalId=x`, { ids: [1000300] });
      expect(told.error?.code).toBe('refused');
    }
    expect(sent()).toEqual([]);
  });

  test('a comment of the issue is deleted by its number', async () => {
    const { call, acted } = await toolOf();

    const { success } = await call('DELETE', '/issue/ABC-1/comment/1000100');

    expect(success).toBe(true);
    expect(acted()).toContain('DELETE /issue/10001/comment/1000100');
  });
});
