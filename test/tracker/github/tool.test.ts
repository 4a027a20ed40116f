import { describe, expect, test } from 'vitest';
import { startFakeGithub } from '../../support/trackers/fake-github.js';
import { openRawTool } from '../../support/trackers/open-raw-tool.js';

describe('what the tool reaches', () => {
  test.each(['/issues/1', '/issues/1/', '/repos/octo-org/widgets/issues/1', '/repos/Octo-Org/WIDGETS/issues/1'])(
    '%s',
    async (path) => {
      const { fake, call } = await openRawTool(await startFakeGithub());

      const { success, json } = await call({ method: 'GET', path });

      expect(success).toBe(true);
      expect(json).toMatchObject({ status: 200, body: { number: 1 } });
      expect(fake.server.requests.map(({ url }) => url.pathname)).toEqual(['/repos/octo-org/widgets/issues/1']);
    },
  );

  test('a label with a slash is one part of the path', async () => {
    const { fake, added, call } = await openRawTool(await startFakeGithub());
    added.labels.push('area/core');

    const { success } = await call({ method: 'DELETE', path: '/issues/1/labels/area%2Fcore' });

    expect(success).toBe(true);
    expect(fake.server.requests.find(({ method }) => method === 'DELETE')?.url.pathname).toBe(
      '/repos/octo-org/widgets/issues/1/labels/area%2Fcore',
    );
  });

  test('a pull request can be opened', async () => {
    const { call } = await openRawTool(await startFakeGithub());

    const { success, json, movedTo } = await call({ method: 'POST', path: '/pulls', body: { title: 'x', head: 'y' } });

    expect([success, json.status, movedTo]).toEqual([true, 201, undefined]);
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
    const { fake, call } = await openRawTool(await startFakeGithub());

    for (const method of ['GET', 'DELETE']) {
      const { success, json } = await call({ method, path });
      expect(success).toBe(false);
      expect(json.error.code).toBe('refused');
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
    const { fake, call } = await openRawTool(await startFakeGithub());

    const { success, json } = await call({ method, path, body: {} });

    expect(success).toBe(false);
    expect(json.error.message).toContain('left to people');
    expect(fake.server.requests).toEqual([]);
  });

  test('a transferred issue is a redirect, which is returned and not followed: it would lead out of the repository', async () => {
    const { fake, added, call } = await openRawTool(await startFakeGithub());
    fake.world.transferred.add(added.id);

    const { success, json } = await call({ method: 'GET', path: '/issues/1' });

    expect([success, json.status]).toEqual([false, 301]);
    expect(fake.server.requests).toHaveLength(1);
  });
});
