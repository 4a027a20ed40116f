import { expect, test } from 'vitest';
import { toolOf } from './tool-bed.js';

test.each([
  ['GET', '/issues/../users.json'],
  ['GET', '/issues/%2e%2e/users.json'],
  ['GET', '/projects/demo%2f..%2fother.json'],
  ['GET', '/projects/demo/..%2f..%2fusers.json'],
  ['GET', '//elsewhere.example.org/issues.json'],
  ['GET', 'http://elsewhere.example.org/issues.json'],
  ['GET', 'https://elsewhere.example.org/issues.json'],
  ['GET', 'issues.json'],
  ['GET', '/projects/other.json'],
  ['GET', '/projects/other/memberships.json'],
  ['GET', '/projects.json'],
  ['GET', '/projects/demo/wiki/index.json'],
  ['GET', '/users.json'],
  ['GET', '/users/1.json'],
  ['GET', '/users/current.json?include=memberships'],
  ['GET', '/my/account.json'],
  ['GET', '/issues/1.xml'],
  ['GET', '/issues/1.json?include=children'],
  ['GET', '/issues/1.json?key=0123456789'],
  ['GET', '/issues.json?key=0123456789'],
  ['GET', '/issues.json?project_id=other'],
  ['GET', '/issues.json?project_id=3'],
  ['GET', '/issues.json?subproject_id=*'],
  ['GET', '/issues.json?query_id=7'],
  ['GET', '/issues.json?f[]=project_id&op[project_id]==&v[project_id][]=3'],
  ['GET', '/issues/1/watchers.json'],
  ['DELETE', '/issues/1.json'],
  ['DELETE', '/relations/1.json'],
  ['PATCH', '/issues/1.json'],
  ['POST', '/issues/1.json'],
  ['POST', '/projects/demo.json'],
])('SEC-22 %s %s is refused, and nothing is sent', async (method, path) => {
  const { fake, call } = await toolOf();

  const { success, told } = await call(method, path, { issue: { subject: 'x' } });

  expect(success).toBe(false);
  expect(told).toMatchObject({ error: { code: 'refused' } });
  expect(fake.server.requests).toEqual([]);
});

test.each([
  ['POST', '/issues.json', { issue: { subject: 'x', project_id: 'other' } }],
  ['POST', '/issues.json', { issue: { subject: 'x', project_id: 3 } }],
  ['POST', '/issues.json', { issue: { subject: 'x' }, project_id: 3 }],
  ['POST', '/issues.json', { issue: { subject: 'x' }, key: '0123456789' }],
  ['POST', '/issues.json', { issue: { subject: 'x', uploads: [{ token: '1.x' }] } }],
  ['POST', '/issues.json', { issue: ['x'] }],
  ['POST', '/issues.json', {}],
  ['PUT', '/issues/1.json', { issue: { project_id: 'other' } }],
  ['PUT', '/issues/1.json', { issue: { deleted_attachment_ids: [1] } }],
  ['PUT', '/issues/1.json', { issue: { parent_issue_id: '2,3' } }],
  ['PUT', '/issues/1.json', { issue: { notes: 'x' }, time_entry: { hours: 8 } }],
  ['POST', '/issues/1/relations.json', { relation: { issue_to_id: '2,3', relation_type: 'relates' } }],
  ['POST', '/issues/1/relations.json', { issue: { subject: 'x' } }],
  ['POST', '/issues/1/watchers.json', { user_id: 6, user_ids: [7] }],
])('SEC-22 %s %s with %j is refused, and nothing is sent', async (method, path, body) => {
  const { fake, call } = await toolOf();

  expect((await call(method, path, body)).told).toMatchObject({ error: { code: 'refused' } });
  expect(fake.server.requests).toEqual([]);
});

test.each([
  ['GET', '/issues/3.json', undefined],
  ['GET', '/issues/4.json', undefined],
  ['GET', '/issues/99.json', undefined],
  ['GET', '/issues/3/relations.json', undefined],
  ['PUT', '/issues/3.json', { issue: { status_id: 5 } }],
  ['PUT', '/issues/1.json', { issue: { parent_issue_id: 3 } }],
  ['POST', '/issues.json', { issue: { subject: 'x', parent_issue_id: 3 } }],
  ['POST', '/issues/1/relations.json', { relation: { issue_to_id: 3, relation_type: 'blocks' } }],
  ['POST', '/issues/3/watchers.json', { user_id: 6 }],
])('SEC-22 %s %s %j outside the project is refused after the lookup', async (method, path, body) => {
  const { fake, call } = await toolOf();

  expect((await call(method, path, body)).told).toMatchObject({ error: { code: 'refused' } });
  for (const { method: sent, url } of fake.server.requests) {
    expect([sent, url.pathname, url.searchParams.get('project_id')]).toEqual(['GET', '/issues.json', 'demo']);
  }
});
