import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { NOTICE_KINDS } from '../../src/domain/config.js';
import { receiver } from '../notify/receiver.js';
import { livingWith } from '../runner/contain/workbench.js';
import { newNonce } from '../runner/executors/external/external-step.js';
import { baton, type World, world } from './cli-fixture.js';

const notifyTest = (io: World, ...args: string[]) => baton(io, 'notify', 'test', ...args);

function withNotify(notify: string, env: NodeJS.ProcessEnv = {}): World {
  const io = world({ env });
  io.write('WORKFLOW.md', `---\ntracker: { kind: local }\nworkspace: { root: ./workspaces }\n${notify}\n---\nWork.\n`);
  return io;
}

describe('baton notify test', () => {
  test('sends a sample to every target, prints the result, and shows no address', async () => {
    const hook = await receiver(200);
    const io = withNotify("notify: { url: $HOOK, command: 'cat > got.json' }", { HOOK: hook.url });

    const code = await notifyTest(io);

    expect(code).toBe(0);
    expect(io.out()).toMatch(/^✓ notify\.url: arrived \(HTTP 200, \d+\.\d s\)$/m);
    expect(io.out()).toMatch(/^✓ notify\.command: arrived \(exit code 0, \d+\.\d s\)$/m);
    expect(io.out() + io.err()).not.toMatch(/canary|127\.0\.0\.1/);
    expect(hook.received[0]?.json).toMatchObject({ kind: 'asking', test: true, workflow: join(io.dir, 'WORKFLOW.md') });
    expect(hook.received[0]?.json.text).toMatch(/^Test: SAMPLE-1 needs an answer/);
    expect(JSON.parse(readFileSync(join(io.dir, 'got.json'), 'utf8'))).toEqual(hook.received[0]?.json);
  });

  test.each(NOTICE_KINDS)('--kind %s sends that kind', async (kind) => {
    const io = withNotify("notify: { command: 'cat > got.json' }");

    expect(await notifyTest(io, '--kind', kind)).toBe(0);
    expect(JSON.parse(readFileSync(join(io.dir, 'got.json'), 'utf8'))).toMatchObject({ kind, test: true });
    const isUnwanted = io.out().includes(`The daemon sends no notice of kind ${kind}`);
    expect(isUnwanted).toBe(kind === 'daily_report');
  });

  test('an unknown kind is refused, with the known kinds', async () => {
    const io = withNotify("notify: { command: 'true' }");

    expect(await notifyTest(io, '--kind', 'nonsense')).toBe(2);
    expect(io.err()).toContain('asking, parked, hold, done, daily_report');
  });

  test('a failed delivery exits 1, with the reason and the remedy', async () => {
    const gone = await receiver(404);
    const io = withNotify("notify: { url: $HOOK, command: 'no-such-program' }", { HOOK: gone.url });

    expect(await notifyTest(io)).toBe(1);
    expect(io.out()).toMatch(/^✗ notify\.url: did not arrive: HTTP 404 \(http_404, \d+\.\d s\)\n {4}.*new webhook/m);
    expect(io.out()).toMatch(/^✗ notify\.command: did not arrive: .*no-such-program.* \(exit_127, .*\)\n {4}.*PATH/m);
    expect(io.out()).not.toContain('canary');
  });

  test('an unset variable is named', async () => {
    const io = withNotify('notify: { url: $NO_SUCH_HOOK }');

    expect(await notifyTest(io)).toBe(1);
    expect(io.out()).toMatch(
      /notify\.url is \$NO_SUCH_HOOK, which is not set \(variable_unset.*\n {4}Set the variable/,
    );
  });

  test('the output of a command is masked and cannot move the cursor', async () => {
    const io = withNotify(
      'notify: { url: $HOOK, command: \'printf "\\\\033[2J canary-secret-1 \\\\n" >&2; exit 127\' }',
      {
        HOOK: 'canary-secret-1',
      },
    );

    expect(await notifyTest(io)).toBe(1);
    expect(io.out()).toContain('\\u001b[2J');
    for (const text of ['\u001b', 'canary']) expect(io.out()).not.toContain(text);
  });

  test('no target exits 2, and so does a workflow that does not load', async () => {
    const nowhere = withNotify('');
    const faulty = withNotify('agent: { max_turns: x }');

    expect(await notifyTest(nowhere)).toBe(2);
    expect(nowhere.err()).toContain('neither notify.url nor notify.command');
    expect(await notifyTest(faulty)).toBe(2);
    expect(faulty.err()).toContain('agent.max_turns');
    expect(await notifyTest(world(), 'nowhere.md')).toBe(2);
  });

  test('no process of the command survives', async () => {
    const nonce = newNonce();
    const io = withNotify(`notify: { command: '(exec -a left-${nonce} sleep 1000) & exit 0' }`);

    expect(await notifyTest(io)).toBe(0);
    expect(livingWith(nonce)).toEqual([]);
  });
});
