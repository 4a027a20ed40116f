import { describe, expect, test } from 'vitest';
import { readJiraQuota } from '../../../src/tracker/jira/api.js';
import { startFakeJira } from '../../support/trackers/fake-jira.js';
import { openFake } from '../../support/trackers/fake-tracker.js';
import { errorOf } from '../contract/tracker-contract.js';

const NEVER = new AbortController().signal;
const NOW = Date.parse('2026-05-01T12:00:00Z');
const DAY_MS = 24 * 3_600_000;

describe('quota', () => {
  test('a count with a reset time is read', () => {
    const quota = readJiraQuota({ 'x-ratelimit-remaining': '40', 'x-ratelimit-reset': '2026-05-01T12:05Z' }, NOW);

    expect(quota).toEqual({ remaining: 40, resetAtMs: NOW + 300_000 });
  });

  test.each(['ratelimit', 'beta-ratelimit'])('the hourly budget of an app is read: %s', (name) => {
    const quota = readJiraQuota({ [name]: '"global-app-quota";r=13500;t=600' }, NOW);

    expect(quota).toEqual({ remaining: 13_500, resetAtMs: NOW + 600_000 });
  });

  test('the scarcest of several counts', () => {
    const headers = {
      'x-ratelimit-remaining': '90',
      'x-ratelimit-reset': '2026-05-01T12:05Z',
      ratelimit: '"a";r=7;t=60',
    };

    expect(readJiraQuota(headers, NOW)?.remaining).toBe(7);
  });

  test('a reset in a year counts as one in a day', () => {
    const quota = readJiraQuota({ 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': '2027-05-01T12:00:00Z' }, NOW);

    expect(quota?.resetAtMs).toBe(NOW + DAY_MS);
  });

  test.each([
    {},
    { 'x-ratelimit-remaining': '40' },
    { 'x-ratelimit-remaining': '-1', 'x-ratelimit-reset': '2026-05-01T12:05Z' },
    { 'x-ratelimit-remaining': '40', 'x-ratelimit-reset': 'soon' },
    { 'x-ratelimit-remaining': '40', 'x-ratelimit-reset': '2026-05-01T11:00Z' },
    { ratelimit: '"a";r=many;t=60' },
    { ratelimit: `${'"a";r='.repeat(10_000)}` },
    { ratelimit: ['"a";r=1;t=1'] as unknown as string },
  ])('incomplete headers are ignored: %j', (headers) => {
    expect(readJiraQuota(headers, NOW)).toBeNull();
  });

  test('a batch has quota and cost', async () => {
    const jira = await startFakeJira();
    for (let n = 0; n < 150; n++) jira.add();
    const reset = new Date(Date.now() + 60_000).toISOString();
    const headers = { 'x-ratelimit-remaining': '12', 'x-ratelimit-reset': reset };
    const statuses = [{ id: '1', name: 'Task', statuses: jira.statuses }];
    jira.server.fault = ({ url }) => (url.pathname.endsWith('/statuses') ? { headers, body: statuses } : null);

    const { rateLimit } = await openFake(jira).issuesByStates(['To Do'], NEVER);

    // The project, its states and two pages.
    expect(rateLimit).toEqual({ remaining: 12, resetAtMs: Date.parse(reset), cost: 4 });
  });
});

describe('rate limits', () => {
  const waiting = async (status: number, headers: { [name: string]: string }) => {
    const jira = await startFakeJira();
    jira.server.fault = () => ({ status, headers, body: { errorMessages: ['Rate limit exceeded'] } });
    return errorOf(openFake(jira).issuesByStates(['To Do'], NEVER));
  };

  test('503 with Retry-After is a limit', async () => {
    const error = await waiting(503, { 'retry-after': '20' });

    expect(error.code).toBe('tracker_rate_limited');
    expect(Number(error.details.resetAtMs) - Date.now()).toBeGreaterThan(15_000);
  });

  test('503 without Retry-After is an error', async () => {
    expect((await waiting(503, {})).code).toBe('tracker_status');
  });

  test('429 without a time waits until the reset', async () => {
    const reset = new Date(Date.now() + 200_000).toISOString();

    const error = await waiting(429, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset });

    expect(error).toMatchObject({ code: 'tracker_rate_limited', details: { resetAtMs: Date.parse(reset) } });
  });

  test('no request is repeated', async () => {
    const jira = await startFakeJira();
    jira.server.fault = () => ({ status: 429, headers: { 'retry-after': '0' }, body: {} });

    await errorOf(openFake(jira).issuesByStates(['To Do'], NEVER));

    expect(jira.server.requests).toHaveLength(1);
  });
});
