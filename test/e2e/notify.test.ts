import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { receiver } from '../notify/receiver.js';
import { MemoryTracker } from '../support/memory-tracker.js';
import { agentCommand, testDaemon } from '../support/test-daemon.js';

const ASKING = agentCommand('asks', 'item/commandExecution/requestApproval', '{"command":"npm publish"}');

test('a question is announced at once, again as parked when the daemon ends, and not after a restart', async () => {
  const hook = await receiver(200);
  const tracker = new MemoryTracker();
  const settings = `notify: { url: $HOOK }\ncodex:\n  command: ${JSON.stringify(ASKING)}\n  on_approval_request: ask`;
  const options = { tracker, settings, env: { HOOK: hook.url } };
  const daemon = await testDaemon(options);
  tracker.put({ id: '1', identifier: 'AB-1', title: '<!channel> publish' });

  await hook.until(1);
  await daemon.stop();
  const told = hook.received.length;
  const next = await testDaemon({
    ...options,
    before: (dir) => cp(daemon.stateDir, join(dir, 'state'), { recursive: true }),
  });
  await next.until('a poll', (state) => state.poll.lastOkAtMs !== null && state.claims['1']?.status.kind === 'parked');
  await next.stop();

  expect(hook.received.map(({ json }) => json.kind)).toEqual(['asking', 'parked']);
  expect(hook.received[0]?.json).toMatchObject({
    issue: { identifier: 'AB-1' },
    question: { kind: 'approval' },
    test: false,
  });
  expect(hook.received[0]?.json.text).toContain('npm publish');
  expect(hook.received[0]?.json.text).toContain('&lt;!channel&gt;');
  expect(hook.received[1]?.json).toMatchObject({ reason: 'input_required', question: { kind: 'approval' } });
  expect(hook.received).toHaveLength(told);
  expect(JSON.stringify([...daemon.logLines, ...next.logLines])).not.toContain('canary-secret');
});

test('a command receives the notice of a finished issue, in the folder of the workflow', async () => {
  const daemon = await testDaemon({
    settings: `notify: { command: 'cat >> notices', on: [done] }\nagent: { max_turns: 1 }\ncodex: { command: "${agentCommand('obedient')}" }`,
  });
  daemon.tracker.put({ id: '1', identifier: 'AB-1' });
  await daemon.until('a run', (state) => state.records['1']?.runs === 1);

  daemon.tracker.put({ id: '1', identifier: 'AB-1', state: 'Done' });
  await daemon.until('done', (state) => state.finished.length === 1);
  const notices = () => readFile(join(daemon.dir, 'notices'), 'utf8').catch(() => '');
  await expect.poll(notices, { timeout: 20_000 }).toContain('\n');
  await daemon.stop();

  expect(JSON.parse(await notices())).toMatchObject({
    kind: 'done',
    reason: 'terminal',
    issue: { identifier: 'AB-1' },
  });
});

test('an unreachable receiver is logged once and affects nothing else', async () => {
  const daemon = await testDaemon({
    settings: `notify: { url: 'http://127.0.0.1:9/canary-secret', command: 'exit 3' }\nagent: { max_turns: 1 }\ncodex: { command: "${agentCommand('obedient')}" }`,
  });
  daemon.tracker.put({ id: '1', identifier: 'AB-1' });
  await daemon.until('a run', (state) => state.records['1']?.runs === 1);
  daemon.tracker.put({ id: '1', identifier: 'AB-1', state: 'Done' });
  await daemon.until('done', (state) => state.finished.length === 1);

  const failed = () => daemon.logLines.filter(({ msg }) => msg === 'notice could not be delivered');
  await expect.poll(() => failed().length, { timeout: 20_000 }).toBe(2);
  const code = await daemon.stop();

  expect(code).toBe(0);
  expect(
    failed()
      .map(({ target, code }) => `${target} ${code}`)
      .sort(),
  ).toEqual(['command exit_3', 'url ECONNREFUSED']);
  expect(JSON.stringify(daemon.logLines)).not.toContain('canary-secret');
});

test('a daily report that is due while no daemon runs is sent once at the next start', async () => {
  const hook = await receiver(200);
  const daemon = await testDaemon({
    settings: "notify: { url: $HOOK, on: [daily_report], report_at: '00:00' }",
    env: { HOOK: hook.url },
    before: async (dir) => {
      await mkdir(join(dir, 'state'), { mode: 0o700 });
      await writeFile(join(dir, 'state', 'notify-state'), '{"report_days":["2020-01-01"]}', { mode: 0o600 });
    },
  });

  await hook.until(1);
  await daemon.stop();

  expect(hook.received).toHaveLength(1);
  expect(hook.received[0]?.json).toMatchObject({ kind: 'daily_report', report: expect.any(Object) });
  const { report_days: days } = JSON.parse(await readFile(join(daemon.stateDir, 'notify-state'), 'utf8'));
  expect(days).toHaveLength(2);
});
