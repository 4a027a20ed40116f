import { describe, expect, test } from 'vitest';
import { toolOf } from './tool-bed.js';

describe('SEC-22 calls outside the table are refused, and nothing is sent', () => {
  test.each([
    ...['/issue/OTHER-3', '/issue/OTHER-3/comment', '/issue/other-3/transitions', '/issue/XABC-1', '/project/OTHER'],
    ...['/project/OTHER/statuses', '/project/10001', '/project', '/project/search', '/project/type', '/search'],
    ...[
      '/search/jql?jql=project%3DOTHER',
      '/search?jql=project=OTHER',
      '/jql/match',
      '/issue/bulkfetch',
      '/issue/bulk',
    ],
    ...['/issue/picker?query=x', '/issue/createmeta', '/issue/archive', '/issue/properties', '/issue/watching'],
    ...['/user/search', '/users', '/myself/x', '/field/search', '/priority/search', '/attachment/1', '/issueLink/1'],
    ...['/serverInfo', '/webhook', '/filter/1', '/dashboard', '/expression/eval', '/permissions', '/', ''],
    ...['/rest/api/2/issue/ABC-1', '/rest/agile/1.0/board', '/rest/api/3/issue/OTHER-3', '/rest', '/rest/api/3'],
  ])('%j', async (path) => {
    const { call, sent } = await toolOf();

    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      const { success, told } = await call(method, path, method === 'GET' ? undefined : {});
      expect([success, told.error?.code]).toEqual([false, 'refused']);
    }
    expect(sent()).toEqual([]);
  });

  test.each([
    ...[
      '/issue/..%2F..%2Fsearch',
      '/issue/%2e%2e/project/OTHER',
      '/issue/ABC-1/../OTHER-3',
      '/issue/ABC-1%2F..%2FOTHER-3',
    ],
    ...[
      '/issue/ABC-1/properties/..%2F..%2FOTHER-3',
      '/issue/ABC-1/properties/%252e%252e',
      '/issue/ABC-1/properties/a%2Fb',
    ],
    ...['/project/ABC/..%2F..%2Fsearch%2Fjql', '/project/ABC/%2e%2e/OTHER', '/project/ABC/a;b', '/project/ABC/role/..'],
    ...['/issue/ABC-1;x', '/issue/ABC-1%00', '/issue/ABC-1#/x', '/issue\\ABC-1', '//evil.example/issue/ABC-1'],
    ...[
      'https://evil.example/issue/ABC-1',
      'issue/ABC-1',
      '/issue//ABC-1',
      '/issue/ABC-1\n',
      '/issue/ＡＢＣ-1',
      '/issue/\ud800',
    ],
    ...['/ISSUE/ABC-1', '/issue/ABC-1/comment/1/x', '/issue/ABC-1/comment/x', '/issue/ABC-1/worklog/move'],
    ...['/issue/ABC-1/attachments', '/issue/ABC-1/archive', '/issue/ABC-1/notify', `/issue/${'9'.repeat(40)}`],
  ])('other spellings of a path are refused: %j', async (path) => {
    const { call, sent } = await toolOf();

    for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
      const { success, told } = await call(method, path, method === 'GET' ? undefined : {});
      expect([success, told.error?.code]).toEqual([false, 'refused']);
    }
    expect(sent()).toEqual([]);
  });
});

describe('SEC-22 an issue of another project is refused after it was looked up', () => {
  test.each(['/issue/10003', '/issue/ABC-3', '/issue/10003/comment', '/issue/ABC-3/transitions'])(
    '%s',
    async (path) => {
      const { call, acted } = await toolOf();

      const { success, told } = await call('GET', path);

      expect(success).toBe(false);
      expect(told.error.message).toMatch(/is not in project ABC/);
      expect(acted()).toEqual([]);
    },
  );

  test('a call names an issue by the checked id, not by the written name', async () => {
    const { call, sent } = await toolOf();

    await call('GET', '/issue/abc-2/comment');

    expect(sent()).toEqual(['GET /issue/abc-2', 'GET /issue/10002/comment']);
  });

  test('a call names the project by its id', async () => {
    const { call, sent } = await toolOf();

    const { success } = await call('GET', '/project/abc/components');

    expect(success).toBe(true);
    expect(sent()).toEqual(['GET /project/10000/components']);
  });
});

describe('SEC-22 a body cannot name another project', () => {
  const summary = 'New';
  test.each<[string, string, unknown]>([
    ['POST', '/issue', { fields: { summary, project: { key: 'OTHER' } } }],
    ['POST', '/issue', { fields: { summary, project: { id: '10001' } } }],
    ['POST', '/issue', { fields: { summary, project: { key: 'ABC', id: '10001' } } }],
    ['POST', '/issue', { fields: { summary, project: { key: 'ABC', name: 'Other' } } }],
    ['POST', '/issue', { fields: { summary, project: 'ABC' } }],
    ['POST', '/issue', { fields: { summary } }],
    ['POST', '/issue', [{ fields: { summary, project: { key: 'ABC' } } }]],
    ['POST', '/issue', 'text'],
    [
      'POST',
      '/issue',
      { fields: { summary, project: { key: 'ABC' } }, update: { project: [{ set: { key: 'OTHER' } }] } },
    ],
    ['POST', '/issue', { fields: { summary, project: { key: 'ABC' }, parent: { key: 'OTHER-3' } } }],
    ['PUT', '/issue/ABC-1', { fields: { project: { key: 'OTHER' } } }],
    ['PUT', '/issue/ABC-1', { fields: { ' Project': { key: 'OTHER' } } }],
    ['PUT', '/issue/ABC-1', { update: { project: [{ set: { key: 'OTHER' } }] } }],
    ['PUT', '/issue/ABC-1', { update: { issuelinks: [{ add: { outwardIssue: { key: 'OTHER-3' } } }] } }],
    ['PUT', '/issue/ABC-1', { fields: { parent: { key: 'OTHER-3' } } }],
    ['PUT', '/issue/ABC-1', { fields: { parent: { key: 'ABC-2', id: '10003' } } }],
    ['PUT', '/issue/ABC-1', { fields: { parent: 'ABC-2' } }],
    ['PUT', '/issue/ABC-1', { update: { parent: [{ set: { key: 'OTHER-3' } }] } }],
    ['PUT', '/issue/ABC-1', { fields: [{ project: { key: 'OTHER' } }] }],
    ['PUT', '/issue/ABC-1', [1]],
    ['POST', '/issue/ABC-1/transitions', { transition: { id: '41' }, fields: { project: { key: 'OTHER' } } }],
    [
      'POST',
      '/issueLink',
      { type: { name: 'Blocks' }, inwardIssue: { key: 'OTHER-3' }, outwardIssue: { key: 'ABC-1' } },
    ],
    ['POST', '/issueLink', { type: { name: 'Blocks' }, inwardIssue: { key: 'ABC-1' }, outwardIssue: {} }],
    ['POST', '/issueLink', { type: { name: 'Blocks' }, inwardIssue: 'ABC-1', outwardIssue: { id: '10001' } }],
  ])('%s %s %j', async (method, path, body) => {
    const { call, sent } = await toolOf();

    const { success, told } = await call(method, path, body);

    expect([success, told.error?.code]).toEqual([false, 'refused']);
    expect(sent()).toEqual([]);
  });

  test.each<[string, string, object]>([
    ['PUT', '/issue/ABC-1', { fields: { parent: { id: '10003' } } }],
    ['PUT', '/issue/ABC-1', { fields: { parent: { key: 'ABC-3' } } }],
    ['POST', '/issue', { fields: { summary, project: { key: 'ABC' }, parent: { id: 10003 } } }],
    ['POST', '/issueLink', { type: { name: 'Blocks' }, inwardIssue: { id: '10003' }, outwardIssue: { key: 'ABC-1' } }],
    ['POST', '/issueLink', { type: { name: 'Blocks' }, inwardIssue: { key: 'ABC-1' }, outwardIssue: { key: 'ABC-3' } }],
  ])('not even by an id or a former key: %s %s %j', async (method, path, body) => {
    const { jira, call, acted } = await toolOf();

    const { success, told } = await call(method, path, body);

    expect([success, told.error?.code]).toEqual([false, 'refused']);
    expect(acted()).toEqual([]);
    expect(jira.board.size).toBe(3);
  });
});

describe('SEC-22 comments of others', () => {
  test.each(['GET', 'PUT', 'DELETE'])(
    '%s: the number of one does not lead there over an issue of ours',
    async (method) => {
      const { call, acted } = await toolOf();

      const foreign = await call(method, '/issue/ABC-1/comment/1000300', method === 'GET' ? undefined : { body: {} });
      const own = await call('GET', '/issue/ABC-1/comment/1000100');

      expect(foreign).toMatchObject({ success: false, told: { error: { code: 'refused' } } });
      expect(own).toMatchObject({ success: true, told: { body: { author: { displayName: 'ann' } } } });
      expect(acted().filter((line) => line.includes('1000300'))).toEqual([]);
    },
  );
});
