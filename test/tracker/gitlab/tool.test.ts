import { describe, expect, test } from 'vitest';
import { toolOf } from './tool-bed.js';

const READ = { method: 'GET', path: '/issues/1' };

test('read_only reads', async () => {
  const { fake, tool, call } = await toolOf({ raw_tool: 'read_only' });

  const read = await call(READ);
  const others = [];
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) others.push(await call({ method, path: '/issues/1' }));

  expect(read.success).toBe(true);
  expect(others.map(({ told }) => told.error.code)).toEqual(Array(4).fill('refused'));
  expect(fake.server.requests).toHaveLength(1);
  expect(tool.description).toContain('Only GET');
  expect(JSON.stringify(tool.inputSchema)).not.toContain('POST');
});

describe('what GitLab says no with comes back as it is', () => {
  test('404', async () => {
    const { call } = await toolOf();

    const { success, told } = await call({ method: 'GET', path: '/issues/77' });

    expect([success, told]).toEqual([false, { status: 404, body: { message: '404 Not Found' } }]);
  });

  test('a redirect, which is not followed: it would lead out of the project', async () => {
    const { fake, call } = await toolOf();
    const location = `${fake.server.url}/api/v4/projects/9/issues/1`;
    fake.server.fault = () => ({ status: 301, headers: { location }, body: { message: 'moved' } });

    const { success, told } = await call(READ);

    expect([success, told.status]).toEqual([false, 301]);
    expect(fake.server.requests).toHaveLength(1);
  });
});

test.each([
  [{ status: 401, body: { message: 'no' } }, 'tracker_auth'],
  [{ status: 403, body: { message: 'no' } }, 'tracker_auth'],
  [{ status: 429, body: {} }, 'tracker_rate_limited'],
  [{ status: 500, body: {} }, 'tracker_status'],
  [{ raw: '<html>Sign in</html>' }, 'tracker_response'],
  [{ raw: 'x'.repeat(33 * 1024 * 1024) }, 'tracker_request'],
])('a failure is told in JSON', async (answer, code) => {
  const { fake, call } = await toolOf();
  fake.server.fault = () => answer;

  const { success, told } = await call(READ);

  expect(success).toBe(false);
  expect(told).toEqual({ error: { code, message: expect.any(String) } });
});

describe('sizes', () => {
  test('a long answer is cut, and says so', async () => {
    const { fake, call } = await toolOf();
    fake.server.fault = () => ({ body: { description: 'x'.repeat(200_000) } });

    const { text, told } = await call(READ);

    expect(told.truncated).toBe(true);
    expect(text.length).toBeLessThan(110_000);
  });

  test('a long question is refused', async () => {
    const { fake, call } = await toolOf();

    const { told } = await call({ method: 'POST', path: '/issues/1/notes', body: { body: 'x'.repeat(200_001) } });

    expect(told.error.code).toBe('invalid_input');
    expect(fake.server.requests).toEqual([]);
  });
});

test('SEC-20 the token in an answer is masked', async () => {
  const { fake, call } = await toolOf();
  const answers = [200, 422, 500].map((status) => async () => {
    fake.server.fault = () => ({ status, body: { message: fake.token, escaped: encodeURIComponent(fake.token) } });
    return (await call(READ)).text;
  });

  for (const answer of answers) expect(await answer()).not.toContain(fake.token);
});

describe('a run whose tool moved its issue is known to have done so', () => {
  test.each([
    [{ method: 'PUT', path: '/issues/1', body: { state_event: 'close' } }, 'closed'],
    [{ method: 'PUT', path: '/issues/1', body: { add_labels: 'Review' } }, 'Review'],
    [{ method: 'PUT', path: '/issues/1', body: { add_labels: 'bug' } }, undefined],
    [{ method: 'POST', path: '/issues/1/notes', body: { body: 'x' } }, undefined],
    [READ, undefined],
  ])('%j: %s', async (input, state) => {
    const { call } = await toolOf();

    const { success, movedTo } = await call(input);

    expect([success, movedTo]).toEqual([true, state]);
  });
});
