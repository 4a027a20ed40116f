import { describe, expect, test } from 'vitest';
import { FAKE_KINDS } from '../support/trackers/fake-kinds.js';
import type { FakeAnswer } from '../support/trackers/fake-server.js';
import { openFake } from '../support/trackers/fake-tracker.js';
import { errorOf } from './contract/tracker-contract.js';

const NEVER = new AbortController().signal;
/** Redmine takes both in one request. */
const KINDS = ['linear', 'github', 'gitlab', 'jira'] as const;
const RESET_AT_MS = Date.now() + 600_000;

const FAILURES: readonly [string, FakeAnswer, string][] = [
  ['a limit', { status: 429, headers: { 'retry-after': '600' }, body: {} }, 'tracker_rate_limited'],
  ['a broken server', { status: 502, raw: '<html>' }, 'tracker_status'],
  ['a token without the right', { status: 403, body: {} }, 'tracker_auth'],
  ['half an answer', { raw: '{"a": 1}', cutAt: 3 }, 'tracker_request'],
  ['nonsense', { raw: 'hello' }, 'tracker_response'],
];

describe.each(KINDS)('a comment that is written before the move fails is not to be repeated: %s', (kind) => {
  async function moved(answer: FakeAnswer, comment?: string) {
    const { start, terminal } = FAKE_KINDS[kind];
    const fake = await start();
    const added = fake.add();
    const isMove = () => comment === undefined || added.comments.length > 0;
    fake.server.fault = ({ method, body }) =>
      isMove() && method !== 'GET' && !/^\s*query/.test(body?.query ?? '') ? answer : null;
    const change = { state: terminal, ...(comment === undefined ? {} : { comment }) };
    const error = await errorOf(openFake(fake).update(added.id, change, NEVER));
    return { error, added };
  }

  test.each(FAILURES)('%s', async (_what, answer, code) => {
    const { error, added } = await moved(answer, 'Did it.');

    expect(added.comments).toHaveLength(1);
    expect(error.code).toBe(code);
    expect(error.message).toMatch(/^The comment is written, do not repeat it; but the move failed\. ./);
  });

  test('a limit says until when', async () => {
    const { error } = await moved(FAILURES[0]?.[1] ?? {}, 'Did it.');

    expect(Math.abs(Number(error.details.resetAtMs) - RESET_AT_MS)).toBeLessThan(60_000);
  });

  test('where there was no comment, nothing is said of one', async () => {
    const { error } = await moved(FAILURES[1]?.[1] ?? {});

    expect(error.message).not.toContain('comment');
  });
});
