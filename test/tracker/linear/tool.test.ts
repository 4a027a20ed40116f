import { describe, expect, test } from 'vitest';
import { startFakeLinear } from '../../support/trackers/fake-linear.js';
import type { FakeAnswer } from '../../support/trackers/fake-server.js';
import { openFake } from '../../support/trackers/fake-tracker.js';

const NEVER = new AbortController().signal;

async function withTool(raw_tool: boolean | string = true) {
  const fake = await startFakeLinear();
  const added = fake.add({ labels: ['bug'] });
  const tracker = openFake(fake, { provider: { raw_tool } });
  const [tool] = tracker.tools();
  const [issue] = (await tracker.issuesByIds([added.id], NEVER)).issues;
  if (!tool || !issue) throw new Error('both are there');
  fake.server.requests.length = 0;
  const call = async (input: unknown) => {
    const result = await tool.call(input, { issue, runId: 'r' });
    return { ...result, told: JSON.parse(result.text) };
  };
  return { fake, added, tool, call };
}

const READ = 'query Read($id: String!) { issue(id: $id) { identifier title state { name } } }';
const MOVE =
  'mutation Move($id: String!, $stateId: String!) { issueUpdate(id: $id, input: {stateId: $stateId}) { success } }';
const COMMENT = 'mutation { commentCreate(input: {issueId: "ENG-1", body: "Hello"}) { success } }';

describe('linear_graphql', () => {
  test('takes a query and variables as input', async () => {
    const { tool } = await withTool();

    expect(tool.name).toBe('linear_graphql');
    expect(tool.inputSchema).toMatchObject({ required: ['query'], properties: { query: {}, variables: {} } });
    expect(tool.description).toContain('everything that the key of this installation may see');
  });

  test('sends the query with its variables and returns the response unchanged', async () => {
    const { fake, added, call } = await withTool();

    const { success, told } = await call({ query: READ, variables: { id: added.id } });

    expect(success).toBe(true);
    expect(told).toEqual({ data: { issue: { identifier: 'ENG-1', title: 'Title 1', state: { name: 'Todo' } } } });
    expect(fake.server.requests.map(({ body }) => body)).toEqual([{ query: READ, variables: { id: added.id } }]);
  });

  test.each([
    ['a text alone', '{ viewer { displayName } }'],
    ['variables that are null', { query: '{ viewer { displayName } }', variables: null }],
    [
      'a name of the operation, which is not needed',
      { query: 'query A { viewer { displayName } }', operationName: 'B' },
    ],
  ])('takes %s', async (_what, input) => {
    const { call } = await withTool();

    expect((await call(input)).told).toEqual({ data: { viewer: { displayName: 'baton' } } });
  });

  test('reports the new state when it moves the issue of the run, so that the turn may end', async () => {
    const { added, call } = await withTool();

    const moved = await call({ query: MOVE, variables: { id: added.id, stateId: 'state-ENG-In Review' } });

    expect([moved.success, moved.movedTo, added.state]).toEqual([true, 'In Review', 'In Review']);
  });

  test('reports no move when it changes something else', async () => {
    const { fake, added, call } = await withTool();
    const other = fake.add();

    const commented = await call({ query: COMMENT });
    const moved = await call({ query: MOVE, variables: { id: other.id, stateId: 'state-ENG-Done' } });

    expect([commented.success, commented.movedTo]).toEqual([true, undefined]);
    expect([moved.success, moved.movedTo, other.state]).toEqual([true, undefined, 'Done']);
    expect(added.comments.map(({ body }) => body)).toEqual(['Hello']);
  });
});

describe('an invalid call is refused, and nothing is sent', () => {
  test.each<[string, unknown]>([
    ['no query', { variables: {} }],
    ['a blank query', { query: ' \n' }],
    ['a blank text', ' '],
    ['a query that is no text', { query: { a: 1 } }],
    ['variables that are a list', { query: READ, variables: [] }],
    ['variables that are a text', { query: READ, variables: '{"id": "ENG-1"}' }],
    ['two operations', { query: `${READ} ${MOVE}` }],
    ['two operations and the name of one', { query: `${READ} ${MOVE}`, operationName: 'Move' }],
    ['a fragment alone', { query: 'fragment F on Issue { id }' }],
    ['what is no GraphQL', { query: 'please move ENG-1 to Done' }],
    ['a subscription', { query: 'subscription { issueUpdated { id } }' }],
    ['too long a query', { query: `{ viewer { id } } #${'x'.repeat(200_000)}` }],
    ['too much in variables', { query: READ, variables: { id: 'x'.repeat(200_000) } }],
  ])('%s', async (_what, input) => {
    const { fake, call } = await withTool();

    const { success, told } = await call(input);

    expect(success).toBe(false);
    expect(told).toEqual({
      error: { code: expect.stringMatching(/^(refused|invalid_input)$/), message: expect.any(String) },
    });
    expect(fake.server.requests).toEqual([]);
  });
});

describe('read_only', () => {
  test.each([
    COMMENT,
    MOVE,
    `# only a comment: {\n${COMMENT}`,
    `"""query { a }""" ${COMMENT}`,
    `fragment F on CommentPayload { success } ${COMMENT.replace('success', '...F')}`,
    `${READ} ${COMMENT}`,
    `${COMMENT} ${READ}`,
    `query Q { viewer { id } }\r#\r${COMMENT}`,
    `,\uFEFF,${COMMENT}`,
    'subscription { issueUpdated { id } }',
  ])('refuses every change: %j', async (query) => {
    const { fake, added, call } = await withTool('read_only');

    const { success, told } = await call({ query, operationName: 'Q' });

    expect([success, told.error.code]).toEqual([false, 'refused']);
    expect([fake.server.requests, added.comments]).toEqual([[], []]);
  });

  test('allows reads, also those that look like a change', async () => {
    const { call } = await withTool('read_only');

    const query = '# mutation\nquery mutation { mutation: viewer { displayName } issue(id: "ENG-1") { title } }';

    expect((await call({ query })).told.data.mutation).toEqual({ displayName: 'baton' });
  });

  test('is mentioned in the description of the tool', async () => {
    const { tool } = await withTool('read_only');

    expect(tool.description).toMatch(/^Send one GraphQL query to Linear/);
  });
});

describe('failures', () => {
  test.each([
    ['an unknown field', { query: '{ viewer { nonsense } }' }],
    ['an issue that is not there', { query: READ, variables: { id: 'ENG-99' } }],
  ])('%s: the message of Linear reaches the agent', async (_what, input) => {
    const { call } = await withTool();

    const { success, told } = await call(input);

    expect(success).toBe(false);
    expect(told.errors[0].message).toEqual(expect.any(String));
  });

  test.each<[string, FakeAnswer, string]>([
    ['401', { status: 401, body: {} }, 'tracker_auth'],
    ['429', { status: 429, body: {}, headers: { 'retry-after': '7' } }, 'tracker_rate_limited'],
    ['502', { status: 502, raw: '<html>' }, 'tracker_status'],
    ['no JSON', { raw: 'hello' }, 'tracker_response'],
    ['half an answer', { raw: '{"data": {"a": 1}}', cutAt: 9 }, 'tracker_request'],
    ['a redirect', { status: 302, headers: { location: 'https://evil.example/' } }, 'tracker_status'],
  ])('%s is reported in JSON', async (_what, answer, code) => {
    const { fake, call } = await withTool();
    fake.server.fault = () => answer;

    const { success, told } = await call({ query: READ });

    expect([success, told.error.code]).toEqual([false, code]);
  });

  test.each([
    ['429', { status: 429, body: {} }],
    ['a 400 that says so', { status: 400, body: { errors: [{ message: 'x', extensions: { code: 'RATELIMITED' } }] } }],
    ['a 200 that says so', { body: { data: null, errors: [{ message: 'x', extensions: { type: 'ratelimited' } }] } }],
  ])('a rate limit is recognised by %s, and the agent is asked to end its turn', async (_what, answer) => {
    const { fake, call } = await withTool();
    const resetAtMs = Date.now() + 600_000;
    const headers = { 'x-ratelimit-requests-remaining': '0', 'x-ratelimit-requests-reset': String(resetAtMs) };
    fake.server.fault = () => ({ ...answer, headers });

    const { success, told, limitedUntilMs } = await call({ query: READ });

    expect([success, told.error?.code, limitedUntilMs]).toEqual([false, 'tracker_rate_limited', resetAtMs]);
  });

  test.each([[{ data: null }], [{}], [[]], [7], [{ data: { a: 1 }, errors: 'odd' }]])(
    '%j is a failure',
    async (body) => {
      const { fake, call } = await withTool();
      fake.server.fault = () => ({ body });

      expect((await call({ query: READ })).success).toBe(false);
    },
  );

  test('SEC-20 the key is in no result, in any spelling', async () => {
    const { fake, call } = await withTool();
    const spellings = [fake.token, Buffer.from(fake.token).toString('base64'), encodeURIComponent(`${fake.token}/`)];
    fake.server.fault = () => ({ body: { data: { echo: spellings, [fake.token]: `Bearer ${fake.token}` } } });

    const { text } = await call({ query: READ });

    for (const spelling of spellings) expect(text).not.toContain(spelling.replace(/=+$/, ''));
  });

  test('a response that is too long is cut, with a note', async () => {
    const { fake, call } = await withTool();
    fake.server.fault = () => ({ body: { data: { long: 'x'.repeat(300_000) } } });

    const { text, told } = await call({ query: READ });

    expect(text.length).toBeLessThan(100_000);
    expect(told).toMatchObject({ truncated: true, advice: expect.stringContaining('fewer fields') });
  });

  test('a change succeeds even when the issue cannot be read afterwards', async () => {
    const { fake, added, call } = await withTool();
    fake.server.fault = ({ body }) => (body.query.includes('BatonState') ? { status: 500, body: {} } : null);

    const { success, movedTo } = await call({ query: MOVE, variables: { id: added.id, stateId: 'state-ENG-Done' } });

    expect([success, movedTo, added.state]).toEqual([true, undefined, 'Done']);
  });
});
