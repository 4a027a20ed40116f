import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/domain/json.js';
import { ProviderSettings } from '../../src/tracker/provider-settings.js';

const settings = (provider: JsonObject, env: { readonly [name: string]: string } = {}) =>
  new ProviderSettings(
    {
      config: {
        kind: 'github',
        provider,
        activeStates: [],
        terminalStates: [],
        requiredLabels: [],
        trust: null,
        mentions: false,
      },
      secret: (name) => env[name] ?? null,
    },
    ['repo', 'token', 'raw_tool', 'labels', 'map'],
    { repository: 'repo' },
  );

test('an alias is another name of its key, in values and in messages', () => {
  expect(settings({ repository: 'a/b' }).text('repo')).toBe('a/b');
  expect(settings({ repository: 'a/b', repo: null }).text('repo')).toBe('a/b');
  expect(settings({ repo: null, repository: 'a/b' }).text('repo')).toBe('a/b');
  expect(() => settings({ repository: ['x'] }).text('repo')).toThrow('tracker.provider.repository must be a text');
  expect(() => settings({ repository: 'a/b', repo: 'a/b' })).toThrow(
    'tracker.provider.repository and tracker.provider.repo are the same setting',
  );
});

test('a text is trimmed, a number is its digits, a variable is its value', () => {
  expect(settings({ repo: ' a/b ' }).text('repo')).toBe('a/b');
  expect(settings({ repo: 7 }).text('repo')).toBe('7');
  expect(settings({ repo: '$REPO' }, { REPO: 'a/b' }).text('repo')).toBe('a/b');
  expect(settings({}).text('repo')).toBeNull();
});

test('a variable that is not set is an error, since a missing value must not widen the scope', () => {
  const unset = settings({ repo: '$REPO' }, { REPO: ' ' });

  expect(() => unset.text('repo')).toThrow(/tracker\.provider\.repo stands for REPO, which is not set/);
  expect(() => unset.text('repo')).toThrow(expect.objectContaining({ code: 'missing_tracker_secret' }));
  expect(unset.text('repo', 'c/d')).toBe('c/d');
  expect(settings({ repo: ' ' }).text('repo', 'c/d')).toBeNull();
});

test.each([[{ repo: ['x'] }], [{ repo: { a: 1 } }], [{ repo: true }], [{ repo: 'a\nb' }]])(
  '%j is no text',
  (provider) => {
    expect(() => settings(provider).text('repo')).toThrow(expect.objectContaining({ code: 'invalid_tracker_config' }));
  },
);

test('the token comes from its key, else from the first variable that is set', () => {
  const names = ['GITHUB_TOKEN', 'GH_TOKEN'];

  expect(settings({}, { GH_TOKEN: 'b' }).token('token', names)).toEqual({ value: 'b', from: 'GH_TOKEN' });
  expect(settings({ token: '$OWN' }, { OWN: 'o', GH_TOKEN: 'b' }).token('token', names)).toEqual({
    value: 'o',
    from: 'OWN',
  });
  expect(settings({ token: 'literal' }).token('token', names)).toEqual({
    value: 'literal',
    from: 'tracker.provider.token',
  });
});

test('an empty key counts as absent: the usual variables are read, and named in the error', () => {
  expect(settings({ token: ' ' }, { GH_TOKEN: 'b' }).token('token', ['GITHUB_TOKEN', 'GH_TOKEN'])).toEqual({
    value: 'b',
    from: 'GH_TOKEN',
  });
  expect(() => settings({ token: '' }).token('token', ['GITHUB_TOKEN'])).toThrow(/GITHUB_TOKEN is not set/);
});

test('the error for a missing token names its variable, and the error for an invalid token does not contain it', () => {
  expect(() => settings({}).token('token', ['GITHUB_TOKEN'])).toThrow(/GITHUB_TOKEN is not set/);
  expect(() => settings({ token: '$OWN' }, { GITHUB_TOKEN: 'x' }).token('token', ['GITHUB_TOKEN'])).toThrow(
    /OWN is not set/,
  );
  expect(() => settings({ token: 'two words' }).token('token', [])).toThrow(/cannot be sent/);
  expect(() => settings({ token: 'two words' }).token('token', [])).not.toThrow(/two words/);
});

test.each([
  [undefined, 'off'],
  [true, 'on'],
  [false, 'off'],
  ['read_only', 'read_only'],
])('raw_tool %j is %s', (raw_tool, mode) => {
  expect(settings(raw_tool === undefined ? {} : { raw_tool }).rawTool('off')).toBe(mode);
});
