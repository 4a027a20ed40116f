import { describe, expect, test } from 'vitest';
import { isServiceName, nameOfFolder, serviceNameOf, unitNameOf } from '../../../src/cli/service/unit-text.js';
import { unitVariables, wantedVariables } from '../../../src/cli/service/variables.js';

describe('the variables of a unit', () => {
  test('are those that a service needs later, and no secret', () => {
    const env = {
      ...{ PATH: '/usr/bin:/bin', LANG: 'C', CODEX_HOME: '/c', XDG_STATE_HOME: '/s', no_proxy: 'x', TZ: '' },
      ...{ OPENAI_API_KEY: 'k', GH_TOKEN: 't', SSH_AUTH_SOCK: '/tmp/s', HTTPS_PROXY: 'http://me:pw@proxy:1' },
      http_proxy: 'http://proxy:1',
    };
    const common = { PATH: '/usr/bin:/bin', LANG: 'C', no_proxy: 'x', http_proxy: 'http://proxy:1' };

    expect(unitVariables(env, 'user')).toEqual({ ...common, CODEX_HOME: '/c', XDG_STATE_HOME: '/s' });
    expect(unitVariables(env, 'system')).toEqual(common);
  });

  test('PATH keeps absolute folders only, each once, and none that npm added', () => {
    expect(unitVariables({ PATH: ':/a:.:node_modules/.bin:/p/node_modules/.bin:/b:/a:' }, 'user')).toEqual({
      PATH: '/a:/b',
    });
    expect(() => unitVariables({ PATH: '.:' }, 'user')).toThrow(expect.objectContaining({ code: 'service_failed' }));
  });
});

describe('the missing variables', () => {
  const wanted = (file: string | null, env = {}) =>
    wantedVariables({ secretNames: ['A_KEY', 'B_KEY'], allowed: ['MINE'], env, unit: { PATH: '/bin' }, file });

  test.each([
    ['', ['A_KEY', 'B_KEY']],
    ['A_KEY=x\n', ['B_KEY']],
    ['  A_KEY = "x y"\nB_KEY=\'z\'\n', []],
    ['#A_KEY=x\n; B_KEY=x\n', ['A_KEY', 'B_KEY']],
    ['A_KEY=\nB_KEY=""\n', ['A_KEY', 'B_KEY']],
    ['A_KEYS=x\nMY_B_KEY=x\n', ['A_KEY', 'B_KEY']],
  ])('in %j are %j', (file, missing) => {
    expect(wanted(file).missing).toEqual(missing);
  });

  test('are not reported for an unreadable file', () => {
    expect(wanted(null, { MINE: 'x' })).toEqual({ missing: [], leftBehind: [] });
  });

  test('of the workflow or an agent are reported when only this shell sets them, except secrets', () => {
    const env = { MINE: '1', OPENAI_API_KEY: '1', HTTPS_PROXY: 'http://a:b@c', OTHER: '1', PATH: '/bin', A_KEY: '1' };

    expect(wanted('OPENAI_BASE=x\n', env).leftBehind).toEqual(['MINE', 'OPENAI_API_KEY', 'HTTPS_PROXY']);
    expect(wanted('OPENAI_API_KEY=x\n', env).leftBehind).toEqual(['MINE', 'HTTPS_PROXY']);
  });
});

describe('names', () => {
  test.each([
    ['/p/my-project', 'my-project'],
    ['/p/My Project (2)', 'My-Project-2'],
    ['/p/größe', 'gr-e'],
    ['/p/...', 'workflow'],
    ['/', 'workflow'],
    ['/p/日本', 'workflow'],
    ['/p/.hidden', 'hidden'],
    ['/p/a@b.service', 'a-b'],
    [`/p/${'x'.repeat(300)}`, 'x'.repeat(48)],
  ])('%s becomes %s, which is a name and comes back from its unit', (folder, name) => {
    expect(nameOfFolder(folder)).toBe(name);
    expect(isServiceName(name)).toBe(true);
    expect(serviceNameOf(unitNameOf(name))).toBe(name);
  });

  test.each(['', '-a', '.', '../x', 'a/b', 'a b', 'a@b', 'a%b', 'x.service', 'a\nb', 'x'.repeat(49)])(
    '%j is none',
    (text) => {
      expect(isServiceName(text)).toBe(false);
    },
  );
});
