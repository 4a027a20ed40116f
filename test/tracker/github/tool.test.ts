import { describe, expect, test } from 'vitest';
import { withTool } from './tool-bed.js';

describe('what the tool reaches', () => {
  test.each(['/issues/1', '/issues/1/', '/repos/octo-org/widgets/issues/1', '/repos/Octo-Org/WIDGETS/issues/1'])(
    '%s',
    async (path) => {
      const { fake, call } = await withTool();

      const { success, told } = await call({ method: 'GET', path });

      expect(success).toBe(true);
      expect(told).toMatchObject({ status: 200, body: { number: 1 } });
      expect(fake.server.requests.map(({ url }) => url.pathname)).toEqual(['/repos/octo-org/widgets/issues/1']);
    },
  );

  test('a query goes along', async () => {
    const { fake, call } = await withTool();

    await call({ method: 'GET', path: '/issues?state=all&labels=a%20b&per_page=5' });

    expect(fake.server.requests.map(({ url }) => url.search)).toEqual(['?state=all&labels=a%20b&per_page=5']);
  });

  test('a label with a slash is one part of the path', async () => {
    const { fake, added, call } = await withTool();
    added.labels.push('area/core');

    const { success } = await call({ method: 'DELETE', path: '/issues/1/labels/area%2Fcore' });

    expect(success).toBe(true);
    expect(fake.server.requests.find(({ method }) => method === 'DELETE')?.url.pathname).toBe(
      '/repos/octo-org/widgets/issues/1/labels/area%2Fcore',
    );
  });

  test('a pull request can be opened', async () => {
    const { call } = await withTool();

    const { success, told, movedTo } = await call({ method: 'POST', path: '/pulls', body: { title: 'x', head: 'y' } });

    expect([success, told.status, movedTo]).toEqual([true, 201, undefined]);
  });
});

describe('SEC-22 what the tool does not reach is refused, and nothing is sent', () => {
  test.each([
    ...['/contents/README.md', '/actions/secrets', '/collaborators/eve', '/hooks', '/', '/merges', '/git/refs'],
    ...['/repos/octo-org/gadgets/issues/1', '/repos/octo-org', '/repos', '/user', '/orgs/octo-org', '/graphql'],
    ...['/issues/../contents/README.md', '/issues/%2e%2e/contents', '/issues/%2E%2E%2Fcontents', '/issues/..%2fhooks'],
    ...['/labels/%2e%2e%2f%2e%2e%2fhooks', '/labels/a%2f..%2f..%2fhooks', '/issues/%252e%252e/hooks'],
    ...['/repos/octo-org/widgets/../gadgets/issues/1', '//evil.example/issues/1', 'https://evil.example/issues/1'],
    ...['issues/1', '\\issues\\1', '/issues\\..\\hooks', '/issues/1#x', '/issues/1\n', '/ISSUES/1', '/issues//1', ''],
    ...['/repositories/999/issues/1', '/issues%3fx', '/repos/octo-org/widgets'],
  ])('%j', async (path) => {
    const { fake, call } = await withTool();

    for (const method of ['GET', 'DELETE']) {
      const { success, told } = await call({ method, path });
      expect(success).toBe(false);
      expect(told.error.code).toBe('refused');
    }
    expect(fake.server.requests).toEqual([]);
  });

  test.each([
    ['PUT', '/pulls/5/merge'],
    ['PUT', '/pulls/5/update-branch'],
    ['POST', '/pulls/5/reviews'],
    ['POST', '/pulls/5/reviews/7/events'],
    ['PUT', '/pulls/5/reviews/7/dismissals'],
    ['POST', '/pulls/5/codespaces'],
    ['POST', '/pulls/5/Merge'],
    ['PUT', '/pulls/5%2Fmerge'],
    ['PUT', '/repos/octo-org/widgets/pulls/5/merge'],
    ['DELETE', '/labels/baton'],
    ['PATCH', '/labels/bug'],
    ['DELETE', '/milestones/1'],
    ['PATCH', '/repos/octo-org/widgets/milestones/1'],
  ])('%s %s', async (method, path) => {
    const { fake, call } = await withTool();

    const { success, told } = await call({ method, path, body: {} });

    expect(success).toBe(false);
    expect(told.error.message).toContain('left to people');
    expect(fake.server.requests).toEqual([]);
  });

  test.each([
    { method: 'TRACE', path: '/issues/1' },
    { method: 'get', path: '/issues/1' },
    { method: 'GET', path: 7 },
    { method: 'GET', path: '/issues/1', body: {} },
    { method: 'GET', path: '/issues/1', headers: { authorization: 'x' } },
  ])('%j', async (input) => {
    const { fake, call } = await withTool();

    expect((await call(input)).told.error.code).toBe('refused');
    expect(fake.server.requests).toEqual([]);
  });

  test('read_only reads', async () => {
    const { fake, tool, call } = await withTool('read_only');

    const read = await call({ method: 'GET', path: '/issues/1' });
    const others = [];
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) others.push(await call({ method, path: '/issues/1' }));

    expect(read.success).toBe(true);
    expect(others.map(({ told }) => told.error.code)).toEqual(Array(4).fill('refused'));
    expect(fake.server.requests).toHaveLength(1);
    expect(tool.description).toContain('Only GET');
  });

  test('a redirect is told and not followed: it would lead out of the repository', async () => {
    const { fake, added, call } = await withTool();
    fake.world.transferred.add(added.id);

    const { success, told } = await call({ method: 'GET', path: '/issues/1' });

    expect([success, told.status]).toEqual([false, 301]);
    expect(fake.server.requests).toHaveLength(1);
  });
});

test('what GitHub says no with comes back as it is', async () => {
  const { call } = await withTool();

  const { success, told } = await call({ method: 'GET', path: '/issues/77' });

  expect(success).toBe(false);
  expect(told).toMatchObject({ status: 404, body: { message: 'Not Found' } });
});

test('no quota and no permission are errors of their own', async () => {
  const { fake, call } = await withTool();
  const answers = [403, 429].map((status) => async () => {
    fake.server.fault = () => ({ status, body: { message: 'no' } });
    return (await call({ method: 'GET', path: '/issues/1' })).told.error.code;
  });

  expect([await answers[0]?.(), await answers[1]?.()]).toEqual(['tracker_auth', 'tracker_rate_limited']);
});

test('an answer that is much too long is not read to its end', async () => {
  const { fake, call } = await withTool();
  fake.server.fault = () => ({ body: 'x'.repeat(5 * 1024 * 1024) });

  const { success, told } = await call({ method: 'GET', path: '/pulls/5/files' });

  expect([success, told.error.code]).toEqual([false, 'tracker_request']);
});

test('SEC-20 the token in an answer is masked', async () => {
  const { fake, call } = await withTool();
  fake.server.fault = () => ({ body: { echo: `Bearer ${fake.token}`, escaped: encodeURIComponent(fake.token) } });

  const { text } = await call({ method: 'GET', path: '/issues/1' });

  expect(text).not.toContain(fake.token);
});

describe('a run whose tool moved its issue is known to have done so', () => {
  test.each([
    [{ method: 'PATCH', path: '/issues/1', body: { state: 'closed' } }, 'closed'],
    [{ method: 'POST', path: '/issues/1/labels', body: { labels: ['Review'] } }, 'Review'],
    [{ method: 'POST', path: '/issues/1/labels', body: { labels: ['bug'] } }, undefined],
    [{ method: 'POST', path: '/issues/1/comments', body: { body: 'x' } }, undefined],
    [{ method: 'GET', path: '/issues/1' }, undefined],
  ])('%j: %s', async (input, state) => {
    const { call } = await withTool();

    const { success, movedTo } = await call(input);

    expect([success, movedTo]).toEqual([true, state]);
  });
});
