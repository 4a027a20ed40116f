import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createServiceNotifier, isService, noticeOf, serviceSentence, watchdogMs } from '../../src/daemon/service.js';
import { Core } from '../support/core.js';

/** A notifier that writes to a pipe, with timers that are moved by hand. test/security/service.test.ts has the real socket. */
function service(env: NodeJS.ProcessEnv = {}) {
  const base = mkdtempSync(join(tmpdir(), 'baton-notify-'));
  const path = join(base, 'pipe');
  execFileSync('mkfifo', [path]);
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  onTestFinished(() => {
    closeSync(fd);
    rmSync(base, { recursive: true, force: true });
  });
  /** Takes what was sent since the last call. */
  const sent = () => {
    const buffer = Buffer.alloc(100_000);
    try {
      return buffer.toString('utf8', 0, readSync(fd, buffer));
    } catch {
      return '';
    }
  };
  const fill = () => {
    for (;;) {
      try {
        writeSync(fd, Buffer.alloc(4_096));
      } catch {
        return;
      }
    }
  };
  const timers = new Map<number, () => void>();
  const logged: string[] = [];
  const words = { status: 'Fine.' };
  const systemd = { NOTIFY_SOCKET: '/run/x', WATCHDOG_USEC: '120000000', WATCHDOG_PID: String(process.pid) };
  const notifier = createServiceNotifier({
    env: { ...systemd, BATON_NOTIFY_FD: String(fd), ...env },
    log: pino({}, { write: (line) => logged.push(line) }),
    status: () => words.status,
    every: (ms, callback) => {
      timers.set(ms, callback);
      return () => timers.delete(ms);
    },
  });
  return { notifier, sent, fill, timers, logged, words };
}

const HALF_MS = 60_000;
const LOOK_MS = 10_000;

test.each([
  [{ NOTIFY_SOCKET: '/run/x', BATON_NOTIFY_FD: '7' }, true],
  [{ SYSTEMD_EXEC_PID: '42' }, true],
  [{ NOTIFY_SOCKET: '/run/x', SYSTEMD_EXEC_PID: '1' }, false],
  [{}, false],
])('SEC-35 with the environment %j it is a service: %s', (env, expected) => {
  expect(isService(env, 42)).toBe(expected);
});

describe('a daemon under systemd', () => {
  test('notifies systemd that it is ready, alive and stopping', () => {
    const { notifier, sent, timers } = service();

    notifier.ready();
    expect(sent()).toBe('READY=1\nWATCHDOG=1\nSTATUS=Fine.');
    timers.get(HALF_MS)?.();
    expect(sent()).toBe('WATCHDOG=1');
    notifier.stopping();
    expect(sent()).toBe('STOPPING=1');
    timers.get(HALF_MS)?.();
    expect(sent()).toBe('WATCHDOG=1');
    notifier.close();

    expect(timers.size).toBe(0);
  });

  test('sends its status only when it changes', () => {
    const { notifier, sent, timers, words } = service();
    notifier.ready();
    sent();

    timers.get(LOOK_MS)?.();
    expect(sent()).toBe('');
    words.status = 'Issues: 1 running.\nMAINPID=1';
    timers.get(LOOK_MS)?.();
    expect(sent()).toBe('STATUS=Issues: 1 running. MAINPID=1');
  });

  test('sends nothing once its core has failed', () => {
    const { notifier, sent, timers } = service();
    notifier.ready();
    sent();
    const tick = timers.get(HALF_MS);

    notifier.faulted();
    tick?.();
    notifier.stopping();
    notifier.close();

    expect(sent()).toBe('');
    expect(timers.size).toBe(0);
  });

  test('asks for no sign of life where systemd wants none, or wants it of another process', () => {
    for (const env of [{ WATCHDOG_USEC: undefined }, { WATCHDOG_PID: '1' }]) {
      const { notifier, sent, timers } = service(env);

      notifier.ready();

      expect(sent()).toBe('READY=1\nSTATUS=Fine.');
      expect([...timers.keys()]).toEqual([LOOK_MS]);
    }
  });

  test('does not wait for a systemd that does not read: it logs that once and sends its ready sign later', () => {
    const { notifier, sent, fill, timers, logged } = service();
    fill();

    notifier.ready();
    timers.get(HALF_MS)?.();
    sent();
    timers.get(LOOK_MS)?.();

    expect(sent()).toBe('READY=1\nWATCHDOG=1\nSTATUS=Fine.');
    expect(logged).toEqual([expect.stringContaining('EAGAIN')]);
  });

  test.each([
    ['that systemd did not start', { NOTIFY_SOCKET: undefined }],
    ['in a shell of another service', { BATON_NOTIFY_FD: undefined, WATCHDOG_PID: '1', SYSTEMD_EXEC_PID: '1' }],
  ])('%s sends nothing', (_, env) => {
    const { notifier, sent, timers } = service(env);

    notifier.ready();
    notifier.stopping();
    notifier.close();

    expect(sent()).toBe('');
    expect(timers.size).toBe(0);
  });

  test.each([
    [{ BATON_NOTIFY_FD: undefined }],
    [{ BATON_NOTIFY_FD: 'x' }],
    [{ BATON_NOTIFY_FD: undefined, WATCHDOG_PID: undefined, SYSTEMD_EXEC_PID: String(process.pid) }],
  ])('refuses to start with a unit that cannot notify systemd: %j', (env) => {
    expect(() => service(env)).toThrow(expect.objectContaining({ code: 'outdated_service' }));
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
