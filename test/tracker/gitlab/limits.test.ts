import { describe, expect, test } from 'vitest';
import { startFakeGitlab } from '../../support/trackers/fake-gitlab.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;

test('an instance without limits tells none', async () => {
  const fake = await startFakeGitlab();
  fake.server.fault = ({ url }) => (url.pathname.endsWith('/issues') ? { body: [] } : null);
  const plain = await startFakeGitlab();
  plain.server.fault = ({ url }) =>
    url.pathname.endsWith('/issues') ? { body: [] } : { body: { path_with_namespace: 'acme/tools/widgets' } };

  const told = await openFake(fake).issuesByStates(['opened'], NEVER);
  const silent = await openFake(plain).issuesByStates(['opened'], NEVER);

  expect(told).toHaveProperty('rateLimit');
  expect(silent).not.toHaveProperty('rateLimit');
});

describe('what has not changed is not sent again', () => {
  async function idle(count: number) {
    const fake = await startFakeGitlab();
    for (let n = 0; n < count; n++) fake.add();
    const tracker = openFake(fake);
    await tracker.issuesByStates(['opened'], NEVER);
    fake.server.requests.length = 0;
    const read = async () => {
      const batch = await tracker.issuesByStates(['opened'], NEVER);
      const asked = fake.server.requests.filter(({ method }) => method === 'GET');
      return { ...batch, tags: asked.map(({ headers }) => typeof headers['if-none-match']) };
    };
    return { fake, read };
  }

  test('an idle poll asks with what it knows, sees every page, and pays for each question', async () => {
    const { fake, read } = await idle(150);

    const { issues, tags, rateLimit } = await read();

    expect([issues.length, tags]).toEqual([150, ['string', 'string']]);
    expect(rateLimit?.cost).toBe(fake.server.requests.length);
  });

  test('a changed issue is seen', async () => {
    const { fake, read } = await idle(150);
    const changed = fake.board.get('120');
    if (changed) changed.title = 'Another';

    const { issues } = await read();

    expect(issues.find(({ id }) => id === '120')?.title).toBe('Another');
  });

  test('a page that is full as before may have got another after it', async () => {
    const { fake, read } = await idle(100);
    fake.add();

    expect((await read()).issues).toHaveLength(101);
  });
});

test('429 waits as Retry-After says, else until the reset, else a minute', async () => {
  const inTenMinutes = Math.floor(Date.now() / 1000) + 600;
  const quota = { 'ratelimit-remaining': '0', 'ratelimit-reset': String(inTenMinutes) };
  const waits: number[] = [];
  for (const headers of [{ 'retry-after': '30', ...quota }, quota, {}]) {
    const fake = await startFakeGitlab();
    fake.server.fault = () => ({ status: 429, headers: { ...headers }, raw: 'Retry later\n' });

    const error = await openFake(fake)
      .issuesByIds(['1'], NEVER)
      .catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({ code: 'tracker_rate_limited' });
    waits.push((error as { details: { resetAtMs: number } }).details.resetAtMs - Date.now());
  }

  expect(waits.map((ms) => Math.round(ms / 10_000) * 10)).toEqual([30, 600, 60]);
});
