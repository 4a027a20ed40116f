import { describe, expect, test } from 'vitest';
import { createPerform, type PerformPorts } from '../../orchestrator/perform.js';
import type { DurableChange } from '../../src/domain/durable.js';
import type { OrchestratorEvent } from '../../src/domain/events.js';
import { issue, workflow } from '../support/builders.js';
import { Core, ofType } from '../support/core.js';
import { FakeClock } from '../support/fake-clock.js';
import { createMemoryStore } from '../support/memory-store.js';
import { MemoryTracker } from '../support/memory-tracker.js';

const CHANGE: DurableChange = {
  full: false,
  claims: {},
  records: {},
  holds: {},
  pausedSinceMs: null,
  ledger: {},
  finished: [],
  runs: [],
};

function setUp(overrides: Partial<PerformPorts>) {
  const events: OrchestratorEvent[] = [];
  const ports: PerformPorts = {
    clock: new FakeClock(),
    tracker: new MemoryTracker(),
    store: createMemoryStore(),
    runner: {
      start: () => {},
      close: () => {},
      stop: () => {},
      answer: () => {},
      steer: () => {},
      removeWorkspace: async () => ({ ok: true }),
      freeDiskMb: async () => null,
    },
    workflow: () => workflow(),
    checkWorkflow: async () => {},
    log: () => {},
    reopen: () => {},
    exit: () => {},
    ...overrides,
  };
  const settled = () => new Promise(setImmediate);
  return { perform: createPerform(ports, (event) => events.push(event)), events, settled, ports };
}

describe('perform', () => {
  test('what is ordered in one turn is one write, and what is ordered during a write is the next one', async () => {
    const writes: (readonly DurableChange[])[] = [];
    const finish: (() => void)[] = [];
    const write = (...changes: readonly DurableChange[]) => {
      writes.push(changes);
      return new Promise<void>((resolve) => finish.push(resolve));
    };
    const { perform, events, settled } = setUp({ store: { ...createMemoryStore(), write } });
    const change = (tokens: number) => ({ ...CHANGE, pausedSinceMs: tokens });

    perform({ type: 'persist', seq: 1, change: change(1) });
    perform({ type: 'persist', seq: 2, change: change(2) });
    await settled();
    for (const seq of [3, 4]) perform({ type: 'persist', seq, change: change(seq) });
    await settled();
    expect(events).toEqual([]);
    finish[0]?.();
    await settled();
    await settled();

    expect(writes).toEqual([
      [change(1), change(2)],
      [change(3), change(4)],
    ]);
    expect(events).toEqual([
      { type: 'persisted', seq: 1 },
      { type: 'persisted', seq: 2 },
    ]);
  });

  test('after a failed write only a full write happens', async () => {
    const store = createMemoryStore();
    let calls = 0;
    const write: typeof store.write = async (...changes) => {
      calls += 1;
      if (calls === 1) throw new Error('disk full');
      return store.write(...changes);
    };
    const { perform, events, settled } = setUp({ store: { ...store, write } });

    perform({ type: 'persist', seq: 1, change: CHANGE });
    perform({ type: 'persist', seq: 2, change: CHANGE });
    await settled();
    perform({ type: 'persist', seq: 3, change: CHANGE });
    await settled();
    expect(calls).toBe(1);
    perform({ type: 'persist', seq: 4, change: { ...CHANGE, full: true } });
    await settled();
    perform({ type: 'persist', seq: 5, change: CHANGE });
    await settled();

    expect(calls).toBe(3);
    expect(events).toEqual([
      { type: 'persist_failed', seq: 1, message: 'disk full' },
      { type: 'persist_failed', seq: 2, message: 'disk full' },
      { type: 'persist_failed', seq: 3, message: 'disk full' },
      { type: 'persisted', seq: 4 },
      { type: 'persisted', seq: 5 },
    ]);
  });

  test('a removal that throws is answered, so its issue is not blocked for ever', async () => {
    const { perform, events, settled, ports } = setUp({});
    Object.assign(ports.runner, { removeWorkspace: () => Promise.reject(new Error('boom')) });

    perform({ type: 'remove_workspace', issue: issue('A') });
    await settled();

    expect(events).toEqual([{ type: 'workspace_removed', issueId: 'A', report: { ok: false, message: 'boom' } }]);
  });
});

test('a shutdown whose time is over wakes the loop', () => {
  const core = new Core({ runtime: { shutdownTimeoutMs: 20_000 } }).put('A');
  core.poll();
  core.send({ type: 'shutdown_requested' });

  expect(ofType(core.advance(19_999), 'exit')).toEqual([]);
  expect(ofType(core.advance(1), 'exit')).toEqual([{ type: 'exit', forced: true }]);
});
