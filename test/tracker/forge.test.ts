import { describe, expect, test } from 'vitest';
import type { Trust } from '../../src/domain/config.js';
import type { JsonObject } from '../../src/domain/json.js';
import { type FakeGithub, startFakeGithub } from '../support/trackers/fake-github.js';
import { type FakeGitlab, startFakeGitlab } from '../support/trackers/fake-gitlab.js';
import { type FakeIssue, type OpenOverrides, openFake } from '../support/trackers/fake-tracker.js';
import { openRawTool } from '../support/trackers/open-raw-tool.js';

const NEVER = new AbortController().signal;
const LABELS: JsonObject = { state_labels: ['In progress', 'Review'] };

interface ForgeKind {
  readonly name: string;
  start(): Promise<FakeGithub | FakeGitlab>;
  readonly open: string;
  readonly prefix: string;
  /** Below an issue. */
  readonly comments: string;
  /** The method that edits an issue, and the body that closes it. */
  readonly edit: 'PATCH' | 'PUT';
  readonly close: object;
  /** The call of the raw tool that adds a label to issue 1. */
  addLabel(label: string): object;
}

const KINDS: readonly ForgeKind[] = [
  {
    ...{ name: 'GitHub', start: startFakeGithub, open: 'open', prefix: 'GH-', comments: 'comments' },
    ...{
      edit: 'PATCH',
      close: { state: 'closed' },
      addLabel: (label) => ({ method: 'POST', path: '/issues/1/labels', body: { labels: [label] } }),
    },
  },
  {
    ...{ name: 'GitLab', start: startFakeGitlab, open: 'opened', prefix: 'GL-', comments: 'notes' },
    ...{
      edit: 'PUT',
      close: { state_event: 'close' },
      addLabel: (label) => ({ method: 'PUT', path: '/issues/1', body: { add_labels: label } }),
    },
  },
];

describe.each(KINDS)('$name', (kind) => {
  const { name, start, open, prefix } = kind;

  /** A tracker over a fake with these issues. */
  async function opened(issues: readonly Partial<FakeIssue>[], overrides: OpenOverrides = {}) {
    const fake = await start();
    for (const fields of issues) fake.add(fields);
    return { fake, tracker: openFake(fake, overrides) };
  }

  const BOARD: readonly Partial<FakeIssue>[] = [
    ...[{ state: open }, { state: 'In progress' }, { state: 'Review' }],
    { state: 'closed', labels: ['Review'] },
  ];

  describe('names of issues', () => {
    test.each(['7', '#7', `${prefix}7`, `${prefix.toLowerCase()}7`, ' 7 '])('%j is issue 7', async (identifier) => {
      const { tracker } = await opened(Array(7).fill({}));

      const { issues } = await tracker.issuesByIds([identifier], NEVER);

      expect(issues.map((issue) => issue.identifier)).toEqual([`${prefix}7`]);
    });

    test('an issue under several names is read once', async () => {
      const { fake, tracker } = await opened([{}]);

      const { issues } = await tracker.issuesByIds(['1', '#1', `${prefix}1`, '01'], NEVER);

      expect(issues).toHaveLength(1);
      expect(fake.server.requests.filter(({ url }) => url.pathname.includes('/issues'))).toHaveLength(1);
    });

    test.each(['', '0', 'ABC-1', '../1', `1/${kind.comments}`, '-1', '1e3', '9999999999999999'])(
      '%j names no issue and causes no request',
      async (identifier) => {
        const { fake, tracker } = await opened([{}]);

        const { issues, unknown } = await tracker.issuesByIds([identifier], NEVER);

        expect([issues, unknown]).toEqual([[], []]);
        expect(fake.server.requests).toEqual([]);
      },
    );
  });

  describe('states of labels', () => {
    test('an open issue is in the state of its label, a closed one is closed whatever its labels', async () => {
      const { tracker } = await opened(BOARD, { provider: LABELS });

      const { issues } = await tracker.issuesByIds(['1', '2', '3', '4'], NEVER);

      const states = new Map(issues.map(({ id, state }) => [id, state]));
      expect([...'1234'].map((id) => states.get(id))).toEqual([open, 'In progress', 'Review', 'closed']);
      expect(issues.find(({ id }) => id === '2')?.labels).toContain('in progress');
    });

    test('without state_labels a label is only a label', async () => {
      const { tracker } = await opened(BOARD);

      expect((await tracker.issuesByIds(['2'], NEVER)).issues[0]?.state).toBe(open);
    });

    test('a map gives states other names than their labels', async () => {
      const provider = { state_labels: { Doing: 'status: doing' } };
      const { tracker } = await opened([{ labels: ['status: DOING'] }], { provider });

      const { issues } = await tracker.issuesByStates(['doing'], NEVER);

      expect(issues.map(({ state }) => state)).toEqual(['Doing']);
      expect(tracker.states).toEqual([open, 'Doing', 'closed']);
    });

    test('of several state labels the last configured wins, and the conflict is reported', async () => {
      const { tracker } = await opened([{ state: 'Review', labels: ['In progress'] }], { provider: LABELS });

      const { issues, problems } = await tracker.issuesByStates(['review'], NEVER);
      const other = await tracker.issuesByStates(['in progress'], NEVER);

      expect(issues.map(({ state }) => state)).toEqual(['Review']);
      expect(problems).toEqual([
        expect.stringMatching(new RegExp(`${prefix}1 .*"In progress" and "Review".*counts as "Review"`)),
      ]);
      expect(other.issues).toEqual([]);
    });

    test('an unknown state is reported, and alone it causes no request', async () => {
      const { fake, tracker } = await opened(BOARD, { provider: LABELS });

      const alone = await tracker.issuesByStates(['Reveiw'], NEVER);
      const requests = fake.server.requests.length;
      const mixed = await tracker.issuesByStates(['Reveiw', open], NEVER);

      expect([alone.issues, requests]).toEqual([[], 0]);
      expect(alone.problems).toEqual([expect.stringMatching(/"Reveiw".*Review/)]);
      expect(mixed.issues).toHaveLength(1);
      expect(mixed.problems).toEqual(alone.problems);
    });

    test.each([
      [[open.toUpperCase()], `${name} knows`],
      [{ Closed: 'x' }, `${name} knows`],
      [['Doing', 'doing '], 'twice'],
      [{ Doing: 'x', Done: 'X' }, 'two states'],
      [{ Doing: ' ' }, 'empty'],
      [{ Doing: 7, Done: ['x'] }, 'must be a text'],
      [[['x']], 'list of texts'],
    ])('state_labels %j are invalid', async (state_labels, why) => {
      const fake = await start();

      const create = () => openFake(fake, { provider: { state_labels } as JsonObject });

      expect(create).toThrow(expect.objectContaining({ code: 'invalid_tracker_config' }));
      expect(create).toThrow(why);
    });
  });

  describe('assignee', () => {
    test.each([
      ['baton-bot', ['baton-bot'], null],
      ['@Baton-Bot', ['ann', 'baton-bot'], null],
      ['me', ['baton-bot'], null],
      ['baton-bot', ['bob'], 'is assigned to bob, not to baton-bot'],
      ['me', ['ann', 'bob'], 'is assigned to ann and bob, not to baton-bot'],
      ['me', [], 'is assigned to nobody, not to baton-bot'],
    ])('with %s, an issue of %j has held_back: %s', async (assignee, people, heldBack) => {
      const { fake, tracker } = await opened([{}], { provider: { assignee } });
      fake.world.assignees.set('1', people);

      const { issues } = await tracker.issuesByStates([open], NEVER);

      expect(issues[0]).toMatchObject({ held_back: heldBack, dispatchable: heldBack === null });
    });

    test('the login of "me" is read once', async () => {
      const { fake, tracker } = await opened([{}], { provider: { assignee: 'me' } });

      for (let n = 0; n < 3; n++) await tracker.issuesByStates([open], NEVER);

      expect(fake.server.requests.filter(({ url }) => url.pathname.endsWith('/user'))).toHaveLength(1);
    });
  });

  test('a change of trust takes effect with the next read', async () => {
    let trust: Trust = 'members';
    const { tracker } = await opened([{ author: 'eve', isMember: false }], { settings: () => ({ trust }) });
    const isTrusted = async () => (await tracker.issuesByStates([open], NEVER)).issues[0]?.author?.trusted;

    const before = await isTrusted();
    trust = ['eve'];

    expect([before, await isTrusted()]).toEqual([false, true]);
  });

  test('a read reports the quota that is left, when it resets, and what the read cost', async () => {
    const { fake, tracker } = await opened(Array.from({ length: 150 }, () => ({})));

    const { rateLimit } = await tracker.issuesByStates([open], NEVER);

    const { remaining, resetAtSeconds } = fake.world.quota;
    const cost = fake.server.requests.length;
    expect(rateLimit).toEqual({ remaining, resetAtMs: resetAtSeconds * 1000, cost });
  });

  describe('changes', () => {
    test('a comment comes before the move', async () => {
      const { fake, tracker } = await opened([{}]);

      await tracker.update('1', { state: 'closed', comment: 'Done.' }, NEVER);

      const sent = fake.server.requests.filter(({ method }) => method !== 'GET');
      expect(sent.map(({ method, url }) => `${method} ${url.pathname.split('/issues')[1]}`)).toEqual([
        `POST /1/${kind.comments}`,
        `${kind.edit} /1`,
      ]);
      expect(sent[0]?.body).toEqual({ body: 'Done.' });
    });

    test.each([400, 404, 405, 409, 410, 422])('the agent reads why %i rejects a change', async (status) => {
      const { fake, tracker } = await opened([{}]);
      const body = { message: 'Validation Failed', errors: [{ message: 'too long' }] };
      fake.server.fault = ({ method }) => (method === 'GET' ? null : { status, body });

      await expect(tracker.update('1', { comment: 'x' }, NEVER)).rejects.toMatchObject({
        code: 'tracker_refused',
        message: expect.stringMatching(new RegExp(`${prefix}1 .*too long`)),
      });
    });

    test.each([
      [401, 'tracker_auth'],
      [403, 'tracker_auth'],
      [429, 'tracker_rate_limited'],
      [500, 'tracker_status'],
    ])('%i of a change is %s', async (status, code) => {
      const { fake, tracker } = await opened([{}]);
      fake.server.fault = ({ method }) => (method === 'GET' ? null : { status, body: { message: 'no' } });

      await expect(tracker.update('1', { comment: 'x' }, NEVER)).rejects.toMatchObject({ code });
    });

    test('a locked issue takes no comments from outside', async () => {
      const { fake, tracker } = await opened([{}]);
      fake.world.locked.add('1');

      await expect(tracker.update('1', { comment: 'x' }, NEVER)).rejects.toMatchObject({
        code: 'tracker_refused',
        message: expect.stringContaining('locked'),
      });
    });

    test.each([`${prefix}x`, '../2', '', '99'])('%j is no issue, and nothing is changed', async (id) => {
      const { fake, tracker } = await opened([{}]);

      await expect(tracker.update(id, { comment: 'x' }, NEVER)).rejects.toMatchObject({ code: 'tracker_refused' });
      expect(fake.server.requests.filter(({ method }) => method !== 'GET')).toEqual([]);
    });
  });

  describe('the raw tool', () => {
    const READ = { method: 'GET', path: '/issues/1' };
    const openTool = async (provider: JsonObject = {}) => openRawTool(await start(), provider);

    test('read_only allows only GET', async () => {
      const { fake, tool, call } = await openTool({ raw_tool: 'read_only' });

      const read = await call(READ);
      const changes = [];
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) changes.push(await call({ ...READ, method }));

      expect(read.success).toBe(true);
      expect(changes.map(({ json }) => json.error.code)).toEqual(Array(4).fill('refused'));
      expect(fake.server.requests).toHaveLength(1);
      expect(tool.description).toContain('Only GET');
      expect(JSON.stringify(tool.inputSchema)).not.toContain('POST');
    });

    test.each([
      { method: 'TRACE', path: '/issues/1' },
      { method: 'get', path: '/issues/1' },
      { method: 'GET', path: 7 },
      { method: 'GET', path: '/issues/1', body: {} },
      { method: 'POST', path: `/issues/1/${kind.comments}`, body: ['x'] },
      { method: 'POST', path: `/issues/1/${kind.comments}`, body: '{"body":"x"}' },
      { method: 'GET', path: '/issues/1', headers: { authorization: 'x' } },
    ])('SEC-22 the input %j is refused, and nothing is sent', async (input) => {
      const { fake, call } = await openTool();

      expect((await call(input)).json.error.code).toBe('refused');
      expect(fake.server.requests).toEqual([]);
    });

    test('a query is sent as it was written', async () => {
      const { fake, call } = await openTool();

      await call({ method: 'GET', path: '/issues?state=all&labels=a%20b&per_page=5' });

      expect(fake.server.requests.map(({ url }) => url.search)).toEqual(['?state=all&labels=a%20b&per_page=5']);
    });

    test('the agent reads a 404', async () => {
      const { call } = await openTool();

      const { success, json } = await call({ method: 'GET', path: '/issues/77' });

      expect(success).toBe(false);
      expect(json).toMatchObject({ status: 404, body: { message: expect.stringContaining('Not Found') } });
    });

    test('a redirect is returned and not followed, since it would lead out of the project', async () => {
      const { fake, call } = await openTool();
      const location = `${fake.server.url}/elsewhere/issues/1`;
      fake.server.fault = () => ({ status: 301, headers: { location }, body: { message: 'moved' } });

      const { success, json } = await call(READ);

      expect([success, json.status]).toEqual([false, 301]);
      expect(fake.server.requests).toHaveLength(1);
    });

    test.each([
      [{ status: 401, body: { message: 'no' } }, 'tracker_auth'],
      [{ status: 403, body: { message: 'no' } }, 'tracker_auth'],
      [{ status: 429, body: {} }, 'tracker_rate_limited'],
      [{ status: 500, body: {} }, 'tracker_status'],
      [{ raw: '<html>Sign in</html>' }, 'tracker_response'],
      [{ raw: 'x'.repeat(5 * 1024 * 1024) }, 'tracker_request'],
    ])('a failure is JSON with a code', async (answer, code) => {
      const { fake, call } = await openTool();
      fake.server.fault = () => answer;

      const { success, json } = await call(READ);

      expect(success).toBe(false);
      expect(json).toEqual({ error: { code, message: expect.any(String) } });
    });

    test('a long answer is cut and marked', async () => {
      const { fake, call } = await openTool();
      fake.server.fault = () => ({ body: { description: 'x'.repeat(200_000) } });

      const { text, json } = await call(READ);

      expect(json.truncated).toBe(true);
      expect(text.length).toBeLessThan(110_000);
    });

    test('a long input is refused', async () => {
      const { fake, call } = await openTool();
      const body = { body: 'x'.repeat(200_001) };

      const { json } = await call({ method: 'POST', path: `/issues/1/${kind.comments}`, body });

      expect(json.error.code).toBe('invalid_input');
      expect(fake.server.requests).toEqual([]);
    });

    test.each([200, 422, 500])('SEC-20 the token in an answer with %i is masked', async (status) => {
      const { fake, call } = await openTool();
      const { token } = fake;
      fake.server.fault = () => ({ status, body: { message: token, escaped: encodeURIComponent(token) } });

      expect((await call(READ)).text).not.toContain(token);
    });

    test.each<[string, object, string | undefined]>([
      ['closes the issue', { method: kind.edit, path: '/issues/1', body: kind.close }, 'closed'],
      ['adds a state label', kind.addLabel('Review'), 'Review'],
      ['adds another label', kind.addLabel('bug'), undefined],
      ['comments', { method: 'POST', path: `/issues/1/${kind.comments}`, body: { body: 'x' } }, undefined],
      ['reads', READ, undefined],
    ])('a call that %s has movedTo', async (_what, input, movedTo) => {
      const { call } = await openTool();

      const result = await call(input);

      expect([result.success, result.movedTo]).toEqual([true, movedTo]);
    });
  });
});
