import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/domain/json.js';
import { readCommandSettings } from '../../../src/tracker/command/settings.js';

const read = (provider: JsonObject, env: { readonly [name: string]: string } = {}, dir = '/project') =>
  readCommandSettings({
    config: {
      kind: 'command',
      provider,
      activeStates: [],
      terminalStates: [],
      requiredLabels: [],
      trust: null,
      mentions: false,
    },
    secret: (name) => env[name] || null,
    dir,
  });

test('only a command is required', () => {
  expect(read({ command: ' ./tracker ' })).toEqual({
    ...{ command: './tracker', env: {}, variables: [], timeoutMs: 30_000, scope: 'command:./tracker in /project' },
  });
});

test('the same command in another folder has another scope', () => {
  const scopes = ['/one', '/other'].map((dir) => read({ command: 'node tracker.mjs' }, {}, dir).scope);

  expect(new Set(scopes).size).toBe(2);
});

test('a named scope stays when the command changes', () => {
  expect(read({ command: './tracker --new', scope: 'board-7' }).scope).toBe('command:board-7');
});

test('variables have literal values or values of variables of the daemon', () => {
  const provider = { command: 'x', timeout_ms: 5000, env: { A: 'a $HOME', N: 7, TOKEN: ' $MY_TOKEN ' } };

  const { env, variables, timeoutMs } = read(provider, { MY_TOKEN: 'sesame' });

  expect(env).toEqual({ A: 'a $HOME', N: '7', TOKEN: 'sesame' });
  expect(variables).toEqual(['MY_TOKEN']);
  expect(timeoutMs).toBe(5_000);
});

describe('invalid settings are rejected', () => {
  const named = (name: string, value: string) =>
    JSON.parse(`{"command":"x","env":{${JSON.stringify(name)}:"${value}"}}`);

  test.each([
    [{}, 'command needs tracker.provider.command'],
    [{ command: '  ' }, 'command needs tracker.provider.command'],
    [{ command: ['a'] }, 'must be a text'],
    [{ command: 'a\nb' }, 'holds control characters'],
    [{ comand: 'x' }, 'Did you mean tracker.provider.command?'],
    [{ command: 'x', timeout_ms: 0 }, 'must be a whole number of milliseconds, from 1 to 600000'],
    [{ command: 'x', timeout_ms: '1e3' }, 'must be a whole number'],
    [{ command: 'x', timeout_ms: 600_001 }, 'must be a whole number'],
    [{ command: 'x', env: { 'A-B': 'c' } }, 'env.A-B is not the name of a variable'],
    [{ command: 'x', env: { A: true } }, 'env.A must be a text'],
    [{ command: 'x', env: { A: 'b\0c' } }, 'env.A contains a NUL'],
  ])('%j', (provider, words) => {
    expect(() => read(provider)).toThrow(expect.objectContaining({ code: 'invalid_tracker_config' }));
    expect(() => read(provider)).toThrow(words);
  });

  test('SEC-20 a value that is not a map is not shown, because it may be a secret', () => {
    for (const env of [['TOKEN=canary'], 'TOKEN=canary']) {
      expect(() => read({ command: 'x', env })).toThrow(/^tracker\.provider\.env must be a map of variables/);
      expect(() => read({ command: 'x', env })).not.toThrow('canary');
    }
  });

  test('__proto__ is a valid name', () => {
    expect(Object.entries(read(named('__proto__', 'x')).env)).toEqual([['__proto__', 'x']]);
  });

  test('an unset variable is named in the error', () => {
    const open = () => read({ command: 'x', env: { TOKEN: '$MY_TOKEN' } });

    expect(open).toThrow(
      expect.objectContaining({ code: 'missing_tracker_secret', details: { variable: 'MY_TOKEN' } }),
    );
  });
});
