import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createClock } from '../../src/clock.js';
import { createServiceNotifier, noticeOf, serviceSentence, watchdogMs } from '../../src/daemon/service.js';
import { Core } from '../support/core.js';

const child = (name: string) => fileURLToPath(new URL(`../support/children/${name}`, import.meta.url));
const SENDER = child('send-datagram.pl');
const REAL = spawnSync('systemd-notify', ['--version']).status === 0;

/** A real socket, and a notifier that has its timers moved by hand. */
async function service(env: NodeJS.ProcessEnv = {}, program: (base: string) => string = () => SENDER) {
  const base = mkdtempSync(join(tmpdir(), 'baton-notify-'));
  const socket = join(base, 'socket');
  const listener = spawn('perl', [child('datagrams.pl'), socket], { stdio: ['ignore', 'pipe', 'inherit'] });
  const clock = createClock();
  onTestFinished(() => {
    listener.kill();
    clock.close();
    rmSync(base, { recursive: true, force: true });
  });
  const lines = createInterface({ input: listener.stdout })[Symbol.asyncIterator]();
  const next = async () => String((await lines.next()).value);
  expect(await next()).toBe('listening');
  const timers = new Map<number, () => void>();
  const logged: string[] = [];
  const words = { status: 'Fine.' };
  const notifier = createServiceNotifier({
    env: { NOTIFY_SOCKET: socket, WATCHDOG_USEC: '120000000', WATCHDOG_PID: String(process.pid), ...env },
    clock,
    log: pino({}, { write: (line) => logged.push(line) }),
    status: () => words.status,
    program: program(base),
    every: (ms, callback) => {
      timers.set(ms, callback);
      return () => timers.delete(ms);
    },
  });
  /** Whatever is under way comes before it. */
  const sendLast = () => execFileSync(SENDER, ['LAST=1'], { env: { NOTIFY_SOCKET: socket } });
  return { notifier, next, sendLast, timers, logged, words };
}

const HALF_MS = 60_000;
const LOOK_MS = 10_000;

describe('a daemon under systemd', () => {
  test('notifies systemd that it is ready, alive and stopping', async () => {
    const { notifier, next, timers } = await service();

    await notifier.ready();
    expect(await next()).toBe('READY=1 | WATCHDOG=1 | STATUS=Fine.');
    timers.get(HALF_MS)?.();
    expect(await next()).toBe('WATCHDOG=1');
    notifier.stopping();
    expect(await next()).toBe('STOPPING=1');
    timers.get(HALF_MS)?.();
    expect(await next()).toBe('WATCHDOG=1');
    await notifier.close();

    expect(timers.size).toBe(0);
  });

  test('sends its status only when it changes', async () => {
    const { notifier, next, timers, words } = await service();
    await notifier.ready();
    await next();

    timers.get(LOOK_MS)?.();
    words.status = 'Issues: 1 running.\nMAINPID=1';
    timers.get(LOOK_MS)?.();

    expect(await next()).toBe('STATUS=Issues: 1 running. MAINPID=1');
    await notifier.close();
  });

  test('sends no sign of life once its core has failed', async () => {
    const { notifier, next, timers, sendLast } = await service();
    await notifier.ready();
    await next();
    const tick = timers.get(HALF_MS);

    notifier.faulted();
    tick?.();
    notifier.stopping();
    await notifier.close();
    sendLast();

    expect(await next()).toBe('LAST=1');
    expect(timers.size).toBe(0);
  });

  test('asks for no sign of life where systemd wants none, or wants it of another process', async () => {
    for (const env of [{ WATCHDOG_USEC: undefined }, { WATCHDOG_PID: '1' }]) {
      const { notifier, next, timers } = await service(env);

      await notifier.ready();

      expect(await next()).toBe('READY=1 | STATUS=Fine.');
      expect([...timers.keys()]).toEqual([LOOK_MS]);
      await notifier.close();
    }
  });

  test('logs a failed notice once and sends its ready sign again later', async () => {
    const { notifier, next, timers, logged } = await service({}, (base) => {
      const script = `#!/bin/bash\n[[ -e ${base}/third ]] && exec ${SENDER} "$@"\n[[ -e ${base}/second ]] && touch ${base}/third\ntouch ${base}/second\necho no >&2; exit 1\n`;
      writeFileSync(join(base, 'notify'), script);
      chmodSync(join(base, 'notify'), 0o755);
      return join(base, 'notify');
    });

    await notifier.ready();
    await notifier.ready();
    timers.get(LOOK_MS)?.();
    expect(await next()).toBe('READY=1 | WATCHDOG=1 | STATUS=Fine.');
    expect(logged).toEqual([expect.stringContaining('systemd-notify ended with 1 no')]);
    await notifier.close();
  });

  test('that systemd did not start does nothing at all', async () => {
    const { notifier, timers } = await service({ NOTIFY_SOCKET: undefined }, () => '/nonexistent');

    await notifier.ready();
    notifier.stopping();
    await notifier.close();

    expect(timers.size).toBe(0);
  });

  test.skipIf(!REAL && !process.env.CI)('is understood by the real systemd-notify', async () => {
    const { notifier, next, logged } = await service({}, () => 'systemd-notify');

    await notifier.ready();

    expect(await next()).toBe('READY=1 | WATCHDOG=1 | STATUS=Fine.');
    await notifier.close();
    expect(logged).toEqual([]);
  });
});

describe('a notice', () => {
  test('contains the signs and a changed status', () => {
    expect(noticeOf({ isReady: true, isAlive: true }, 'a', null).words).toEqual(['READY=1', 'WATCHDOG=1', 'STATUS=a']);
    expect(noticeOf({ isStopping: true }, 'a', 'a').words).toEqual(['STOPPING=1']);
    expect(noticeOf({}, 'a', 'a').words).toEqual([]);
    expect(noticeOf({}, 'b', 'a').words).toEqual(['STATUS=b']);
  });

  test.each([
    ['a\nMAINPID=1', 'STATUS=a MAINPID=1'],
    ['a\r\n\0b\u2028c', 'STATUS=a b c'],
    ['x'.repeat(500), `STATUS=${'x'.repeat(199)}…`],
  ])('is one short line for each word, whatever %j holds', (sentence, word) => {
    expect(noticeOf({}, sentence, null).words).toEqual([word]);
  });

  test('without a sentence has no status', () => {
    expect(noticeOf({}, ' \n', null).words).toEqual([]);
  });
});

describe('a sign of life is due', () => {
  test.each([
    [{ WATCHDOG_USEC: '120000000' }, 60_000],
    [{ WATCHDOG_USEC: '120000000', WATCHDOG_PID: '7' }, 60_000],
    [{ WATCHDOG_USEC: '120000000', WATCHDOG_PID: '8' }, null],
    [{ WATCHDOG_USEC: '1' }, 1],
    [{ WATCHDOG_USEC: '999999999999999999' }, 2 ** 31 - 1],
    [{ WATCHDOG_USEC: '0' }, null],
    [{ WATCHDOG_USEC: '-5' }, null],
    [{ WATCHDOG_USEC: 'soon' }, null],
    [{}, null],
  ])('by %j every %j ms', (env, ms) => {
    expect(watchdogMs(env, 7)).toBe(ms);
  });
});

describe('the sentence', () => {
  test('has the counts of issues and the obstacle', () => {
    const core = new Core().put('A', 'B', 'C');

    expect(serviceSentence(core.state)).toBe('The tracker has not been read yet. No issue in work.');
    core.poll();
    expect(serviceSentence(core.state)).toBe('Issues: 3 running.');
    core.fail('A');
    expect(serviceSentence(core.state)).toBe('Issues: 2 running, 1 waiting.');
    core.fail('B', 'turn_input_required');
    expect(serviceSentence(core.state)).toBe('Issues: 1 running, 1 waiting, 1 parked.');
    core.fail('C', 'agent_unauthorized');
    expect(serviceSentence(core.state)).toBe('On hold (agent_unauthorized). Issues: 2 waiting, 1 parked.');
    core.send({ type: 'shutdown_requested' });
    expect(serviceSentence(core.state)).toMatch(/^The daemon is shutting down\. /);
  });
});
