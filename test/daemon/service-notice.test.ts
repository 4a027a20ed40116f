import { describe, expect, test } from 'vitest';
import { noticeOf, serviceSentence, watchdogMs } from '../../src/daemon/service.js';
import { Core } from '../support/core.js';

describe('a notice', () => {
  test('says what is to be said, and a status that is new', () => {
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
  test('tells what is done, by the numbers, and what is in the way', () => {
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
