import { expect, test } from 'vitest';
import { Reporter } from '../../../../runner/executors/codex/reporter.js';
import type { RunSignal } from '../../../../src/domain/run-signal.js';
import { FakeClock } from '../../../support/fake-clock.js';

const AGENT = 'item/agentMessage/delta';
const COMMAND = 'item/commandExecution/outputDelta';

function reporting() {
  const clock = new FakeClock();
  const signals: RunSignal[] = [];
  const reporter = new Reporter({ clock, workspace: '/w', emit: (signal) => void signals.push(signal) });
  const piece = (itemId: string, delta: unknown, method = AGENT, rest = {}) =>
    reporter.delta(method, { threadId: 't', turnId: 'u', itemId, delta, ...rest });
  /** The data of deltas, and the method or type of everything else. */
  const seen = () =>
    signals.map((signal) => {
      if (signal.type !== 'event') return signal.type;
      const { method, data, type } = signal.event;
      return data?.delta === undefined ? (method ?? type) : `${data.itemId}: ${data.delta}`;
    });
  return { clock, reporter, signals, piece, seen };
}

test('the deltas of an item are one event, and come before what follows them', () => {
  const { reporter, piece, seen, signals } = reporting();

  const joined = ['He', 'll', 'o'].map((text) => piece('a', text));
  reporter.event('notification', { method: 'item/completed' });

  expect(joined).toEqual([false, true, true]);
  expect(seen()).toEqual(['a: Hello', 'item/completed']);
  expect(signals[0]).toMatchObject({
    event: { method: AGENT, data: { threadId: 't', turnId: 'u', itemId: 'a', delta: 'Hello' } },
  });
});

test('deltas of several items keep their order and are not mixed', () => {
  const { reporter, piece, seen } = reporting();

  piece('a', '1');
  piece('b', '1', COMMAND);
  piece('a', '2');
  piece('b', '2', COMMAND);
  piece('a', '1', AGENT, { contentIndex: 1 });
  reporter.signal({ type: 'question_closed', questionId: 'q' });

  expect(seen()).toEqual(['a: 12', 'b: 12', 'a: 1', 'question_closed']);
});

test('progress does not wait for deltas, nor deltas for long', () => {
  const { clock, reporter, piece, seen } = reporting();

  piece('a', 'x');
  reporter.signal({ type: 'progress', openItems: 0 });
  expect(seen()).toEqual(['progress']);
  clock.advance(200);

  expect(seen()).toEqual(['progress', 'a: x']);
  expect(clock.pendingTimers).toBe(0);
});

test('SEC-18 the text and the number of deltas that are held are bounded, and no text is cut', () => {
  const { piece, seen } = reporting();

  for (let i = 0; i < 500; i++) piece('a', 'x'.repeat(100));
  for (let i = 0; i < 100; i++) piece(`${i}`, 'y');
  piece('long', 'z'.repeat(1_000_000));
  piece('odd', { not: 'a text' });

  expect(seen().slice(0, 5)).toEqual(Array(5).fill(`a: ${'x'.repeat(10_000)}`));
  expect(seen()).toHaveLength(5 + 100 + 2);
});

test('what is held is reported at the end, and nothing after it', () => {
  const { clock, reporter, piece, seen } = reporting();

  piece('a', 'x');
  reporter.usage('t', { input: 1, cached: 0, output: 0 });
  reporter.usage('t', { input: 2, cached: 0, output: 0 });
  reporter.end();
  piece('a', 'y');

  expect(seen()).toEqual(['usage', 'a: x', 'usage']);
  expect(clock.pendingTimers).toBe(0);
});

test('token counts reach the core at once, and then at most once a second, the last ones of each thread', () => {
  const { clock, reporter, signals } = reporting();
  const count = (threadId: string, input: number) => reporter.usage(threadId, { input, cached: 0, output: 0 });
  const told = () => signals.flatMap((one) => (one.type === 'usage' ? [[one.threadId, one.totals.input]] : []));

  for (let input = 1; input <= 10; input++) count('t', input);
  count('other', 5);
  expect(told()).toEqual([['t', 1]]);
  clock.advance(1_000);
  expect(told().slice(1)).toEqual([
    ['t', 10],
    ['other', 5],
  ]);
  clock.advance(1_000);

  count('t', 11);
  expect(told()[3]).toEqual(['t', 11]);
});
