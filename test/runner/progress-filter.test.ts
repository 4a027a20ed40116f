import { expect, test } from 'vitest';
import { filterProgress } from '../../runner/run-pool.js';
import type { RunSignal } from '../../src/domain/run-signal.js';
import { FakeClock } from '../support/fake-clock.js';

function setUp(stallTimeoutMs = 300_000) {
  const clock = new FakeClock();
  const passed: RunSignal[] = [];
  return { clock, passed, emit: filterProgress(clock, stallTimeoutMs, (signal) => void passed.push(signal)) };
}

test.each([
  [300_000, 10],
  [0, 10],
  [10_000, 100],
])('a flood of progress reaches the core often enough for a stall limit of %i ms, and no more', (limit, times) => {
  const { clock, passed, emit } = setUp(limit);
  for (let i = 0; i < 10_000; i++) {
    emit({ type: 'progress', openItems: 0 });
    clock.advance(1);
  }

  expect(passed).toHaveLength(times);
});

test('an item that opens or closes is told at once', () => {
  const { passed, emit } = setUp();
  for (const openItems of [0, 1, 1, 0]) emit({ type: 'progress', openItems });

  expect(passed.map((signal) => (signal.type === 'progress' ? signal.openItems : null))).toEqual([0, 1, 0]);
});

test('after a new phase, which sets open items to none, the next progress is told', () => {
  const { passed, emit } = setUp();
  emit({ type: 'progress', openItems: 1 });
  emit({ type: 'phase', phase: 'agent' });
  emit({ type: 'progress', openItems: 1 });

  expect(passed.map((signal) => signal.type)).toEqual(['progress', 'phase', 'progress']);
});
