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
  test('writes happen one after the other, in the order of the decisions', async () => {
    const finish: (() => void)[] = [];
    const store = { ...createMemoryStore(), write: () => new Promise<void>((resolve) => finish.push(resolve)) };
    const { perform, events, settled } = setUp({ store });

    perform({ type: 'persist', seq: 1, change: CHANGE });
    perform({ type: 'persist', seq: 2, change: CHANGE });
    await settled();
    expect(finish).toHaveLength(1);
    finish[0]?.();
    await settled();

    expect(finish).toHaveLength(2);
    expect(events).toEqual([{ type: 'persisted', seq: 1 }]);
  });

  test('after a failed write only a full write happens', async () => {
    const store = createMemoryStore();
    let calls = 0;
    const write: typeof store.write = async (change) => {
      calls += 1;
      if (calls === 1) throw new Error('disk full');
      return store.write(change);
    };
    const { perform, events, settled } = setUp({ store: { ...store, write } });

    perform({ type: 'persist', seq: 1, change: CHANGE });
    perform({ type: 'persist', seq: 2, change: CHANGE });
    perform({ type: 'persist', seq: 3, change: { ...CHANGE, full: true } });
    perform({ type: 'persist', seq: 4, change: CHANGE });
    await settled();

    expect(calls).toBe(3);
    expect(events).toEqual([
      { type: 'persist_failed', seq: 1, message: 'disk full' },
      { type: 'persist_failed', seq: 2, message: 'disk full' },
      { type: 'persisted', seq: 3 },
      { type: 'persisted', seq: 4 },
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
