import { expect, onTestFinished, test, vi } from 'vitest';
import { BatonError } from '../../../src/domain/errors.js';
import { quotaIn, resetOf } from '../../../src/tracker/http/limits.js';
import { HttpReading, readJsonBody, TrackerHttp } from '../../../src/tracker/http/tracker-http.js';
import { endpointOf } from '../../../src/tracker/provider-settings.js';
import { type FakeAnswer, type FakeRequest, fakeServer } from '../../support/trackers/fake-server.js';

const NEVER = new AbortController().signal;
const READ_QUOTA = quotaIn('x-left', 'x-reset', 'seconds');

async function opened(
  answer: (request: FakeRequest) => FakeAnswer,
  more: { isCachedFree?: boolean; maxBytes?: number } = {},
) {
  const server = await fakeServer(answer);
  const http = new TrackerHttp({
    ...{ name: 'Test', base: endpointOf(`${server.url}/api`, 'key'), headers: { authorization: 'Bearer t0ken-t0ken' } },
    ...{
      tokenFrom: 'TEST_TOKEN',
      readQuota: READ_QUOTA,
      mask: (text: string) => text.replaceAll('t0ken-t0ken', '***'),
      ...more,
    },
  });
  onTestFinished(() => http.close());
  return { server, http };
}

test('a conditional read sends the ETag, and a 304 returns the same object as before', async () => {
  const { server, http } = await opened(({ headers }) =>
    headers['if-none-match'] === '"v1"' ? { status: 304 } : { headers: { etag: '"v1"' }, body: { n: 1 } },
  );

  const first = await http.reading(NEVER).get('/x?a=1', { isConditional: true });
  const second = await http.reading(NEVER).get('/x?a=1', { isConditional: true });
  const other = await http.reading(NEVER).get('/x?a=2', { isConditional: true });

  expect(second.body).toBe(first.body);
  expect(second.status).toBe(200);
  expect(other.body).not.toBe(first.body);
  expect(server.requests.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, '"v1"', undefined]);
});

test('a kept answer without an ETag is not converted again while its bytes stay the same', async () => {
  let title = 'one';
  const { server, http } = await opened(({ body }) => ({ body: { title, asked: body } }));
  const ask = async (page: number, digestBy = 'trust: members') => {
    const digest = (body: unknown) => ({ by: digestBy, body });
    const keep = { isConditional: true, digest, digestBy };
    return (await http.reading(NEVER).ask({ method: 'POST', path: '/x', body: { page }, ...keep })).body;
  };

  const first = await ask(1);
  const again = await ask(1);
  const otherPage = await ask(2);
  const otherRule = await ask(1, 'trust: anyone');
  title = 'two';
  const changed = await ask(1);

  expect(again).toBe(first);
  expect(otherPage).toMatchObject({ body: { asked: { page: 2 } } });
  expect(otherRule).toMatchObject({ by: 'trust: anyone' });
  expect(changed).toMatchObject({ body: { title: 'two' } });
  expect(server.requests.every(({ headers }) => headers['if-none-match'] === undefined)).toBe(true);
});

test('the digest of a good response is cached under its ETag and made once', async () => {
  const { http } = await opened(({ url, headers }) => {
    if (url.pathname === '/api/gone') return { status: 404, body: { said: 'no' } };
    return headers['if-none-match'] === '"v1"'
      ? { status: 304 }
      : { headers: { etag: '"v1"' }, body: { n: 1, more: 2 } };
  });
  const digested: unknown[] = [];
  const digest = (body: unknown) => {
    digested.push(body);
    return { digest: (body as { n: number }).n };
  };
  const ask = (path: string) => http.reading(NEVER).get(path, { isConditional: true, digest, accept: [404] });

  const [first, second, gone] = [await ask('/x'), await ask('/x'), await ask('/gone')];

  expect(first.body).toEqual({ digest: 1 });
  expect(second.body).toBe(first.body);
  expect(gone.body).toEqual({ said: 'no' });
  expect(digested).toHaveLength(1);
});

test('a renewed read gets the whole response and replaces the cached one', async () => {
  let links = 0;
  const { server, http } = await opened(({ headers }) =>
    headers['if-none-match'] === '"v1"'
      ? { status: 304 }
      : { headers: { etag: '"v1"', link: `page ${++links}` }, body: [] },
  );
  const ask = (isRenewed: boolean) => http.reading(NEVER).get('/x', { isConditional: true, isRenewed });

  const answers = [await ask(false), await ask(false), await ask(true), await ask(false)];

  expect(answers.map(({ isCached, headers }) => [isCached, headers.link])).toEqual([
    [false, 'page 1'],
    [true, 'page 1'],
    [false, 'page 2'],
    [true, 'page 2'],
  ]);
  expect(server.requests.map(({ headers }) => headers['if-none-match'])).toEqual([
    undefined,
    '"v1"',
    undefined,
    '"v1"',
  ]);
});

test('a response behind a redirect is cached under the requested address only', async () => {
  const { server, http } = await opened(({ url }) =>
    url.pathname === '/api/old'
      ? { status: 302, headers: { location: '/api/new' } }
      : { headers: { etag: '"v1"' }, body: { n: 1 } },
  );

  await http.reading(NEVER).get('/old', { isConditional: true });
  await http.reading(NEVER).get('/new', { isConditional: true });

  expect(server.requests.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, undefined, undefined]);
});

test('a 304 to an unconditional request is an error', async () => {
  const { http } = await opened(() => ({ status: 304 }));

  await expect(http.reading(NEVER).get('/x', { isConditional: true })).rejects.toMatchObject({
    code: 'tracker_status',
  });
});

test('the cost of a read is counted, and that of cached responses only where they are not free', async () => {
  const quota = { 'x-left': '40', 'x-reset': String(Math.floor(Date.now() / 1000) + 100) };
  const answer = ({ headers }: FakeRequest): FakeAnswer =>
    headers['if-none-match'] ? { status: 304, headers: quota } : { headers: { etag: '"v"', ...quota }, body: [] };
  const costs: (number | undefined)[] = [];
  for (const isCachedFree of [true, false]) {
    const { http } = await opened(answer, { isCachedFree });
    await http.reading(NEVER).get('/x', { isConditional: true });
    const reading = http.reading(NEVER);
    await reading.get('/x', { isConditional: true });
    expect(reading.rateLimit.rateLimit?.remaining).toBe(40);
    costs.push(reading.rateLimit.rateLimit?.cost);
  }

  expect(costs).toEqual([0, 1]);
});

test('a redirect on the same host is followed for reads and refused for changes', async () => {
  const { server, http } = await opened(({ url }) =>
    url.pathname === '/api/old' ? { status: 301, headers: { location: '/api/new' } } : { body: { ok: true } },
  );

  const { body } = await http.reading(NEVER).get('/old');
  const change = http.reading(NEVER).ask({ method: 'POST', path: '/old', body: {} });

  expect(body).toEqual({ ok: true });
  await expect(change).rejects.toMatchObject({ code: 'tracker_status' });
  expect(server.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
});

test('circular redirects end', async () => {
  const { http } = await opened(() => ({ status: 302, headers: { location: '/api/x' } }));

  await expect(http.reading(NEVER).get('/x')).rejects.toThrow(/circles/);
});

test('a URL of another origin is never requested', async () => {
  const elsewhere = await fakeServer(() => ({ body: {} }));
  const { http } = await opened(() => ({ body: {} }));

  await expect(http.reading(NEVER).get(new URL(elsewhere.url))).rejects.toMatchObject({ code: 'tracker_response' });
  expect(elsewhere.requests).toEqual([]);
});

test('a response that is too large is rejected', async () => {
  const { http } = await opened(() => ({ body: 'x'.repeat(5_000) }), { maxBytes: 1_000 });

  await expect(http.reading(NEVER).get('/x')).rejects.toThrow(/more than 1000 bytes/);
});

test('the token is sent, and is never in an error', async () => {
  const { server, http } = await opened(() => ({ status: 500, raw: 'you sent t0ken-t0ken' }));

  const error = await http
    .reading(NEVER)
    .get('/t0ken-t0ken')
    .catch((thrown: Error) => thrown);

  expect(server.requests[0]?.headers.authorization).toBe('Bearer t0ken-t0ken');
  expect((error as Error).message).not.toContain('t0ken-t0ken');
});

const NOW = 1_700_000_000_000;
test.each([
  [{ 'retry-after': '5' }, 5_000],
  [{ 'retry-after': new Date(NOW + 60_000).toUTCString() }, 60_000],
  [{ 'x-left': '0', 'x-reset': String(NOW / 1000 + 90) }, 90_000],
  [{}, 60_000],
  [{ 'retry-after': 'soon' }, 60_000],
  [{ 'x-left': '0', 'x-reset': '1' }, 60_000],
  [{ 'x-left': '0', 'x-reset': '999999999999' }, 24 * 3_600_000],
  [{ 'x-left': '4000', 'x-reset': String(NOW / 1000 + 3_000) }, 60_000],
  [{ 'x-left': '-1', 'x-reset': String(NOW / 1000 + 90) }, 60_000],
  [{ 'retry-after': '-5' }, 60_000],
  [{ 'retry-after': '1e9' }, 60_000],
  [{ 'retry-after': '7', 'x-left': '0', 'x-reset': String(NOW / 1000 + 90) }, 7_000],
  [{ 'retry-after': '999999999' }, 24 * 3_600_000],
])('a limit under %j lasts %i ms', (headers, ms) => {
  expect(resetOf(headers, READ_QUOTA, NOW) - NOW).toBe(ms);
});

test.each([
  { 'x-left': 'NaN', 'x-reset': '1' },
  { 'x-left': '1e3', 'x-reset': '1' },
  { 'x-left': '9'.repeat(30), 'x-reset': '1' },
  { 'x-left': '-1', 'x-reset': '1' },
  { 'x-left': '10', 'x-reset': '' },
  { 'x-left': '10' },
  { 'x-reset': '10' },
])('an invalid quota is ignored: %j', (headers) => {
  expect(READ_QUOTA(headers, NOW)).toBeNull();
});

test('a 503 with a time for the next try is a rate limit', async () => {
  const { http } = await opened(({ url }) => ({
    status: 503,
    ...(url.pathname === '/api/busy' ? { headers: { 'retry-after': '120' } } : {}),
  }));

  const busy = http.reading(NEVER).get('/busy');
  const broken = http.reading(NEVER).get('/broken');

  await expect(busy).rejects.toMatchObject({ code: 'tracker_rate_limited' });
  await expect(broken).rejects.toMatchObject({ code: 'tracker_status' });
});

const fault = (problem: string) => new BatonError('tracker_response', problem);

test.each([
  ['{"a":1}', { a: 1 }],
  ['{"a":"Grüße, 世界 👋"}', { a: 'Grüße, 世界 👋' }],
  ['\ufeff{"a":1}', { a: 1 }],
  ['{"__proto__":{"x":1}}', JSON.parse('{"__proto__":{"x":1}}')],
  ['', null],
])('%j is read', (text, expected) => {
  expect(readJsonBody(Buffer.from(text), fault)).toEqual(expected);
});

test.each([
  ['cut off', Buffer.from('{"a":')],
  ['a page', Buffer.from('<html>')],
  ['not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
  ['cut inside a character', Buffer.from('"ü"').subarray(0, 2)],
])('a response that is %s is not JSON', (_what, body) => {
  expect(() => readJsonBody(body, fault)).toThrow(BatonError);
});

const MB = 1024 * 1024;

test.each([
  ['arrays', '['.repeat(2 * MB), /nested/],
  ['objects', '{"a":'.repeat(MB), /nested/],
  ['empty arrays', `[${'[],'.repeat(MB)}[]]`, /values/],
  ['numbers', `[${'1,'.repeat(2 * MB)}1]`, /values/],
])('a response of too many %s is not parsed', (_what, text, problem) => {
  const parse = vi.spyOn(JSON, 'parse');
  onTestFinished(() => parse.mockRestore());

  expect(() => readJsonBody(Buffer.from(text), fault)).toThrow(problem);

  expect(parse).not.toHaveBeenCalled();
});

test('brackets, commas and quotes in the texts of a long response do not count', () => {
  const body = [{ text: '[{,"\\'.repeat(MB) }, { 'a"[': ['\\', '"', '\\"', '{'] }];

  expect(readJsonBody(Buffer.from(JSON.stringify(body)), fault)).toEqual(body);
});

test('only the beginning of an error is parsed', async () => {
  const { http } = await opened(() => ({ status: 500, raw: '['.repeat(MB) }));
  const parse = vi.spyOn(JSON, 'parse');
  onTestFinished(() => parse.mockRestore());

  await expect(http.reading(NEVER).get('/x')).rejects.toMatchObject({ code: 'tracker_status' });

  expect(Math.max(...parse.mock.calls.map(([text]) => text.length))).toBeLessThan(MB / 8);
});

test('the answers to one read have a limit together', async () => {
  const answer = { status: 200, headers: {}, body: null, isCached: false, bytes: 100 * MB };
  const reading = new HttpReading(async () => answer, { name: 'Test', readQuota: READ_QUOTA });
  await reading.get('/x?page=1');
  await reading.get('/x?page=2');

  await expect(reading.get('/x?page=3')).rejects.toMatchObject({ code: 'tracker_response' });
});
