import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BatonError } from '../../src/domain/errors.js';
import type { JsonObject } from '../../src/domain/json.js';
import { createRedactor } from '../../src/logging/redact.js';
import {
  parseRestPath,
  type RawResult,
  rawTool,
  restTool,
  ToolRefusal,
  writeRestPath,
} from '../../src/tracker/raw-tool.js';
import { issue } from '../support/builders.js';
import { FAKE_KINDS } from '../support/trackers/fake-kinds.js';
import { openFake } from '../support/trackers/fake-tracker.js';

const TOKEN = 'canary-token-0123456789';
const OWN = issue({ id: 'A', state: 'Todo' });

function toolWith(
  result: RawResult | Error,
  { isChange = false, stateOf = async (): Promise<string | null> => 'Todo' } = {},
) {
  const redactor = createRedactor([TOKEN]);
  const tool = rawTool({
    ...{ name: 'x_api', description: 'd', inputSchema: {}, stateOf },
    mask: (text) => redactor.mask(text),
    plan: () => ({
      isChange,
      send: async () => {
        if (result instanceof Error) throw result;
        return result;
      },
    }),
  });
  return async (input: unknown = {}) => {
    const told = await tool.call(input, { issue: OWN, runId: 'r' });
    return { ...told, json: JSON.parse(told.text) };
  };
}

const read = (body: unknown): RawResult => ({ ok: true, body });

test.each([
  [new ToolRefusal('not there'), 'refused', 'not there'],
  [new BatonError('tracker_status', 'broken'), 'tracker_status', 'broken'],
])('a failure has its code: %s', async (error, code, message) => {
  const { success, json } = await toolWith(error)();

  expect(success).toBe(false);
  expect(json).toEqual({ error: { code, message } });
});

test('a rate limit ends the turn of the agent and has the time of its reset', async () => {
  const limit = new BatonError('tracker_rate_limited', 'Later.', { resetAtMs: 77 });

  const { success, limitedUntilMs, json } = await toolWith(limit)();

  expect([success, limitedUntilMs]).toEqual([false, 77]);
  expect(json.error).toEqual({ code: 'tracker_rate_limited', message: expect.stringContaining('end your turn') });
});

test.each([
  ['as it is', TOKEN],
  ['as Basic authorisation', Buffer.from(`ann@example.org:${TOKEN}`).toString('base64')],
  ['in base64url', Buffer.from(`x${TOKEN}`).toString('base64url')],
  ['in a query', encodeURIComponent(`${TOKEN}/`)],
  ['as JSON in JSON', JSON.stringify({ token: TOKEN })],
])('SEC-20 a secret is removed from an answer: %s', async (_how, text) => {
  const { text: told } = await toolWith(read({ echo: text, [text]: 1 }))();

  expect(told).not.toContain(TOKEN);
  expect(told).not.toContain(text);
  expect(told).toContain('***');
});

test('SEC-20 a secret is removed from a failure', async () => {
  const { text } = await toolWith(new BatonError('tracker_status', `they said ${TOKEN}`))();

  expect(text).not.toContain(TOKEN);
});

test('a long answer is cut, stays JSON, and no secret survives at the cut', async () => {
  const { success, text, json } = await toolWith(read(`${'x'.repeat(49_980)}${TOKEN}${'"'.repeat(400_000)}`))();

  expect(success).toBe(true);
  expect(json.truncated).toBe(true);
  expect(text.length).toBeLessThan(160_000);
  expect(text).not.toContain(TOKEN.slice(0, 10));
});

test('an answer that is nested too deeply is a failure in JSON', async () => {
  const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);

  const { success, json } = await toolWith(read(deep))();

  expect([success, json.error.code]).toEqual([false, 'tracker_response']);
});

test('an input that is too long is not sent', async () => {
  const { json } = await toolWith(read(null))({ body: 'x'.repeat(200_001) });

  expect(json.error.code).toBe('invalid_input');
});

test('an input that is nested too deeply is a failure in JSON', async () => {
  const body = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);

  const { success, json } = await toolWith(read(null))({ body });

  expect([success, json.error.code]).toEqual([false, 'invalid_input']);
});

const DOWN = new Error('down');
test.each<[string, boolean, readonly (string | Error)[], string | undefined]>([
  ['that the change moved has moved', true, ['Todo', 'Done'], 'Done'],
  ['that is spelt otherwise has not', true, ['Todo', ' todo'], undefined],
  ['that a person had moved before has not', true, ['Done', 'Done'], undefined],
  ['that cannot be read before is changed all the same', true, [DOWN, 'Done'], undefined],
  ['that cannot be read again is changed all the same', true, ['Todo', DOWN], undefined],
  ['that was only read has not', false, ['Todo', 'Done'], undefined],
])('an issue %s', async (_what, isChange, looks, movedTo) => {
  let look = 0;
  const stateOf = async () => {
    const seen = looks[look++] ?? DOWN;
    if (seen instanceof Error) throw seen;
    return seen;
  };

  const told = await toolWith({ ok: true, body: {} }, { isChange, stateOf })();

  expect([told.success, told.movedTo]).toEqual([true, movedTo]);
});

test('a change has movedTo even when its answer cannot be shown', async () => {
  const states = ['Todo', 'Done'];
  const body = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);

  const told = await toolWith({ ok: true, body }, { isChange: true, stateOf: async () => states.shift() ?? null })();

  expect([told.json.error.code, told.movedTo]).toEqual(['tracker_response', 'Done']);
});

/** Whole characters and halves of them. */
const HALVES = fc.constantFrom('a', '/', '?', '\ud83d', '\ude04', '😄');

test('a path is split into decoded segments and its query', () => {
  expect(parseRestPath('/issues/12/labels/?a=b')).toEqual({ segments: ['issues', '12', 'labels'], query: '?a=b' });
  expect(parseRestPath('/labels/in%20progress')).toEqual({ segments: ['labels', 'in progress'], query: '' });
});

test.each([
  ...[
    'issues',
    '//evil.example/x',
    'https://evil.example/x',
    '/a/../b',
    '/a/./b',
    '/a//b',
    '/a/%2e%2e/b',
    '/%252e%252e/x',
  ],
  ...['/a\\b', '/a/%5c..', '/a#b', '/a b', '/a/%00', '/a/%zz', `/${'x'.repeat(3_000)}`],
  ...['/\ud800', '/a?b=\udc00', '/a/%ed%a0%80'],
])('SEC-22 a path that could leave the scope is refused: %s', (path) => {
  expect(typeof parseRestPath(path)).toBe('string');
});

test('SEC-22 any accepted path stays on its host and below its base, and an encoded slash stays in its segment', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: HALVES })), (text) => {
      const parsed = parseRestPath(`/${text}`);
      if (typeof parsed === 'string') return;
      const sent = new URL(`https://host/base${writeRestPath(parsed.segments)}`);
      expect(sent.origin).toBe('https://host');
      expect(sent.pathname.startsWith('/base')).toBe(true);
      expect(sent.pathname.split('/')).toHaveLength(2 + parsed.segments.length);
    }),
  );
});

const NEVER = new AbortController().signal;
const document = {
  version: 1,
  type: 'doc',
  content: [{ type: 'paragraph', content: [{ type: 'text', text: 'Hi.' }] }],
};

/** A call of the raw tool that comments on the run's own issue. */
const COMMENTS: { readonly [kind in keyof typeof FAKE_KINDS]: JsonObject } = {
  linear: { query: 'mutation { commentCreate(input: {issueId: "ENG-1", body: "Hi."}) { success } }' },
  github: { method: 'POST', path: '/issues/1/comments', body: { body: 'Hi.' } },
  gitlab: { method: 'POST', path: '/issues/1/notes', body: { body: 'Hi.' } },
  jira: { method: 'POST', path: '/issue/ABC-1/comment', body: { body: document } },
  redmine: { method: 'PUT', path: '/issues/1.json', body: { issue: { notes: 'Hi.' } } },
};
const RAW_TOOL_KINDS = Object.keys(FAKE_KINDS) as (keyof typeof FAKE_KINDS)[];

describe('a move by a person is not reported as a move by the agent', () => {
  test.each(RAW_TOOL_KINDS)('%s', async (kind) => {
    const { start, terminal } = FAKE_KINDS[kind];
    const fake = await start();
    const added = fake.add();
    const tracker = openFake(fake, { provider: { raw_tool: true } });
    const [issue] = (await tracker.issuesByIds([added.id], NEVER)).issues;
    if (!issue) throw new Error('it is there');

    added.state = terminal;
    const told = await tracker.tools()[0]?.call(COMMENTS[kind], { issue, runId: 'r' });

    expect(added.comments).toHaveLength(1);
    expect([told?.success, told?.movedTo]).toEqual([true, undefined]);
  });
});

describe('SEC-22 a table of REST calls', () => {
  const sent: unknown[] = [];
  const tool = restTool({
    table: {
      tool: 'x_api',
      example: '/issues/1',
      rules: [
        { call: 'GET issues/{number}/links', refuse: 'Links are not shown.' },
        { call: 'GET {list}/**' },
        { call: 'GET search', query: ['q', /^cf_\d+$/] },
        { call: 'PUT issues/{number}', fields: ['title'] },
        { call: 'POST issues', fields: ['title'], inside: 'issue' },
        { call: 'POST issues/{number}/watchers', fields: 'json', query: 'any' },
        { call: 'DELETE issues/{number}/labels/{any}', fields: [] },
      ],
      segments: { list: /^(?:issues|labels)$/ },
      below: ([first, ...others]) => (first === 'api' ? others : [first ?? '', ...others]),
      refusal: (method, segments) => `${method} /${segments.join('/')} has no rule.`,
    },
    ...{ description: 'd', pathHelp: 'p', isReadOnly: false, mask: (text) => text, stateOf: async () => null },
    prepare:
      ({ method, segments, query, body, named }) =>
      async () => {
        sent.push({ method, path: `${segments.join('/')}${query}`, body, named });
        return { ok: true, body: null };
      },
  });
  async function call(input: object) {
    sent.length = 0;
    const { success, text } = await tool.call(input, { issue: OWN, runId: 'r' });
    return { success, error: success ? null : JSON.parse(text).error };
  }

  test.each<[object, object]>([
    [{ method: 'GET', path: '/issues' }, { path: 'issues' }],
    [{ method: 'GET', path: '/api/labels/a%2Fb/x?y=1' }, { path: 'labels/a/b/x?y=1' }],
    [{ method: 'GET', path: '/search?q=a&cf_12=b' }, { path: 'search?q=a&cf_12=b' }],
    [
      { method: 'PUT', path: '/issues/12', body: { title: 'T' } },
      { body: { title: 'T' }, named: { number: '12' } },
    ],
    [{ method: 'POST', path: '/issues', body: { issue: { title: 'T' } } }, { body: { issue: { title: 'T' } } }],
    [{ method: 'POST', path: '/issues/1/watchers?notify=1', body: 'ann' }, { body: 'ann' }],
    [{ method: 'DELETE', path: '/issues/1/labels/bug' }, { named: { number: '1', any: 'bug' } }],
  ])('allows %j', async (input, expected) => {
    expect((await call(input)).success).toBe(true);
    expect(sent).toMatchObject([expected]);
  });

  test.each<[string, object, string]>([
    ['an earlier row refuses', { method: 'GET', path: '/issues/1/links' }, 'Links are not shown'],
    ['has no row', { method: 'GET', path: '/secrets' }, 'has no rule'],
    ['has another method', { method: 'DELETE', path: '/issues/1' }, 'has no rule'],
    ['has no method of the table', { method: 'PATCH', path: '/issues/1' }, 'method must be one of'],
    ['has a segment of another form', { method: 'PUT', path: '/issues/x', body: {} }, 'has no rule'],
    ['is longer than its row', { method: 'PUT', path: '/issues/1/x', body: {} }, 'has no rule'],
    ['has another field', { method: 'PUT', path: '/issues/1', body: { state: 'x' } }, 'may hold title, not state'],
    ['has a list for a body', { method: 'PUT', path: '/issues/1', body: [] }, 'must be an object'],
    ['has a change in its query', { method: 'PUT', path: '/issues/1?title=T' }, 'into body'],
    ['has another query', { method: 'GET', path: '/search?key=1' }, 'may hold q, not "key"'],
    ['has a body with GET', { method: 'GET', path: '/issues', body: {} }, 'no body'],
    ['has no inner object', { method: 'POST', path: '/issues', body: { title: 'T' } }, '{"issue": {…}}'],
    [
      'has more than the inner object',
      { method: 'POST', path: '/issues', body: { issue: {}, key: 1 } },
      'nothing else',
    ],
    ['has another inner field', { method: 'POST', path: '/issues', body: { issue: { id: 1 } } }, 'not id'],
    ['has an inherited field name', { method: 'PUT', path: '/issues/1', body: { constructor: 1 } }, 'not constructor'],
  ])('refuses a call that %s', async (_what, input, why) => {
    const { error } = await call(input);

    expect(error.code).toBe('refused');
    expect(error.message).toContain(why);
    expect(sent).toEqual([]);
  });

  test('the schema lists the methods of the table', () => {
    expect(tool.inputSchema).toMatchObject({ properties: { method: { enum: ['GET', 'POST', 'PUT', 'DELETE'] } } });
  });
});
