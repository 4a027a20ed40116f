import { expect, test } from 'vitest';
import { Pulse } from '../../../runner/steps/pulse.js';
import type { RunSignal } from '../../../src/domain/run-signal.js';

const [A, B] = [{}, {}];

function pulse() {
  const told: RunSignal[] = [];
  return { told, pulse: new Pulse((signal) => void told.push(signal)) };
}

const open = (openItems: number): RunSignal => ({ type: 'progress', openItems });
const phase = (name: 'agent' | 'finishing'): RunSignal => ({ type: 'phase', phase: name });

test('with one watched step everything goes up as it comes', () => {
  const { told, pulse: beat } = pulse();

  beat.begin(A, true);
  beat.moved(A, 0);
  beat.moved(A, 2);
  beat.moved(A, 2);
  beat.moved(A, 0);
  beat.settled(A);
  beat.end(A);

  expect(told).toEqual([phase('agent'), open(0), open(2), open(2), open(0), phase('finishing')]);
});

test('a step with a time limit of its own stops the stall clock: it looks like an open item', () => {
  const { told, pulse: beat } = pulse();

  beat.begin(A, false);
  beat.moved(A, 0);

  expect(told).toEqual([phase('agent'), open(1), open(1)]);
});

test('a bounded step beside a watched one does not stop its clock, and does not feed it', () => {
  const { told, pulse: beat } = pulse();
  beat.begin(A, true);
  beat.begin(B, false);
  told.length = 0;

  beat.moved(B, 0);
  beat.moved(B, 5);

  expect(told).toEqual([]);
});

test('a watched step that hangs is not hidden by one that chatters', () => {
  const { told, pulse: beat } = pulse();
  beat.begin(A, true);
  beat.begin(B, true);
  told.length = 0;

  for (let i = 0; i < 10; i += 1) beat.moved(A, 0);
  expect(told).toEqual([]);
  beat.moved(B, 0);

  expect(told).toEqual([open(0)]);
});

test('one that has something open is not expected to show life', () => {
  const { told, pulse: beat } = pulse();
  beat.begin(A, true);
  beat.begin(B, true);
  beat.moved(B, 1);
  told.length = 0;

  beat.moved(A, 0);

  expect(told).toEqual([open(0)]);
});

test('when the watched one ends, the bounded one is all that is left', () => {
  const { told, pulse: beat } = pulse();
  beat.begin(A, true);
  beat.begin(B, false);
  told.length = 0;

  beat.settled(A);
  beat.end(A);

  expect(told).toEqual([open(2), open(1)]);
});

test('the next step begins anew', () => {
  const { told, pulse: beat } = pulse();
  beat.begin(A, true);
  beat.settled(A);
  beat.end(A);
  told.length = 0;

  beat.begin(B, true);

  expect(told).toEqual([phase('agent')]);
});

test('a step that is over says nothing any more', () => {
  const { told, pulse: beat } = pulse();
  beat.begin(A, true);
  beat.end(A);
  told.length = 0;

  beat.moved(A, 3);
  beat.settled(A);

  expect(told).toEqual([]);
});

test('a step that begins while the only other one is being ended starts the stall clock again', () => {
  const { told, pulse: beat } = pulse();
  beat.begin(A, true);
  beat.settled(A);
  told.length = 0;

  beat.begin(B, true);
  beat.end(A);
  beat.moved(B, 0);

  expect(told).toEqual([phase('agent'), open(0)]);
});

test('one that is only being ended is not silent, also when it is the last one', () => {
  const { told, pulse: beat } = pulse();
  beat.begin(A, true);
  beat.begin(B, true);
  beat.settled(A);
  told.length = 0;

  beat.end(B);

  expect(told).toEqual([open(1)]);
});
