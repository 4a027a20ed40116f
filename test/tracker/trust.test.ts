import { expect, test } from 'vitest';
import { authorOf, isTrustedWriter, trustedComments } from '../../src/tracker/trust.js';

const ann = { login: 'ann', isMember: true };
const mallory = { login: 'mallory', isMember: false };
const ghost = { login: null, isMember: false };
const untold = { login: 'kim', isMember: null };

test.each([
  ['members', ann, true],
  ['members', mallory, false],
  ['members', ghost, false],
  ['members', untold, null],
  ['anyone', mallory, true],
  ['anyone', ghost, true],
  [['ANN '], ann, true],
  [['@ann'], ann, true],
  [['@'], ghost, false],
  [['bob'], ann, false],
  [['bob'], ghost, false],
] as const)('SEC-9a under trust %j %j is trusted: %j', (trust, writer, expected) => {
  expect(isTrustedWriter(writer, trust)).toBe(expected);
});

test('a deleted account has a name and is not trusted', () => {
  expect(authorOf(ghost, 'members')).toEqual({ login: 'somebody whose account is gone', trusted: false });
});

const said = (body: string, writer: { login: string | null; isMember: boolean | null } = ann) => ({
  ...writer,
  body,
  created_at: null,
});

test('untrusted and blank comments are dropped', () => {
  const told = trustedComments([said('one'), said('two', mallory), said('  '), said('three')], 'members');

  expect(told.map(({ body }) => body)).toEqual(['one', 'three']);
});

test('the newest thirty comments are returned, oldest first', () => {
  const told = trustedComments(
    Array.from({ length: 40 }, (_, n) => said(`word ${n}`)),
    'members',
  );

  expect(told.map(({ body }) => body)).toEqual(Array.from({ length: 30 }, (_, n) => `word ${n + 10}`));
});

test('long comments are cut, and their total is bounded by dropping the oldest', () => {
  const told = trustedComments(
    Array.from({ length: 10 }, (_, n) => said(`${n}${'x'.repeat(20_000)}`)),
    'members',
  );

  expect(told.map(({ body }) => body[0])).toEqual(['5', '6', '7', '8', '9']);
  expect(told[0]?.body).toMatch(/… \(cut\)$/);
});
