import { describe, expect, test } from 'vitest';
import { BatonError } from '../../../src/domain/errors.js';
import type { JsonObject } from '../../../src/domain/json.js';
import type { Tracker } from '../../../src/domain/ports.js';
import { type FakeAnswer, type FakeRequest, fakeServer } from '../../support/trackers/fake-server.js';
import { type FakeTracker, openFake } from '../../support/trackers/fake-tracker.js';

export interface ContractFacts {
  start(): Promise<FakeTracker>;
  /** Two states in which an issue is worked on or could be, and one in which it is done, as the tracker spells them. */
  readonly active: string;
  readonly other: string;
  readonly terminal: string;
  /** The key of `tracker.provider` that holds the address. */
  readonly endpointKey: string;
  /** The key that holds the token. */
  readonly tokenKey: string;
  readonly rawTool: string;
  /** A call that only reads, with `mark` in the request. */
  rawRead(mark: string): JsonObject;
  /** Settings under which `active`, `other` and `terminal` exist. */
  readonly provider?: { readonly [key: string]: string | boolean | readonly string[] };
}

const NEVER = new AbortController().signal;

/** The laws of every tracker with an HTTP API, checked on the real adapter and a server on loopback. */
export function trackerContract(kind: string, facts: ContractFacts): void {
  const { active, other, terminal } = facts;
  const setUp = async () => {
    const fake = await facts.start();
    return { fake, tracker: openFake(fake, { ...(facts.provider ? { provider: facts.provider } : {}) }) };
  };
  const read = (tracker: Tracker, ...states: string[]) => tracker.issuesByStates(states, NEVER);
  const withFault = async (answer: FakeAnswer) => {
    const { fake, tracker } = await setUp();
    fake.add({ state: active });
    fake.server.fault = () => answer;
    return { fake, tracker };
  };

  describe(`${kind}: reads`, () => {
    test('issues are read by state, without regard to case, in the spelling of the tracker', async () => {
      const { fake, tracker } = await setUp();
      const one = fake.add({ state: active, title: 'One', description: 'Do one.' });
      fake.add({ state: other });
      fake.add({ state: terminal });

      const { issues, unknown } = await read(tracker, ` ${active.toUpperCase()} `);

      expect(issues.map(({ id }) => id)).toEqual([one.id]);
      expect(issues[0]).toMatchObject({ identifier: one.identifier, title: 'One', state: active, dispatchable: true });
      expect(issues[0]?.description).toContain('Do one.');
      expect(Date.parse(issues[0]?.created_at ?? '')).toBe(Date.parse(one.createdAt));
      expect(unknown).toEqual([]);
    });

    test('several states are one read', async () => {
      const { fake, tracker } = await setUp();
      const ids = [active, other, terminal].map((state) => fake.add({ state }).id);

      const { issues } = await read(tracker, active, terminal);

      expect(new Set(issues.map(({ id }) => id))).toEqual(new Set([ids[0], ids[2]]));
    });

    test('no states and no ids send no request', async () => {
      const { fake, tracker } = await setUp();

      const answers = [await read(tracker), await tracker.issuesByIds([], NEVER)];

      expect(answers).toEqual([expect.objectContaining({ issues: [] }), expect.objectContaining({ issues: [] })]);
      expect(fake.server.requests).toEqual([]);
    });

    test('230 issues are read to the last, each once', async () => {
      const { fake, tracker } = await setUp();
      const ids = Array.from({ length: 230 }, () => fake.add({ state: active }).id);

      const { issues } = await read(tracker, active);

      expect(issues).toHaveLength(230);
      expect(new Set(issues.map(({ id }) => id))).toEqual(new Set(ids));
    });

    test('120 issues are read by their ids, and a missing one is in neither list', async () => {
      const { fake, tracker } = await setUp();
      const ids = Array.from({ length: 120 }, (_, n) => fake.add({ state: n % 2 === 0 ? active : terminal }).id);
      const [gone = ''] = ids;
      fake.board.delete(gone);

      const { issues, unknown } = await tracker.issuesByIds([...ids, ids[1] ?? ''], NEVER);

      expect(new Set(issues.map(({ id }) => id))).toEqual(new Set(ids.slice(1)));
      expect(issues).toHaveLength(119);
      expect(unknown).toEqual([]);
    });

    test('an invalid record is reported and skipped in a list, and an error among ids', async () => {
      const { fake, tracker } = await setUp();
      const good = fake.add({ state: active });
      const bad = fake.add({ state: active, isMalformed: true });

      const list = await read(tracker, active);

      expect(list.issues.map(({ id }) => id)).toEqual([good.id]);
      expect(list.problems).toHaveLength(1);
      await expect(tracker.issuesByIds([bad.id], NEVER)).rejects.toMatchObject({ code: 'tracker_response' });
    });

    test('an issue has its open and closed blockers', async () => {
      const { fake, tracker } = await setUp();
      const open = fake.add({ state: active });
      const closed = fake.add({ state: terminal });
      const blocked = fake.add({ state: active, blockedBy: [open.id, closed.id] });

      const [found] = (await tracker.issuesByIds([blocked.id], NEVER)).issues;

      const byId = new Map(found?.blocked_by.map(({ id, state }) => [id, state]));
      expect(byId).toEqual(
        new Map([
          [open.id, active],
          [closed.id, terminal],
        ]),
      );
    });

    test('labels are read', async () => {
      const { fake, tracker } = await setUp();
      fake.add({ state: active, labels: ['Baton'] });

      const { issues } = await read(tracker, active);

      expect(issues[0]?.labels).toContain('baton');
    });
  });

  describe(`${kind}: comments`, () => {
    test('the newest thirty reach a run, oldest first', async () => {
      const { fake, tracker } = await setUp();
      const comments = Array.from({ length: 35 }, (_, n) => ({
        ...{ author: 'ann', isMember: true, body: `word ${n}` },
        createdAt: new Date(Date.UTC(2026, 1, 1) + n * 60_000).toISOString(),
      }));
      const { id } = fake.add({ state: active, comments });
      const [issue] = (await tracker.issuesByIds([id], NEVER)).issues;
      if (!issue) throw new Error('it is there');

      const newest = (await tracker.readComments?.(issue, NEVER)) ?? [];

      expect(newest).toHaveLength(30);
      expect(newest[0]?.body).toContain('word 5');
      expect(newest.at(-1)?.body).toContain('word 34');
    });
  });

  describe(`${kind}: changes`, () => {
    test('an issue is moved and commented, and the result is its new state', async () => {
      const { fake, tracker } = await setUp();
      const issue = fake.add({ state: active });
      await read(tracker, active);

      const { state } = await tracker.update(
        issue.id,
        { state: terminal.toLowerCase(), comment: 'Did **it**.' },
        NEVER,
      );

      expect(state).toBe(terminal);
      expect(fake.board.get(issue.id)?.state).toBe(terminal);
      expect(fake.board.get(issue.id)?.comments.map(({ body }) => body)).toEqual([expect.stringContaining('it')]);
      expect(tracker.states).toEqual(expect.arrayContaining([active, terminal]));
    });

    test('a comment alone moves nothing', async () => {
      const { fake, tracker } = await setUp();
      const issue = fake.add({ state: active });

      const { state } = await tracker.update(issue.id, { comment: 'A word.' }, NEVER);

      expect(state).toBe(active);
      expect(fake.board.get(issue.id)?.state).toBe(active);
    });

    test('an unknown state is refused with the known ones', async () => {
      const { fake, tracker } = await setUp();
      const issue = fake.add({ state: active });

      const refused = await errorOf(tracker.update(issue.id, { state: 'Never heard of' }, NEVER));

      expect(refused.code).toBe('tracker_refused');
      expect(refused.message).toContain(terminal);
      expect(fake.board.get(issue.id)?.state).toBe(active);
    });

    test('a missing issue is refused', async () => {
      const { fake, tracker } = await setUp();
      const issue = fake.add({ state: active });
      fake.board.delete(issue.id);

      const refused = await errorOf(tracker.update(issue.id, { comment: 'Hello?' }, NEVER));

      expect(refused.code).toBe('tracker_refused');
    });
  });

  describe(`${kind}: a failing server`, () => {
    test.each([401, 403])('%i is an error of the token, and names its source', async (status) => {
      const { fake, tracker } = await withFault({ status, body: { message: 'no' } });

      for (const attempt of bothReads(tracker, active)) {
        const error = await errorOf(attempt);
        expect(error.code).toBe('tracker_auth');
        expect(error.message).toContain(fake.variable);
      }
    });

    test.each([500, 502, 503, 418])('%i is an error of the server', async (status) => {
      const { tracker } = await withFault({ status, raw: '<html>oops</html>' });

      for (const attempt of bothReads(tracker, active)) {
        expect(await errorOf(attempt)).toMatchObject({ code: 'tracker_status', details: { status } });
      }
    });

    test('a 429 has the time of its reset', async () => {
      const { tracker } = await withFault({ status: 429, headers: { 'retry-after': '30' }, body: {} });
      const before = Date.now();

      for (const attempt of bothReads(tracker, active)) {
        const error = await errorOf(attempt);
        expect(error.code).toBe('tracker_rate_limited');
        const waitMs = Number(error.details.resetAtMs) - before;
        expect(waitMs).toBeGreaterThanOrEqual(30_000);
        expect(waitMs).toBeLessThan(60_000);
      }
    });

    test('a 429 waits a day at most', async () => {
      const { tracker } = await withFault({ status: 429, headers: { 'retry-after': '31536000' }, body: {} });

      const error = await errorOf(read(tracker, active));

      expect(Number(error.details.resetAtMs) - Date.now()).toBeLessThanOrEqual(24 * 3_600_000);
    });

    test('a request to a hanging server can be aborted', async () => {
      const { fake, tracker } = await withFault('hang');
      const controller = new AbortController();

      const asked = errorOf(tracker.issuesByStates([active], controller.signal));
      await expect.poll(() => fake.server.requests.length).toBeGreaterThan(0);
      controller.abort();

      expect((await asked).code).toBe('tracker_request');
    });

    test('an answer that breaks off is an error', async () => {
      const { tracker } = await withFault({ raw: '{"a": "0123456789"}', cutAt: 7 });

      for (const attempt of bothReads(tracker, active)) expect((await errorOf(attempt)).code).toBe('tracker_request');
    });

    test.each(['{"data": {"iss', '<html>Please log in</html>', '\u0000'])(
      'an answer that is not JSON is an error: %j',
      async (raw) => {
        const { tracker } = await withFault({ raw });

        for (const attempt of bothReads(tracker, active))
          expect((await errorOf(attempt)).code).toBe('tracker_response');
      },
    );

    test.each([[[]], [7], ['text'], [null], [{}], [{ data: 7 }], [{ data: { issues: 7 } }], [{ issues: 'many' }]])(
      'an answer of the wrong shape is an error, and no empty board: %j',
      async (body) => {
        const { fake, tracker } = await setUp();
        const { id } = fake.add({ state: active });
        fake.server.fault = () => ({ body });

        // An empty list is valid only where a list is expected.
        const list = await read(tracker, active).catch((error: unknown) => error);
        if (list instanceof Error) expect(list).toMatchObject({ code: 'tracker_response' });
        else expect(body).toEqual([]);
        expect((await errorOf(tracker.issuesByIds([id], NEVER))).code).toBe('tracker_response');
      },
    );

    test('SEC-21 a redirect to another host is an error, and the token is not sent there', async () => {
      const elsewhere = await fakeServer(() => ({ body: {} }));
      const { tracker } = await withFault({ status: 302, headers: { location: `${elsewhere.url}/stolen` } });

      for (const attempt of bothReads(tracker, active)) {
        expect((await errorOf(attempt)).code).toBe('tracker_status');
      }
      expect(elsewhere.requests).toEqual([]);
    });

    test('SEC-20 an error that repeats the token is masked', async () => {
      const { fake, tracker } = await setUp();
      const issue = fake.add({ state: active });
      fake.server.fault = ({ headers }) => ({
        status: 500,
        body: { message: `${fake.token} ${JSON.stringify(headers)}` },
      });

      const errors = [
        await errorOf(read(tracker, active)),
        await errorOf(tracker.issuesByIds([issue.id], NEVER)),
        await errorOf(tracker.update(issue.id, { comment: 'x' }, NEVER)),
      ];

      for (const { message } of errors) expect(message).not.toContain(fake.token);
    });

    test('a missing server is unreachable', async () => {
      const { fake } = await setUp();
      const tracker = openFake(fake, { provider: { ...facts.provider, [facts.endpointKey]: 'http://127.0.0.1:1' } });

      expect((await errorOf(read(tracker, active))).code).toBe('tracker_request');
    });
  });

  describe(`${kind}: settings`, () => {
    test('an unknown key is an error with the similar key', async () => {
      const { fake } = await setUp();

      const open = () => openFake(fake, { provider: { [`${facts.endpointKey}x`]: 'y' } });

      expect(open).toThrow(expect.objectContaining({ code: 'invalid_tracker_config' }));
      expect(open).toThrow(facts.endpointKey);
    });

    test('a missing token names the variable to set', async () => {
      const { fake } = await setUp();

      const byDefault = () => openFake(fake, { env: { [fake.variable]: '' } });
      // Linear falls back to the usual variable, as Symphony does.
      const env: { readonly [name: string]: string } = kind === 'linear' ? { [fake.variable]: '' } : {};
      const byName = () => openFake(fake, { provider: { [facts.tokenKey]: '$OTHER_TOKEN' }, env });

      expect(byDefault).toThrow(expect.objectContaining({ code: 'missing_tracker_secret' }));
      expect(byDefault).toThrow(fake.variable);
      expect(byName).toThrow(expect.objectContaining({ code: 'missing_tracker_secret' }));
      expect(byName).toThrow('OTHER_TOKEN');
    });

    test.each(['http://tracker.example.org', 'ftp://127.0.0.1', 'nonsense', 'https://me:pass@tracker.example.org'])(
      'an address that would leak the token is an error: %s',
      async (address) => {
        const { fake } = await setUp();

        const open = () => openFake(fake, { provider: { [facts.endpointKey]: address } });

        expect(open).toThrow(expect.objectContaining({ code: 'invalid_tracker_config' }));
      },
    );

    test('its scope names host and project, and no secret', async () => {
      const { fake, tracker } = await setUp();

      expect(tracker.scope).toContain(new URL(fake.server.url).host);
      expect(tracker.scope).not.toContain(fake.token);
    });
  });

  describe(`${kind}: check`, () => {
    test('inspect returns the states and the account of the token', async () => {
      const { fake, tracker } = await setUp();
      fake.add({ state: active });

      const facts = await tracker.inspect?.(NEVER);

      expect(facts?.states).toEqual(expect.arrayContaining([active, terminal]));
      expect(facts?.target).not.toBe('');
      expect(facts).toHaveProperty('warnings');
    });

    test('a rejected token is an error', async () => {
      const { tracker } = await withFault({ status: 401, body: {} });

      await expect(tracker.inspect?.(NEVER)).rejects.toMatchObject({ code: 'tracker_auth' });
    });
  });

  describe(`${kind}: raw tool`, () => {
    test('SEC-22 exists only when it is switched on', async () => {
      const { fake } = await setUp();
      const names = (raw_tool: boolean | string | null) =>
        openFake(fake, { provider: { ...facts.provider, ...(raw_tool === null ? {} : { raw_tool }) } })
          .tools()
          .map(({ name }) => name);

      expect(names(null)).toEqual([]);
      expect(names(false)).toEqual([]);
      expect(names(true)).toEqual([facts.rawTool]);
      expect(names('read_only')).toEqual([facts.rawTool]);
    });

    test('an answer over 4 MB is a failure', async () => {
      const { fake } = await setUp();
      const issue = fake.add({ state: active });
      const tracker = openFake(fake, { provider: { ...facts.provider, raw_tool: 'read_only' } });
      const [tool] = tracker.tools();
      const [own] = (await tracker.issuesByIds([issue.id], NEVER)).issues;
      if (!tool || !own) throw new Error('both are there');
      const isMarked = ({ url, body }: FakeRequest) => `${url}${JSON.stringify(body)}`.includes('huge-one');
      fake.server.fault = (request) => (isMarked(request) ? { body: { data: { text: 'x'.repeat(5_000_000) } } } : null);

      const { success, text } = await tool.call(facts.rawRead('huge-one'), { issue: own, runId: 'r' });

      expect(fake.server.requests.some(isMarked)).toBe(true);
      expect(success).toBe(false);
      expect(JSON.parse(text)).toMatchObject({ error: { code: 'tracker_request' } });
    });

    test('an invalid input is refused in JSON', async () => {
      const { fake } = await setUp();
      const issue = fake.add({ state: active });
      const tracker = openFake(fake, { provider: { ...facts.provider, raw_tool: true } });
      const [tool] = tracker.tools();
      const [own] = (await tracker.issuesByIds([issue.id], NEVER)).issues;
      if (!tool || !own) throw new Error('both are there');

      for (const input of [null, 7, [], {}, { nonsense: 1 }, 'x']) {
        const { success, text } = await tool.call(input, { issue: own, runId: 'r' });
        expect(success).toBe(false);
        expect(JSON.parse(text)).toMatchObject({ error: { code: expect.any(String), message: expect.any(String) } });
      }
    });
  });
}

function* bothReads(tracker: Tracker, active: string): Generator<Promise<unknown>> {
  yield tracker.issuesByStates([active], NEVER);
  yield tracker.issuesByIds(['1'], NEVER);
}

export async function errorOf(promise: Promise<unknown>): Promise<BatonError> {
  const error = await promise.then(
    (value) => new Error(`nothing was thrown, it answered ${JSON.stringify(value)?.slice(0, 200)}`),
    (thrown: unknown) => thrown,
  );
  if (error instanceof BatonError) return error;
  throw error;
}
