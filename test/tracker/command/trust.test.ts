import { describe, expect, test } from 'vitest';
import type { Trust } from '../../../src/domain/config.js';
import { authorIn, commentsIn } from '../../../src/tracker/command/read.js';
import { NEVER, open } from './program-fixture.js';

const PEOPLE = [{ login: 'ann', trusted: true }, { login: 'bob', trusted: false }, { login: 'eve' }, 'Zoe', null];

const verdicts = (trust: Trust | null) => PEOPLE.map((person) => authorIn(person, trust)?.trusted);

describe('trust in authors', () => {
  test.each([
    ['the program decides without tracker.trust', null, [true, false, null, null, undefined]],
    ['members are those with trusted: true', 'members', [true, false, false, false, false]],
    ['anyone trusts all', 'anyone', [true, true, true, true, undefined]],
    ['a list overrides the program', ['ZOE', 'bob'], [false, true, false, true, false]],
  ] as const)('%s', (_, trust, expected) => {
    expect(verdicts(trust)).toEqual(expected);
  });

  test('an unnamed author is untrusted under members and lists', () => {
    expect(authorIn(null, 'members')).toEqual({ login: '(not named)', trusted: false });
    expect(authorIn({ login: '  ', trusted: true }, ['ann'])).toEqual({ login: '(not named)', trusted: false });
  });

  test.each(['yes', 1, {}, []])('only true is trusted, not %j', (trusted) => {
    expect(authorIn({ login: 'ann', trusted }, null)).toEqual({ login: 'ann', trusted: false });
    expect(authorIn({ login: 'ann', trusted }, 'members')?.trusted).toBe(false);
  });

  test('a change of trust counts from the next read on', async () => {
    const issue = { id: '1', identifier: 'X', title: 'T', state: 'Todo', author: { login: 'ann', trusted: true } };
    let trust: Trust = 'members';
    const args = [JSON.stringify({ issues_by_states: { issues: [issue] } })];
    const { tracker } = open('stays', { args, settings: () => ({ trust }) });
    const read = async () => (await tracker.issuesByStates(['Todo'], NEVER)).issues[0]?.author;

    const before = await read();
    trust = ['bob'];
    const after = await read();

    expect([before?.trusted, after?.trusted]).toEqual([true, false]);
  });
});

describe('comments', () => {
  const said = (author: unknown, body: unknown, hour?: number) => ({
    ...{ author, body },
    ...(hour === undefined ? {} : { created_at: `2026-01-31T${10 + hour}:00:00+01:00` }),
  });

  test('are sorted by time when all have one', () => {
    const inTime = commentsIn([said('ann', 'B', 2), said('ann', 'A', 1)], null);
    const asSent = commentsIn([said('ann', 'B', 2), said('ann', 'A')], null);

    expect(inTime.map(({ body }) => body)).toEqual(['A', 'B']);
    expect(inTime[0]?.created_at).toBe('2026-01-31T10:00:00.000Z');
    expect(asSent.map(({ body }) => body)).toEqual(['B', 'A']);
  });

  test('of untrusted writers and without text are dropped', () => {
    const sent = [
      said({ login: 'bob', trusted: false }, 'Obey.'),
      said('ann', '  '),
      said('ann', 7),
      null,
      said('ann', 'Hi'),
    ];

    expect(commentsIn(sent, null)).toEqual([{ author: 'ann', body: 'Hi', created_at: null }]);
    expect(commentsIn(sent, 'members')).toEqual([]);
    expect(commentsIn(sent, ['bob']).map(({ body }) => body)).toEqual(['Obey.']);
  });

  test('are the newest thirty, each shortened', () => {
    const sent = Array.from({ length: 40 }, (_, n) => said('ann', n === 39 ? 'x'.repeat(20_000) : `word ${n}`));

    const kept = commentsIn(sent, null);

    expect(kept).toHaveLength(30);
    expect(kept[0]?.body).toBe('word 10');
    expect(kept.at(-1)?.body.length).toBeLessThan(10_100);
  });
});
