import { describe, expect, test } from 'vitest';
import { startFakeGithub } from '../../support/trackers/fake-github.js';
import type { FakeAnswer } from '../../support/trackers/fake-server.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;

describe('the quota', () => {
  test('an idle poll is free, and knows all pages', async () => {
    const fake = await startFakeGithub();
    for (let n = 0; n < 150; n++) fake.add();
    const tracker = openFake(fake);
    await tracker.issuesByStates(['open'], NEVER);
    await tracker.issuesByIds(['1', '2'], NEVER);
    const { remaining } = fake.world.quota;

    const list = await tracker.issuesByStates(['open'], NEVER);
    const byIds = await tracker.issuesByIds(['1', '2'], NEVER);

    expect([list.issues.length, byIds.issues.length]).toEqual([150, 2]);
    expect([list.rateLimit?.cost, byIds.rateLimit?.cost]).toEqual([0, 0]);
    expect(fake.world.quota.remaining).toBe(remaining);
  });

  test('one changed issue costs its page', async () => {
    const fake = await startFakeGithub();
    for (let n = 0; n < 250; n++) fake.add();
    const tracker = openFake(fake);
    await tracker.issuesByStates(['open'], NEVER);
    const changed = fake.board.get('120');
    if (changed) changed.title = 'Another';

    const { issues, rateLimit } = await tracker.issuesByStates(['open'], NEVER);

    expect(issues.find(({ id }) => id === '120')?.title).toBe('Another');
    expect(rateLimit?.cost).toBe(1);
  });
});

describe('GitHub limits requests by 403 as well', () => {
  const inAnHour = String(Math.floor(Date.now() / 1000) + 3_600);
  test.each<[string, FakeAnswer, number]>([
    [
      'nothing is left',
      {
        status: 403,
        headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': inAnHour },
        body: { message: 'API rate limit exceeded for user ID 1.' },
      },
      3_600_000,
    ],
    ['it says when to come again', { status: 403, headers: { 'retry-after': '30' }, body: {} }, 30_000],
    [
      'it names the second limit',
      { status: 403, body: { message: 'You have exceeded a secondary rate limit. Please wait a few minutes.' } },
      60_000,
    ],
    [
      'it names the second limit, though much is left of the first',
      {
        status: 403,
        headers: { 'x-ratelimit-remaining': '4000', 'x-ratelimit-reset': inAnHour },
        body: { message: 'You have exceeded a secondary rate limit.' },
      },
      60_000,
    ],
    [
      'it speaks of abuse',
      { status: 403, body: { message: 'You have triggered an abuse detection mechanism.' } },
      60_000,
    ],
  ])('%s', async (_why, answer, waitMs) => {
    const fake = await startFakeGithub();
    fake.server.fault = () => answer;

    const error = await openFake(fake)
      .issuesByIds(['1'], NEVER)
      .catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({ code: 'tracker_rate_limited' });
    const { resetAtMs } = (error as { details: { resetAtMs: number } }).details;
    expect(Math.abs(resetAtMs - Date.now() - waitMs)).toBeLessThan(5_000);
  });

  test('a 403 of another kind is about the token, though the quota is told', async () => {
    const fake = await startFakeGithub();
    fake.server.fault = () => ({
      status: 403,
      headers: { 'x-ratelimit-remaining': '4999', 'x-ratelimit-reset': inAnHour },
      body: { message: 'Resource not accessible by personal access token' },
    });

    await expect(openFake(fake).issuesByIds(['1'], NEVER)).rejects.toMatchObject({
      code: 'tracker_auth',
      message: expect.stringContaining('not accessible'),
    });
  });
});

test('at most six issues are asked for at a time, and none after a failure', async () => {
  const fake = await startFakeGithub();
  const ids = Array.from({ length: 40 }, () => fake.add().id);
  fake.server.fault = () => ({ status: 500, body: {} });

  const read = openFake(fake).issuesByIds(ids, NEVER);

  await expect(read).rejects.toMatchObject({ code: 'tracker_status' });
  expect(fake.server.requests.length).toBeLessThanOrEqual(6);
});
