import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BatonError } from '../../src/domain/errors.js';
import { normaliseIssue, type RawIssue } from '../../src/tracker/normalise-issue.js';
import { issue } from '../support/builders.js';

const LEAST = { id: 'i1', identifier: 'AB-1', title: 'Title', state: 'Todo' };
const normalised = (raw: RawIssue) => normaliseIssue({ ...LEAST, ...raw });

describe('a normalised issue', () => {
  test('has every field; absent is null or []', () => {
    expect(normaliseIssue(LEAST)).toEqual({
      ...LEAST,
      description: null,
      priority: null,
      branch_name: null,
      url: null,
      assignee_id: null,
      author: null,
      labels: [],
      blocked_by: [],
      comments: [],
      dispatchable: true,
      held_back: null,
      native_ref: null,
      created_at: null,
      updated_at: null,
    });
  });

  test('keeps what is already normal', () => {
    const whole = issue({
      description: '    indented code\n',
      priority: 2,
      url: 'https://tracker/AB-1',
      author: { login: 'ann', trusted: false },
      labels: ['bug', 'api'],
      blocked_by: [{ id: 'i2', identifier: 'AB-2', state: 'Todo' }],
      comments: [{ author: null, body: 'hello', created_at: null }],
      dispatchable: false,
      held_back: null,
    });

    expect(normaliseIssue(whole)).toEqual(whole);
    expect(normaliseIssue(normaliseIssue(whole))).toEqual(whole);
  });

  test.each([
    [
      { node_id: 'I_1', number: 7 },
      { node_id: 'I_1', number: 7 },
    ],
    [' I_1 ', { ref: 'I_1' }],
    [12, { ref: '12' }],
    ['', null],
    [['I_1'], null],
    [true, null],
    [{ much: 'x'.repeat(5_000) }, null],
  ])('native_ref %j is an object of ordinary size, or null', (given, found) => {
    expect(normalised({ native_ref: given }).native_ref).toEqual(found);
  });

  test('has trimmed names, and whole numbers as ids', () => {
    expect(normalised({ id: 42, identifier: ' AB-1 ', title: '\tTitle\n', state: ' Todo ' })).toMatchObject({
      id: '42',
      identifier: 'AB-1',
      title: 'Title',
      state: 'Todo',
    });
  });

  test('has labels trimmed, in lower case and unique, in their order', () => {
    expect(normalised({ labels: [' Zeta', 'api', 'API ', '', '  ', 7, null, 'zeta'] }).labels).toEqual(['zeta', 'api']);
  });

  test.each([
    ['2026-01-01T02:00:00+02:00', '2026-01-01T00:00:00.000Z'],
    ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.000Z'],
    ['2026-01-01T00:00:00.5Z', '2026-01-01T00:00:00.500Z'],
    ['2026-01-01T00:00:00.123Z', '2026-01-01T00:00:00.123Z'],
    ['2026-12-31T23:59:59Z', '2026-12-31T23:59:59.000Z'],
    ['2026-01-01T00:00:60Z', null],
    ['2026-02-30T00:00:00Z', '2026-03-02T00:00:00.000Z'],
    ['2026-01-31T24:00:00Z', '2026-02-01T00:00:00.000Z'],
    ['2026-13-01T00:00:00Z', null],
  ])('has times in UTC, so that they sort as texts: %s', (written, told) => {
    expect(normalised({ created_at: written }).created_at).toBe(told);
  });

  test.each(['id', 'identifier', 'title', 'state'] as const)('cannot be made without %s', (field) => {
    for (const value of [undefined, null, '', '  ', {}, Number.NaN]) {
      expect(() => normalised({ [field]: value })).toThrow(
        expect.objectContaining({ code: 'tracker_response', message: expect.stringContaining(`without ${field}`) }),
      );
    }
  });

  test.each<[keyof RawIssue, unknown, unknown]>([
    ['priority', '1', null],
    ['priority', 1.5, null],
    ['priority', Number.POSITIVE_INFINITY, null],
    ['description', 7, null],
    ['description', '  \n', null],
    ['url', 'javascript:alert(1)', null],
    ['url', 'https://', null],
    ['labels', 'bug', []],
    ['blocked_by', [null, 'x', {}, { state: 'Todo' }], []],
    ['blocked_by', [{ id: 3 }], [{ id: '3', identifier: null, state: null }]],
    ['comments', [null, {}, { body: ' ' }], []],
    ['author', 'ann', null],
    ['author', { login: ' ' }, null],
    ['author', { login: 'ann' }, { login: 'ann', trusted: null }],
    ['author', { login: 'ann', trusted: 'no' }, { login: 'ann', trusted: false }],
    ['dispatchable', null, true],
    ['dispatchable', 'false', false],
    ['created_at', 'yesterday', null],
    ['created_at', 1_700_000_000, null],
  ])('SEC-25 has a valid %s: %j becomes %j', (field, value, expected) => {
    expect(normalised({ [field]: value })[field]).toEqual(expected);
  });

  test('is valid, or rejected with tracker_response, for any input', () => {
    const anything = fc.record(
      Object.fromEntries(Object.keys(issue()).map((key) => [key, fc.oneof(fc.anything(), fc.string())])),
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(anything, (raw) => {
        try {
          expect(Object.keys(normaliseIssue(raw))).toEqual(Object.keys(issue()));
        } catch (error) {
          expect(error).toBeInstanceOf(BatonError);
        }
      }),
    );
  });
});
