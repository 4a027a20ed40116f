import { describe, expect, test } from 'vitest';
import { check } from '../../../src/cli/check.js';
import { memoryRegistry, world } from '../cli-fixture.js';

interface Finding {
  readonly level: string;
  readonly group: string;
  readonly code: string;
  readonly message: string;
  readonly line: number | null;
}

/** The findings of `baton check --json` about notices, and its exit code. */
async function findings(notify: string, env: NodeJS.ProcessEnv = {}) {
  const io = world({ env });
  io.program('codex', '#!/bin/sh\necho 1\n');
  const text = `---\ntracker: { kind: memory, required_labels: [x] }\nworkspace: { root: ws, min_free_mb: 1 }\n${notify}\n---\nWork.\n`;
  io.write('WORKFLOW.md', text);
  const code = await check({ workflowPath: 'WORKFLOW.md', json: true, schema: false }, io, memoryRegistry());
  const all: Finding[] = JSON.parse(io.out()).findings;
  return { code, out: io.out(), found: all.filter(({ group }) => group === 'Notifications') };
}

describe('baton check', () => {
  test('prints nothing about notices when none are configured', async () => {
    expect((await findings('')).found).toEqual([]);
  });

  test('prints the targets and kinds of valid notices', async () => {
    const { code, found } = await findings("notify: { url: $HOOK, command: 'cat > /dev/null', on: [done] }", {
      HOOK: 'https://hooks.example/canary-secret',
    });

    expect(code).toBe(0);
    expect(found).toMatchObject([{ level: 'note', code: 'notify_fine', line: 4 }]);
    expect(found[0]?.message).toContain('notify.url and notify.command: get notices of done');
  });

  test.each([
    ['a variable that is not set', 'notify: { url: $NO_SUCH_HOOK }', {}, 'error', 'variable_missing', 1],
    [
      'an address of another kind',
      'notify: { url: $HOOK }',
      { HOOK: 'ftp://x.example/canary' },
      'error',
      'invalid_workflow_config',
      2,
    ],
    [
      'an address that is none',
      'notify: { url: $HOOK }',
      { HOOK: 'hooks.example/canary' },
      'error',
      'invalid_workflow_config',
      2,
    ],
    [
      'plain http elsewhere',
      'notify: { url: $HOOK }',
      { HOOK: 'http://x.example/canary' },
      'warning',
      'notify_in_clear',
      0,
    ],
    [
      'a program that is not there',
      "notify: { command: 'no-such-program -x' }",
      {},
      'error',
      'notify_command_missing',
      1,
    ],
    ['kinds without a target', 'notify: { on: [done] }', {}, 'warning', 'notify_nowhere', 0],
    ['a target without kinds', "notify: { command: 'true', on: [] }", {}, 'warning', 'notify_nothing', 0],
  ])('reports %s, without the address', async (_, notify, env, level, code, exitCode) => {
    const result = await findings(notify, env);

    expect(result.found).toMatchObject([{ level, code, line: 4 }]);
    expect(result.code).toBe(exitCode);
    expect(result.out).not.toContain('canary');
  });

  test.each(['http://127.0.0.1:4711/x', 'http://localhost/x', 'http://[::1]:1/x'])(
    '%s stays on this machine',
    async (url) => {
      expect((await findings('notify: { url: $HOOK }', { HOOK: url })).found).toMatchObject([{ code: 'notify_fine' }]);
    },
  );

  test('a script that bash rejects is reported', async () => {
    const { code, found } = await findings("notify: { command: 'if true; fi' }");

    expect(code).toBe(2);
    expect(found).toContainEqual(expect.objectContaining({ level: 'error', code: 'syntax_error', line: 4 }));
  });

  test('a command that cannot be checked without running it is not judged', async () => {
    expect((await findings("notify: { command: '$(echo true)' }")).found).toMatchObject([{ code: 'notify_fine' }]);
  });
});
