import { expect, test } from 'vitest';
import { toolOf } from './tool-bed.js';

test("a move of the run's own issue is reported", async () => {
  const { jira, call } = await toolOf();

  const done = await call('POST', '/issue/ABC-1/transitions', { transition: { id: '41' } });

  expect(done).toEqual({ success: true, movedTo: 'Done', told: { status: 204, body: null } });
  expect(jira.board.get('10001')?.state).toBe('Done');
});

test('changes of other issues and reads report no move', async () => {
  const { call } = await toolOf();

  const changed = await call('POST', '/issue/ABC-2/transitions', { transition: { id: '41' } });
  const read = await call('GET', '/rest/api/3/issue/ABC-1?fields=summary,status');

  expect(changed).toMatchObject({ success: true, movedTo: undefined });
  expect(read).toMatchObject({
    success: true,
    told: { status: 200, body: { key: 'ABC-1', fields: { summary: 'Title 1' } } },
  });
});

test('a new issue gets the id of the project and a parent in the project', async () => {
  const { jira, call } = await toolOf();

  const fields = { summary: 'Follow up', project: { key: 'abc' }, parent: { key: 'ABC-2' }, labels: ['x'] };
  const { success, told } = await call('POST', '/issue', { fields });

  expect([success, told.status]).toEqual([true, 201]);
  expect(jira.server.requests.find(({ url }) => url.pathname.endsWith('/issue'))?.body).toEqual({
    fields: { summary: 'Follow up', labels: ['x'], parent: { id: '10002' }, project: { id: '10000' } },
  });
});

test('issues are linked by their ids', async () => {
  const { jira, call } = await toolOf();

  const ends = { inwardIssue: { key: 'ABC-2' }, outwardIssue: { id: 10001 } };
  const { success } = await call('POST', '/issueLink', { type: { name: 'Blocks' }, ...ends });

  expect(success).toBe(true);
  expect(jira.board.get('10001')?.blockedBy).toEqual(['10002']);
});

test.each([
  ...[
    '/status',
    '/priority',
    '/issuetype',
    '/field',
    '/myself',
    '/project/ABC',
    '/project/ABC/statuses',
    '/project/10000',
  ],
  ...['/issue/ABC-1/comment', '/issue/10002/transitions', '/issue/ABC-1/changelog', '/issue/ABC-1/properties/my.key'],
])('GET %s is in reach', async (path) => {
  const { call } = await toolOf();

  expect(await call('GET', path)).toMatchObject({ success: true, told: { status: 200 } });
});

test('a rejection by Jira is an answer for the agent', async () => {
  const { call } = await toolOf();

  const refused = await call('PUT', '/issue/ABC-1', { fields: { summary: '' } });
  const missing = await call('GET', '/issue/ABC-999');

  expect(refused).toMatchObject({
    success: false,
    told: { status: 400, body: { errors: { summary: expect.any(String) } } },
  });
  expect(missing).toMatchObject({ success: false, told: { error: { code: 'refused' } } });
});

test.each([
  [{ status: 401, body: {} }, 'tracker_auth'],
  [{ status: 500, raw: '<html>' }, 'tracker_status'],
  [{ status: 429, headers: { 'retry-after': '9' }, body: {} }, 'tracker_rate_limited'],
  [{ raw: '{"a"' }, 'tracker_response'],
  [{ raw: '{"a": 1}', cutAt: 3 }, 'tracker_request'],
  [{ body: { id: 'x', fields: { project: { id: '10000' } } } }, 'tracker_response'],
])('a server error is a failure with a code: %j', async (fault, code) => {
  const { jira, call } = await toolOf();
  jira.server.fault = () => fault;

  const { success, told } = await call('GET', '/issue/ABC-1');

  expect([success, told.error.code]).toEqual([false, code]);
});

test('a read-only tool refuses changes', async () => {
  const { tool, call, sent } = await toolOf({ raw_tool: 'read_only' });

  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    expect(await call(method, '/issue/ABC-1', {})).toMatchObject({
      success: false,
      told: { error: { code: 'refused' } },
    });
  }
  expect(sent()).toEqual([]);
  expect(await call('GET', '/issue/ABC-1')).toMatchObject({ success: true });
  expect(tool.inputSchema).toMatchObject({ properties: { method: { enum: ['GET'] } } });
});

test('a null body is no body', async () => {
  const { jira, call } = await toolOf();

  expect(await call('GET', '/issue/ABC-1', null)).toMatchObject({ success: true });
  expect(jira.server.requests.every(({ body }) => body === null)).toBe(true);
  expect(jira.server.requests.some(({ headers }) => 'content-type' in headers)).toBe(false);
});

test('an issue is never deleted', async () => {
  const { call, sent } = await toolOf();

  expect((await call('DELETE', '/issue/ABC-1')).success).toBe(false);
  expect(sent()).toEqual([]);
});

test.each([
  { method: 'get', path: '/issue/ABC-1' },
  { method: 'GET' },
  { method: 'GET', path: 7 },
  { path: '/issue/ABC-1' },
  { method: 'GET', path: '/issue/ABC-1', headers: {} },
  { method: 'GET', path: '/issue/ABC-1', body: {} },
])('an invalid call is refused: %j', async (input) => {
  const { tool, issue, sent } = await toolOf();

  const { success, text } = await tool.call(input, { issue, runId: 'r' });

  expect([success, JSON.parse(text).error.code]).toEqual([false, 'refused']);
  expect(sent()).toEqual([]);
});

test('SEC-20 no result contains the token in any encoding', async () => {
  const { jira, tool, issue } = await toolOf();
  jira.server.fault = ({ headers, url }) =>
    url.searchParams.get('fields') === 'project'
      ? null
      : { body: { seen: headers, token: jira.token, twice: encodeURIComponent(String(headers.authorization)) } };

  const { text } = await tool.call({ method: 'GET', path: '/issue/ABC-1' }, { issue, runId: 'r' });

  const sent = Buffer.from(`baton@example.org:${jira.token}`).toString('base64').replace(/=+$/, '');
  for (const secret of [jira.token, sent, encodeURIComponent(sent)]) expect(text).not.toContain(secret);
  expect(JSON.parse(text).body.seen.authorization).toMatch(/^Basic \*\*\*=*$/);
});

test('long answers are cut', async () => {
  const { jira, call } = await toolOf();
  jira.fieldsOf.set('10001', { environment: 'x'.repeat(300_000) });

  const long = await call('GET', '/issue/ABC-1');
  const huge = await call('PUT', '/issue/ABC-1', { fields: { environment: 'x'.repeat(300_000) } });

  expect(long.told).toMatchObject({ truncated: true });
  expect(JSON.stringify(long.told).length).toBeLessThan(110_000);
  expect(huge).toMatchObject({ success: false, told: { error: { code: 'invalid_input' } } });
});

test('a redirect is not followed', async () => {
  const { jira, call, sent } = await toolOf();
  jira.server.fault = () => ({ status: 302, headers: { location: 'https://evil.example/' } });

  const { success, told } = await call('GET', '/issue/ABC-1');

  expect([success, told.error.code, sent().length]).toEqual([false, 'tracker_status', 1]);
});
