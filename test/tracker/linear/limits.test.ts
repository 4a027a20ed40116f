import { describe, expect, test } from 'vitest';
import { startFakeLinear } from '../../support/trackers/fake-linear.js';
import type { FakeAnswer } from '../../support/trackers/fake-server.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;
const HOUR_MS = 3_600_000;

const quota = (left: { requests?: number; points?: number; requestsInMs?: number; pointsInMs?: number }) => ({
  'x-ratelimit-requests-remaining': String(left.requests ?? 4_000),
  'x-ratelimit-requests-reset': String(Date.now() + (left.requestsInMs ?? HOUR_MS)),
  'x-ratelimit-complexity-remaining': String(left.points ?? 200_000),
  'x-ratelimit-complexity-reset': String(Date.now() + (left.pointsInMs ?? HOUR_MS)),
});

async function ready(headers: { [name: string]: string }) {
  const fake = await startFakeLinear();
  fake.headers = headers;
  const tracker = openFake(fake);
  return { fake, tracker, read: () => tracker.issuesByStates(['Todo'], NEVER) };
}

describe('the quota', () => {
  test('is reported in points, with the cost of the read', async () => {
    const { fake, read } = await ready(quota({ points: 100_000 }));
    for (let n = 0; n < 130; n++) fake.add();

    const { rateLimit } = await read();

    // The first page has room for 50 issues, the second for 100.
    expect(rateLimit).toMatchObject({ remaining: 100_000, cost: 3_047 + 6_087 });
  });

  test('hourly lookups do not count towards the cost of a poll', async () => {
    const { fake, tracker, read } = await ready(quota({}));

    const first = await read();
    const second = await read();

    const scopes = fake.server.requests.filter(({ body }) => body.query.includes('BatonScope'));
    expect(scopes).toHaveLength(1);
    expect([first.rateLimit?.cost, second.rateLimit?.cost]).toEqual([3_047, 615]);
    expect((await tracker.issuesByIds([fake.add().id], NEVER)).rateLimit?.cost).toBe(200);
  });

  test('requests are converted to points, and the scarcer quota is reported with its reset', async () => {
    const { read } = await ready(quota({ requests: 100, requestsInMs: 60_000, points: 200_000 }));

    const { rateLimit } = await read();

    expect(rateLimit?.remaining).toBe(100 * 200);
    expect(Math.abs((rateLimit?.resetAtMs ?? 0) - Date.now() - 60_000)).toBeLessThan(5_000);
  });

  test.each([
    ['no headers', {}],
    ['headers that are no numbers', { 'x-ratelimit-requests-remaining': 'many', 'x-ratelimit-requests-reset': '-1' }],
    ['a count without its reset', { 'x-ratelimit-complexity-remaining': '5' }],
  ])('with %s the quota is unknown', async (_what, headers) => {
    const { read } = await ready(headers);

    expect((await read()).rateLimit).toBeUndefined();
  });

  test('one of the two quotas is enough', async () => {
    const { 'x-ratelimit-requests-remaining': count, 'x-ratelimit-requests-reset': reset } = quota({ requests: 7 });
    const { read } = await ready({
      'x-ratelimit-requests-remaining': count,
      'x-ratelimit-requests-reset': reset,
    });

    expect((await read()).rateLimit?.remaining).toBe(7 * 200);
  });
});

describe('a rate limit', () => {
  const limited = { errors: [{ message: 'Rate limit exceeded', extensions: { code: 'RATELIMITED' } }] };
  test.each<[string, FakeAnswer, number]>([
    ['as 400, requests used up', { status: 400, body: limited, headers: quota({ requests: 0 }) }, HOUR_MS],
    [
      'as 400, not enough points left',
      { status: 400, body: limited, headers: quota({ points: 90, pointsInMs: 120_000 }) },
      120_000,
    ],
    ['as 200', { body: limited, headers: quota({ requests: 0 }) }, HOUR_MS],
    ['by a third limit', { status: 400, body: limited, headers: quota({}) }, 60_000],
    ['without details', { status: 400, body: limited }, 60_000],
    ['in the old form, by type', { body: { errors: [{ message: 'x', extensions: { type: 'ratelimited' } }] } }, 60_000],
  ])('%s is a wait until the reset time', async (_how, answer, waitMs) => {
    const { fake, tracker } = await ready({});
    const issue = fake.add();
    fake.server.fault = () => answer;
    const attempts = [
      () => tracker.issuesByStates(['Todo'], NEVER),
      () => tracker.issuesByIds([issue.id], NEVER),
      () => tracker.update(issue.id, { comment: 'x' }, NEVER),
    ];

    for (const attempt of attempts) {
      const error = await attempt().catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: 'tracker_rate_limited' });
      const { resetAtMs } = (error as { details: { resetAtMs: number } }).details;
      expect(Math.abs(resetAtMs - Date.now() - waitMs)).toBeLessThan(5_000);
    }
  });
});

describe('a GraphQL error is recognised whatever the HTTP status', () => {
  test.each<[string, object, string]>([
    ['the key', { code: 'AUTHENTICATION_ERROR' }, 'tracker_auth'],
    ['the key, by type', { type: 'authentication error' }, 'tracker_auth'],
    ['rights', { code: 'FORBIDDEN' }, 'tracker_auth'],
    ['an invalid query', { code: 'GRAPHQL_VALIDATION_FAILED' }, 'tracker_response'],
    ['a query that is too complex', { code: 'INPUT_ERROR' }, 'tracker_response'],
    ['any other error', {}, 'tracker_response'],
  ])('%s', async (_about, extensions, code) => {
    for (const status of [200, 400]) {
      const { fake, tracker } = await ready({});
      const { id } = fake.add();
      const issues = { nodes: [], pageInfo: { hasNextPage: false } };
      // Partial data beside the error changes nothing.
      const body = { data: { issues }, errors: [{ message: 'No.', extensions }] };
      fake.server.fault = () => ({ status, body });

      await expect(tracker.issuesByStates(['Todo'], NEVER)).rejects.toMatchObject({ code });
      await expect(tracker.issuesByIds([id], NEVER)).rejects.toMatchObject({ code });
    }
  });

  test('401 and 403 name the variable', async () => {
    const { fake, tracker } = await ready({});
    fake.server.fault = () => ({ body: { errors: [{ message: 'No', extensions: { code: 'AUTHENTICATION_ERROR' } }] } });

    await expect(tracker.inspect?.(NEVER)).rejects.toMatchObject({
      message: expect.stringContaining('LINEAR_API_KEY'),
    });
  });

  test('a 400 without a GraphQL body is a server error', async () => {
    const { fake, tracker } = await ready({});
    fake.server.fault = () => ({ status: 400, body: { oops: true } });

    await expect(tracker.issuesByStates(['Todo'], NEVER)).rejects.toMatchObject({ code: 'tracker_status' });
  });
});
