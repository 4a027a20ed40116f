import { expect, test } from 'vitest';
import { Pulse } from '../../../runner/steps/pulse.js';
import type { RunSignal } from '../../../src/domain/run-signal.js';
import { FakeClock } from '../../support/fake-clock.js';

const [A, B] = [{}, {}];

function pulse(stallTimeoutMs = 300_000) {
  const clock = new FakeClock();
  const told: RunSignal[] = [];
  return { clock, told, pulse: new Pulse(clock, stallTimeoutMs, (signal) => void told.push(signal)) };
}

const open = (openItems: number): RunSignal => ({ type: 'progress', openItems });
const phase = (name: 'agent' | 'finishing'): RunSignal => ({ type: 'phase', phase: name });

test('the progress of one watched step is reported as it comes', () => {
  const { clock, told, pulse: beat } = pulse();

  beat.begin(A, true);
  beat.progress(A, 0);
  beat.progress(A, 2);
  clock.advance(1_000);
  beat.progress(A, 2);
  beat.progress(A, 0);
  beat.finishing(A);
  beat.end(A);

  expect(told).toEqual([phase('agent'), open(0), open(2), open(2), open(0), phase('finishing')]);
});

test('a step with its own time limit stops the stall clock, like an open item', () => {
  const { told, pulse: beat } = pulse();

  beat.begin(A, false);
  beat.progress(A, 0);

  expect(told).toEqual([phase('agent'), open(1)]);
});

test('a bounded step beside a watched one does not stop its clock, and does not feed it', () => {
  const { told, pulse: beat } = pulse();
  beat.begin(A, true);
  beat.begin(B, false);
  told.length = 0;

  beat.progress(B, 0);
  beat.progress(B, 5);

  expect(told).toEqual([]);
});

test('a busy step does not hide a watched step that hangs', () => {
  const { told, pulse: beat } = pulse();
  beat.begin(A, true);
  beat.begin(B, true);
  told.length = 0;

  for (let i = 0; i < 10; i += 1) beat.progress(A, 0);
  expect(told).toEqual([]);
  beat.progress(B, 0);

  expect(told).toEqual([open(0)]);
});

test('a step with an open item is not expected to make progress', () => {
  const { told, pulse: beat } = pulse();
  beat.begin(A, true);
  beat.begin(B, true);
  beat.progress(B, 1);
  told.length = 0;

  beat.progress(A, 0);

  expect(told).toEqual([open(0)]);
});

test('when the watched one ends, the bounded one is all that is left', () => {
  const { told, pulse: beat } = pulse();
  beat.begin(A, true);
  beat.begin(B, false);
  told.length = 0;

  beat.finishing(A);
  beat.end(A);

  expect(told).toEqual([open(2), open(1)]);
});

test('the next step starts a new phase', () => {
  const { told, pulse: beat } = pulse();
  beat.begin(A, true);
  beat.finishing(A);
  beat.end(A);
  told.length = 0;

  beat.begin(B, true);

  expect(told).toEqual([phase('agent')]);
});

test('a finished step reports nothing', () => {
  const { told, pulse: beat } = pulse();
  beat.begin(A, true);
  beat.end(A);
  told.length = 0;

  beat.progress(A, 3);
  beat.finishing(A);

  expect(told).toEqual([]);
});

test('a step that begins while the only other one is being ended starts the stall clock again', () => {
  const { told, pulse: beat } = pulse();
  beat.begin(A, true);
  beat.finishing(A);
  told.length = 0;

  beat.begin(B, true);
  beat.end(A);
  beat.progress(B, 0);

  expect(told).toEqual([phase('agent'), open(0)]);
});

test('a step that is being ended does not count as stalled, even as the last step', () => {
  const { told, pulse: beat } = pulse();
  beat.begin(A, true);
  beat.begin(B, true);
  beat.finishing(A);
  told.length = 0;

  beat.end(B);

  expect(told).toEqual([open(1)]);
});

test.each([
  [300_000, 10],
  [0, 10],
  [10_000, 100],
])('with a stall limit of %i ms a flood of progress reaches the core often enough and no more', (limit, times) => {
  const { clock, told, pulse: beat } = pulse(limit);
  beat.begin(A, true);
  told.length = 0;

  for (let i = 0; i < 10_000; i++) {
    beat.progress(A, 0);
    clock.advance(1);
  }

  expect(told).toHaveLength(times);
});

test('an item that opens or closes is reported at once', () => {
  const { told, pulse: beat } = pulse();
  beat.begin(A, true);
  told.length = 0;

  for (const openItems of [0, 1, 1, 0]) beat.progress(A, openItems);

  expect(told).toEqual([open(0), open(1), open(0)]);
});
