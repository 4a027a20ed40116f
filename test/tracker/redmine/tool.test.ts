import { expect, test } from 'vitest';
import { toolOf } from './tool-bed.js';

test("a move of the run's own issue is reported", async () => {
  const { fake, call } = await toolOf();

  const done = await call('PUT', '/issues/1.json', { issue: { status_id: 3, notes: 'Look at it.' } });

  expect(done).toEqual({ success: true, movedTo: 'Resolved', told: { status: 204, body: null } });
  expect(fake.board.get('1')).toMatchObject({ state: 'Resolved', comments: [{ body: 'Look at it.' }] });
});

test('changes of other issues and reads report no move', async () => {
  const { call } = await toolOf();

  const changed = await call('PUT', '/issues/2.json', { issue: { status_id: 5 } });
  const read = await call('GET', '/issues/1.json?include=journals,relations,allowed_statuses');

  expect(changed).toMatchObject({ success: true, movedTo: undefined });
  expect(read).toMatchObject({
    success: true,
    movedTo: undefined,
    told: { body: { issue: { id: 1, journals: [{}] } } },
  });
});

test('a move that Redmine ignores is a failure with the allowed states', async () => {
  const { fake, call } = await toolOf();
  fake.forbidden.add('Closed');

  const { success, movedTo, told } = await call('PUT', '/issues/1.json', { issue: { status_id: '5' } });

  expect({ success, movedTo }).toEqual({ success: false, movedTo: undefined });
  expect(told.body.errors).toEqual([expect.stringMatching(/left RM-1 in "New".*may go to: In Progress/)]);
});

test('a list always has the filter of the project', async () => {
  const { fake, call } = await toolOf();

  const all = await call('GET', '/issues.json?status_id=*&limit=50');
  const same = await call('GET', '/issues.json?project_id=demo&status_id=*');

  for (const { told } of [all, same]) {
    expect(told.body.issues.map(({ id }: { id: number }) => id)).toEqual([2, 1]);
  }
  expect(fake.server.requests.map(({ url }) => url.searchParams.get('subproject_id'))).toEqual(['!*', '!*']);
});

test('with include_subprojects their issues are in reach', async () => {
  const { call } = await toolOf({ include_subprojects: true });

  const list = await call('GET', '/issues.json?status_id=*');
  const one = await call('GET', '/issues/4.json');

  expect(list.told.body.issues).toHaveLength(3);
  expect(one.success).toBe(true);
});

test.each([
  '/issue_statuses.json',
  '/trackers.json',
  '/projects/demo.json',
  '/projects/demo/versions.json',
  '/projects/demo/issue_categories.json',
  '/projects/demo/memberships.json?limit=10',
  '/issues/1/relations.json',
  '/issues/1',
])('GET %s is in reach', async (path) => {
  const { call } = await toolOf();

  expect(await call('GET', path)).toMatchObject({ success: true, told: { status: 200 } });
});

test('a new issue belongs to the project', async () => {
  const { fake, call, changes } = await toolOf();

  const made = await call('POST', '/issues.json', { issue: { subject: 'Found on the way', parent_issue_id: '#1' } });
  const empty = await call('POST', '/issues.json', { issue: { project_id: 'demo', description: 'x' } });

  expect(made).toMatchObject({ success: true, told: { status: 201 } });
  expect(changes()[0]?.body).toEqual({
    issue: { subject: 'Found on the way', parent_issue_id: 1, project_id: 'demo' },
  });
  expect(fake.projectOf.get('5')).toBe(1);
  expect(empty).toMatchObject({ success: false, told: { status: 422, body: { errors: ['Subject cannot be blank'] } } });
});

test('relations and watchers can be added', async () => {
  const { fake, call, changes } = await toolOf();

  await call('POST', '/issues/1/relations.json', { relation: { issue_to_id: '2', relation_type: 'blocks' } });
  await call('POST', '/issues/1/watchers.json', { user_id: 6 });

  expect(fake.board.get('2')?.blockedBy).toEqual(['1']);
  expect(changes().map(({ url, body }) => [url.pathname, body])).toEqual([
    ['/issues/1/relations.json', { relation: { issue_to_id: 2, relation_type: 'blocks' } }],
    ['/issues/1/watchers.json', { user_id: 6 }],
  ]);
});

test('a relation is in reach when one of its issues is', async () => {
  const { fake, call } = await toolOf();
  fake.board.get('1')?.blockedBy.push('3');
  fake.board.get('3')?.blockedBy.push('4');

  const [near, far, none] = [
    await call('GET', '/relations/1.json'),
    await call('GET', '/relations/2.json'),
    await call('GET', '/relations/9.json'),
  ];

  expect(near).toMatchObject({ success: true, told: { body: { relation: { issue_id: 3 } } } });
  for (const { told } of [far, none]) expect(told).toMatchObject({ error: { code: 'refused' } });
});

test('SEC-20 the API key is removed from answers', async () => {
  const { fake, call } = await toolOf();

  const { success, told } = await call('GET', '/users/current.json');

  expect(success).toBe(true);
  expect(told.body.user).toMatchObject({ login: 'baton' });
  expect(JSON.stringify(told)).not.toContain(fake.token);
  expect(told.body.user).not.toHaveProperty('api_key');
});

test.each([true, 'read_only'])('private notes are removed from answers: %s', async (raw_tool) => {
  const { fake, call } = await toolOf({ raw_tool });
  const said = (body: string) => ({ author: 'ann', isMember: true, body, createdAt: '2026-02-01T00:00:00Z' });
  fake.board.get('1')?.comments.push(said('Aloud.'), said('Psst.'));
  fake.privateNotes.add('Psst.');

  const one = await call('GET', '/issues/1.json?include=journals');
  const journals = [{ notes: 'Aloud.', private_notes: false }, { notes: 'Psst.', private_notes: true }, { notes: '' }];
  fake.server.fault = ({ url }) =>
    url.searchParams.get('include') === 'journals' ? { body: { issues: [{ id: 1, journals }, { id: 2 }] } } : null;
  const many = await call('GET', '/issues.json?include=journals');

  expect(JSON.stringify(one.told)).toContain('Aloud.');
  expect(JSON.stringify([one.told, many.told])).not.toContain('Psst.');
  expect(many.told.body.issues).toEqual([{ id: 1, journals: [journals[0], journals[2]] }, { id: 2 }]);
});

test('a move that cannot be verified has a warning', async () => {
  const { fake, call } = await toolOf();
  fake.server.fault = ({ url }) => (url.search.includes('allowed_statuses') ? { status: 502, raw: '' } : null);

  const { success, movedTo, told } = await call('PUT', '/issues/1.json', { issue: { status_id: 3 } });

  expect({ success, movedTo }).toEqual({ success: true, movedTo: 'Resolved' });
  expect(told).toEqual({
    status: 204,
    body: { warnings: [expect.stringMatching(/accepted the change of RM-1, do not/)] },
  });
});

test('a rate limit after a move ends the turn and says that the change is made', async () => {
  const { fake, call } = await toolOf();
  fake.server.fault = ({ url }) => (url.search.includes('allowed_statuses') ? { status: 429, raw: '' } : null);

  const { success, limitedUntilMs, told } = await call('PUT', '/issues/1.json', { issue: { status_id: 3 } });

  expect(success).toBe(false);
  expect(limitedUntilMs).toBeGreaterThan(Date.now());
  expect(told.error).toMatchObject({
    code: 'tracker_rate_limited',
    message: expect.stringMatching(/accepted the change of RM-1, do not repeat it; .* end your turn/),
  });
});

test('read_only takes GET and nothing else', async () => {
  const { tool, call, changes } = await toolOf({ raw_tool: 'read_only' });

  const put = await call('PUT', '/issues/1.json', { issue: { notes: 'x' } });
  const get = await call('GET', '/issues/1.json');

  expect(put.told).toMatchObject({ error: { code: 'refused' } });
  expect(get.success).toBe(true);
  expect(changes()).toEqual([]);
  expect(JSON.stringify(tool.inputSchema)).not.toContain('PUT');
});

test('its description names its reach and update_issue', async () => {
  const { tool } = await toolOf();

  for (const words of ['project demo', '"method": "PUT"', 'update_issue']) expect(tool.description).toContain(words);
});

test('a failure of the tracker has its code', async () => {
  const { fake, call } = await toolOf();
  fake.server.fault = ({ url }) => (url.pathname === '/trackers.json' ? { status: 503, raw: fake.token } : null);

  const { success, told } = await call('GET', '/trackers.json');

  expect(success).toBe(false);
  expect(told.error.code).toBe('tracker_status');
  expect(JSON.stringify(told)).not.toContain(fake.token);
});
