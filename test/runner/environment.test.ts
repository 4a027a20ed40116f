import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type EnvironmentRequest, environmentFor } from '../../runner/environment.js';

function request(overrides: Partial<EnvironmentRequest> = {}): EnvironmentRequest {
  return { base: {}, policy: 'allowlist', allow: [], hookAllow: [], secretNames: [], extra: {}, ...overrides };
}

const names = (kind: 'agent' | 'hook', overrides: Partial<EnvironmentRequest>) =>
  Object.keys(environmentFor(kind, request(overrides)).env).sort();

const baseOf = (...list: string[]) => Object.fromEntries(list.map((name) => [name, `value of ${name}`]));

describe('allowlist', () => {
  const listed = baseOf(
    ...['PATH', 'HOME', 'LC_ALL', 'XDG_CONFIG_HOME', 'https_proxy', 'NO_PROXY', 'SSL_CERT_FILE'],
    ...['NVM_DIR', 'PYENV_ROOT', 'NIX_PATH', 'JAVA_HOME'],
  );
  const unlisted = baseOf('AWS_SECRET_ACCESS_KEY', 'GH_TOKEN', 'MY_VAR', 'PATHX', 'XPATH', 'HOMEPAGE', 'LC', 'EDITOR');

  test.each(['agent', 'hook'] as const)('the %s gets only the variables on the list', (kind) => {
    expect(environmentFor(kind, request({ base: { ...listed, ...unlisted } })).env).toEqual(listed);
  });

  test("SEC-31 the user's keys reach hooks, not agents", () => {
    const base = baseOf('SSH_AUTH_SOCK', 'GNUPGHOME', 'GH_CONFIG_DIR');

    expect(names('hook', { base })).toEqual(Object.keys(base).sort());
    expect(names('agent', { base })).toEqual([]);
    expect(names('agent', { base, allow: ['SSH_AUTH_SOCK'] })).toEqual(['SSH_AUTH_SOCK']);
  });

  test('the way to other services and what makes git run programs is passed on only when it is named', () => {
    const base = baseOf('DOCKER_HOST', 'DBUS_SESSION_BUS_ADDRESS', 'XDG_RUNTIME_DIR', 'GIT_SSH_COMMAND', 'GIT_ASKPASS');

    for (const kind of ['agent', 'hook'] as const) expect(names(kind, { base })).toEqual([]);
    expect(names('hook', { base, hookAllow: ['GIT_*', 'DOCKER_HOST'] })).toEqual([
      ...['DOCKER_HOST', 'GIT_ASKPASS', 'GIT_SSH_COMMAND'],
    ]);
  });

  test('runtime.env_allow adds names and globs for both', () => {
    const base = baseOf('MY_VAR', 'FOO_A', 'FOO_B', 'XFOO_A', 'A.B', 'AxB');

    for (const kind of ['agent', 'hook'] as const) {
      expect(names(kind, { base, allow: ['MY_VAR', 'FOO_*', 'A.B'] })).toEqual(['A.B', 'FOO_A', 'FOO_B', 'MY_VAR']);
    }
  });

  test('hooks.env_allow adds names and globs for hooks only', () => {
    const base = baseOf('DEPLOY_KEY', 'FOO_A');

    expect(names('hook', { base, hookAllow: ['DEPLOY_KEY', 'FOO_*'] })).toEqual(['DEPLOY_KEY', 'FOO_A']);
    expect(names('agent', { base, hookAllow: ['DEPLOY_KEY', 'FOO_*'] })).toEqual([]);
  });
});

describe('inherit', () => {
  test('passes variables that are not on the list', () => {
    expect(names('agent', { base: baseOf('MY_VAR'), policy: 'inherit' })).toEqual(['MY_VAR']);
  });
});

describe('the way to systemd', () => {
  const base = baseOf('NOTIFY_SOCKET', 'BATON_NOTIFY_FD', 'WATCHDOG_USEC', 'WATCHDOG_PID', 'MY_VAR');
  const allow = ['NOTIFY_SOCKET', 'BATON_NOTIFY_FD', 'WATCHDOG_*', '*'];

  test.each(['allowlist', 'inherit'] as const)(
    'reaches neither agents nor hooks under %s, whatever is allowed',
    (policy) => {
      for (const kind of ['agent', 'hook'] as const) {
        expect(names(kind, { base, policy, allow, hookAllow: [...allow, 'WATCHDOG_PID', 'WATCHDOG_USEC'] })).toEqual([
          'MY_VAR',
        ]);
      }
    },
  );
});

describe('SEC-12 secrets of the tracker', () => {
  const base = baseOf('LINEAR_API_KEY', 'MY_VAR');
  const secretNames = ['LINEAR_API_KEY'];

  test.each(['allowlist', 'inherit'] as const)('never reach agents under %s, whatever is allowed', (policy) => {
    for (const allow of [['LINEAR_API_KEY'], ['*'], ['LINEAR_*']]) {
      expect(names('agent', { base, policy, secretNames, allow, hookAllow: allow })).not.toContain('LINEAR_API_KEY');
    }
  });

  test.each([
    { allow: ['LINEAR_API_KEY'], hookAllow: [] },
    { allow: ['*'], hookAllow: ['*'] },
    { allow: [], hookAllow: ['LINEAR_*'] },
  ])('do not reach hooks by %j', (lists) => {
    expect(names('hook', { base, policy: 'inherit', secretNames, ...lists })).not.toContain('LINEAR_API_KEY');
  });

  test('reach hooks only when hooks.env_allow names them exactly', () => {
    expect(names('hook', { base, secretNames, hookAllow: ['LINEAR_API_KEY'] })).toEqual(['LINEAR_API_KEY']);
  });

  test('are unset after the login shell wherever they are not allowed', () => {
    const given = request({ secretNames: ['A_KEY', 'B_KEY', 'A_KEY', 'not a name', '$(x)'], hookAllow: ['B_KEY'] });

    expect(environmentFor('agent', given).unset).toEqual(['A_KEY', 'B_KEY']);
    expect(environmentFor('hook', given).unset).toEqual(['A_KEY']);
  });
});

describe('logins of agents', () => {
  const base = baseOf(
    'CODEX_HOME',
    'CODEX_API_KEY',
    'OPENAI_API_KEY',
    'ANTHROPIC_API_KEY',
    'GEMINI_API_KEY',
    'CLAUDE_X',
    'AZURE_OPENAI_KEY',
  );

  test.each(['allowlist', 'inherit'] as const)('go to agents only, under %s', (policy) => {
    expect(names('agent', { base, policy })).toEqual(Object.keys(base).sort());
    expect(names('hook', { base, policy, allow: ['OPENAI_API_KEY', '*'], hookAllow: ['*'] })).toEqual([]);
  });

  test('a hook gets a variable that hooks.env_allow names exactly', () => {
    expect(names('hook', { base, hookAllow: ['OPENAI_API_KEY'] })).toEqual(['OPENAI_API_KEY']);
  });
});

describe('variables that run code or point elsewhere', () => {
  const dangerous = [
    'BASH_ENV',
    'ENV',
    'LD_PRELOAD',
    'NODE_OPTIONS',
    'BASH_FUNC_ls%%',
    'DYLD_INSERT_LIBRARIES',
    'PS4',
    'GIT_DIR',
    'GIT_INDEX_FILE',
  ];

  test.each(dangerous)('%s passes only when it is named exactly', (name) => {
    const base = baseOf(name);

    for (const kind of ['agent', 'hook'] as const) {
      expect(names(kind, { base, policy: 'inherit', allow: ['*'], hookAllow: ['*'] })).toEqual([]);
      expect(names(kind, { base, allow: [name] })).toEqual([name]);
    }
  });

  test('BATON_* of an outer Baton stays out unless the workflow allows it, and ours always win', () => {
    const base = baseOf('BATON_RUN_ID', 'BATON_REPO_URL');

    expect(names('hook', { base, policy: 'inherit' })).toEqual([]);
    expect(names('hook', { base, hookAllow: ['BATON_REPO_URL'] })).toEqual(['BATON_REPO_URL']);
    expect(
      environmentFor('hook', request({ base, allow: ['BATON_*'], extra: { BATON_RUN_ID: 'r' } })).env.BATON_RUN_ID,
    ).toBe('r');
  });
});

test('whatever is allowed, a secret is never in the environment of an agent', () => {
  const name = fc.constantFrom('TOKEN', 'BASH_ENV', 'PATH', 'OPENAI_API_KEY', 'BATON_X', 'MY_VAR');
  const list = fc.array(fc.oneof(name, fc.constantFrom('*', 'T*', '*N', '**')), { maxLength: 4 });
  fc.assert(
    fc.property(
      list,
      list,
      fc.constantFrom('allowlist' as const, 'inherit' as const),
      name,
      (allow, hookAllow, policy, secret) => {
        const base = baseOf('TOKEN', 'BASH_ENV', 'PATH', 'OPENAI_API_KEY', 'BATON_X', 'MY_VAR');

        const { env, unset } = environmentFor(
          'agent',
          request({ base, policy, allow, hookAllow, secretNames: [secret] }),
        );

        expect(env).not.toHaveProperty(secret);
        expect(unset).toEqual([secret]);
      },
    ),
  );
});
