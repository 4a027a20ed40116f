import { describe, expect, test } from 'vitest';
import { PROJECT_ID, startFakeGitlab } from '../../support/trackers/fake-gitlab.js';
import { openRawTool } from '../../support/trackers/open-raw-tool.js';

const PROJECT = '/api/v4/projects/acme%2Ftools%2Fwidgets';

describe('paths in scope', () => {
  test.each([
    ...['/issues/1', '/issues/1/', '/projects/acme%2Ftools%2Fwidgets/issues/1'],
    '/projects/Acme%2fTools%2fWIDGETS/issues/1',
  ])('%s', async (path) => {
    const { fake, call } = await openRawTool(await startFakeGitlab());

    const { success, json } = await call({ method: 'GET', path });

    expect(success).toBe(true);
    expect(json).toMatchObject({ status: 200, body: { iid: 1 } });
    expect(fake.server.requests.map(({ url }) => url.pathname)).toEqual([`${PROJECT}/issues/1`]);
  });

  test.each([
    ['POST', '/issues', { title: 'Another', labels: 'bug' }],
    ['POST', '/issues/1/notes', { body: 'See /etc/hosts.' }],
    ['POST', '/issues/1/links', { target_project_id: 'acme/tools/widgets', target_issue_iid: 2, link_type: 'blocks' }],
    ['PUT', '/issues/1', { title: 'Better', description: 'Words.' }],
    ['POST', '/labels', { name: 'bug', color: '#ff0000' }],
    ['POST', '/labels/bug/subscribe', {}],
    ['POST', '/milestones', { title: '1.0' }],
  ])('%s %s %j', async (method, path, body) => {
    const { fake, call } = await openRawTool(await startFakeGitlab());
    fake.server.fault = ({ method: asked }) => (asked === 'GET' ? null : { body: {} });

    expect((await call({ method, path, body })).success).toBe(true);
    expect(fake.server.requests.filter((sent) => sent.method !== 'GET')).toMatchObject([{ method, body }]);
  });
});

test.each([{}, { target_project_id: 'acme/tools/widgets' }])(
  'a merge request stays in its project, though that may be a fork: %j',
  async (more) => {
    const { fake, call } = await openRawTool(await startFakeGitlab());
    const body = { title: 'x', source_branch: 'y', target_branch: 'main', ...more };

    const { success, json, movedTo } = await call({ method: 'POST', path: '/merge_requests', body });

    expect([success, json.status, movedTo]).toEqual([true, 201, undefined]);
    const sent = fake.server.requests.find(({ method }) => method === 'POST');
    expect(sent?.body).toEqual({ ...body, target_project_id: PROJECT_ID });
  },
);

describe('SEC-22 a call out of scope is refused, and nothing is sent', () => {
  test.each([
    ...['/repository/files/README.md', '/variables', '/hooks', '/', '/access_tokens', '/pipelines', '/uploads'],
    ...['/projects/acme%2Ftools%2Fgadgets/issues/1', '/projects/4712/issues/1', '/projects', '/projects/acme/issues'],
    ...[
      '/projects/acme/tools/widgets/issues/1',
      '/projects/acme%2Ftools%2Fwidgets',
      '/user',
      '/groups/acme',
      '/graphql',
    ],
    ...['/api/graphql', '/api/v4/issues', '/issues/../variables', '/issues/%2e%2e/variables', '/issues/..%2fvariables'],
    ...['/issues%2F..%2Fvariables', '/issues/%252e%252e/variables', '/labels/a%2Fb', '/issues/1%2Fmove', '/ISSUES/1'],
    ...['//evil.example/issues/1', 'https://evil.example/issues/1', 'issues/1', '\\issues\\1', '/issues/1#x', ''],
    ...['/issues//1', '/issues/1\n', '/issues%3fx', '/issues/1?x=\u0000'],
    ...['/issues/1?sudo=root', '/issues/1?a=1;sudo=root', '/issues/1?%73udo=root', '/issues/1?SUDO[]=1'],
    ...[
      '/issues?[sudo]=root',
      '/issues?%5Bsudo%5D=root',
      '/issues?[][[sudo=root',
      '/issues?sudo]=root',
      '/issues?]sudo=1',
    ],
    ...['/issues/1?private_token=x', '/issues/1?access_token=x', '/issues/1?job_token=x'],
  ])('%j', async (path) => {
    const { fake, call } = await openRawTool(await startFakeGitlab());

    for (const method of ['GET', 'DELETE']) {
      const { success, json } = await call({ method, path });
      expect([success, json.error.code]).toEqual([false, 'refused']);
    }
    expect(fake.server.requests).toEqual([]);
  });

  test.each([
    ...['/issues/1/links', '/issues/1/related_merge_requests', '/issues/1/closed_by'],
    ...['/merge_requests/5/closes_issues', '/merge_requests/5/related_issues?per_page=1'],
  ])('GET %s may show other projects', async (path) => {
    const { fake, call } = await openRawTool(await startFakeGitlab());

    const { success, json } = await call({ method: 'GET', path });

    expect([success, json.error.code]).toEqual([false, 'refused']);
    expect(fake.server.requests).toEqual([]);
  });

  test.each([
    ['PUT', '/merge_requests/5/merge'],
    ['PUT', '/merge_requests/5/rebase'],
    ['POST', '/merge_requests/5/approve'],
    ['POST', '/merge_requests/5/Merge'],
    ['POST', '/issues/1/move'],
    ['POST', '/issues/1/clone'],
    ['PUT', '/issues/1/reorder'],
    ['PUT', '/projects/acme%2Ftools%2Fwidgets/merge_requests/5/merge'],
    ['PUT', '/labels/baton/promote'],
    ['PUT', '/labels/baton'],
    ['PUT', '/labels'],
    ['PATCH', '/labels'],
    ['DELETE', '/labels'],
    ['POST', '/labels/baton'],
    ['PUT', '/milestones'],
    ['PUT', '/milestones/1'],
    ['POST', '/milestones/1/promote'],
    ['DELETE', '/issues/1'],
    ['DELETE', '/labels/baton'],
    ['DELETE', '/merge_requests/5'],
    ['DELETE', '/issues/1/notes/7'],
    ['DELETE', '/issues/1/discussions/7/notes/8'],
  ])('%s %s is left to people', async (method, path) => {
    const { fake, call } = await openRawTool(await startFakeGitlab());

    const { success, json } = await call({ method, path, body: {} });

    expect(success).toBe(false);
    expect(json.error.message).toContain('left to people');
    expect(fake.server.requests).toEqual([]);
  });

  test.each([
    ['POST', '/members', { user_id: 1, access_level: 40 }, 'only be read'],
    ['DELETE', '/members/1', null, 'only be read'],
    ['POST', '/issues/1/notes?body=x', {}, 'into body'],
    ['POST', '/issues/1/notes', { body: 'x', sudo: 'root' }, 'acts as itself'],
    ['POST', '/issues/1/notes', { body: 'Thanks.\n/close' }, 'backticks'],
    ['POST', '/issues/1/notes', { body: '/\rclose' }, 'backticks'],
    ['POST', '/issues', { title: 'x', description: '/confidential' }, 'backticks'],
    ['PUT', '/issues/1', { description: ['x\n/move acme/core'] }, 'backticks'],
    ['PUT', '/issues/1', { epic_id: 42 }, 'outside of acme/tools/widgets'],
    ['PUT', '/issues/1', { title: 'x', epic_iid: 4 }, 'outside of acme/tools/widgets'],
    ['POST', '/issues', { title: 'x', epic_id: '42' }, 'outside of acme/tools/widgets'],
    ['PUT', '/issues/1', { confidential: false }, 'confidential'],
    ['PUT', '/issues/1', { confidential: 'f' }, 'confidential'],
    ['POST', '/merge_requests', { title: 'x', target_project_id: 9 }, 'target_project_id'],
    ['POST', '/issues/1/links', { target_project_id: 'acme/core', target_issue_iid: 1 }, 'target_project_id'],
  ])('%s %s %j', async (method, path, body, why) => {
    const { fake, call } = await openRawTool(await startFakeGitlab());

    const { success, json } = await call({ method, path, ...(body === null ? {} : { body }) });

    expect([success, json.error.code]).toEqual([false, 'refused']);
    expect(json.error.message).toContain(why);
    expect(fake.server.requests).toEqual([]);
  });
});
