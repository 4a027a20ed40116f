import { describe, expect, test } from 'vitest';
import { Loop } from '../../orchestrator/loop.js';
import { createPerform, type PerformPorts } from '../../orchestrator/perform.js';
import { initialState } from '../../orchestrator/state.js';
import type { Effect, StartOrder } from '../../src/domain/effects.js';
import { BatonError } from '../../src/domain/errors.js';
import type { OrchestratorEvent } from '../../src/domain/events.js';
import { success } from '../../src/domain/outcome.js';
import type { IssueBatch } from '../../src/domain/ports.js';
import { config, issue, workflow } from '../support/builders.js';
import { FakeClock } from '../support/fake-clock.js';
import { createMemoryStore } from '../support/memory-store.js';

/** The real loop and the real perform over a hand-made runner: what is between them is under test. */
function setUp(read: (ids: readonly string[] | null) => Promise<IssueBatch>) {
  const clock = new FakeClock();
  const starts: StartOrder[] = [];
  const events: OrchestratorEvent[] = [];
  const faults: unknown[] = [];
  const exits: boolean[] = [];
  const waiters: { type: string; resolve: (event: OrchestratorEvent) => void }[] = [];
  const tracker: PerformPorts['tracker'] = {
    issuesByStates: () => read(null),
    issuesByIds: (ids) => read(ids),
  };
  const ports: PerformPorts = {
    clock,
    tracker,
    store: createMemoryStore(),
    runner: {
      start: (order) => void starts.push(order),
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
    exit: (forced) => void exits.push(forced),
  };
  const perform = createPerform(ports, (event) => loop.dispatch(event));
  const loop: Loop = new Loop({
    initial: initialState(config(), 'h', 'i', clock.now().wallMs),
    clock,
    perform: (effect: Effect) => perform(effect),
    onDecided: (event) => {
      events.push(event);
      for (const waiter of waiters.splice(0)) waiter.type === event.type ? waiter.resolve(event) : waiters.push(waiter);
    },
    onFault: (error) => void faults.push(error),
  });
  const next = (type: OrchestratorEvent['type']) =>
    new Promise<OrchestratorEvent>((resolve) => waiters.push({ type, resolve }));
  return { clock, loop, starts, events, faults, exits, next, ports };
}

const batch = (...ids: string[]): IssueBatch => ({ issues: ids.map((id) => issue(id)), unknown: [] });

describe('loop and perform', () => {
  test('an issue on the board is polled, claimed, stored and started', async () => {
    const world = setUp(async () => batch('A'));
    const stored = world.next('persisted');

    world.loop.dispatch({ type: 'started', leftovers: [] });
    await stored;

    expect(world.starts.map((order) => order.issue.id)).toEqual(['A']);
    expect(Object.keys((await world.ports.store.load()).claims)).toEqual(['A']);
  });

  test('an event that is dispatched during another waits its turn', () => {
    const world = setUp(async () => batch());
    const order: string[] = [];
    const loop = new Loop({
      initial: world.loop.state,
      clock: world.clock,
      perform: (effect) => {
        if (effect.type === 'exit') order.push('performed');
        if (effect.type === 'note' && effect.note.message.startsWith('paused'))
          loop.dispatch({ type: 'shutdown_requested' });
      },
      onDecided: (event) => void order.push(event.type),
      onFault: (error) => expect.unreachable(String(error)),
    });

    loop.dispatch({ type: 'pause_requested' });

    expect(order).toEqual(['pause_requested', 'shutdown_requested']);
  });

  test('the next poll comes by time alone', async () => {
    const world = setUp(async () => batch());
    const first = world.next('observed');
    world.loop.dispatch({ type: 'started', leftovers: [] });
    await first;
    const second = world.next('observed');

    world.clock.advance(30_000);

    await second;
    expect(world.loop.state.poll.lastOkAtMs).toBe(world.clock.now().wallMs);
  });

  test('a run signal at the moment when a poll is due does not drop the poll', async () => {
    const world = setUp(async () => batch('A'));
    const stored = world.next('persisted');
    // Before the loop has set its own timer for the same moment.
    world.clock.after(30_000, () => {
      const runId = world.starts[0]?.runId ?? '';
      world.loop.dispatch({ type: 'run_signalled', runId, signal: { type: 'progress', openItems: 1 } });
    });
    world.loop.dispatch({ type: 'started', leftovers: [] });
    await stored;
    const observed = world.next('observed');

    world.clock.advance(30_000);

    await observed;
    expect(world.starts).toHaveLength(1);
  });

  test('a deadline that passes while effects are performed is not missed', async () => {
    const world = setUp(async () => batch());
    const first = world.next('observed');
    world.loop.dispatch({ type: 'started', leftovers: [] });
    await first;
    Object.assign(world.ports, { log: () => world.clock.sleep(30_000) });
    const second = world.next('observed');

    // Leads to a line in the log and nothing else.
    world.loop.dispatch({ type: 'stop_requested', issueId: 'nobody' });
    world.clock.advance(30_000);

    await second;
    expect(world.loop.state.poll.lastOkAtMs).toBe(world.clock.now().wallMs);
  });

  test('only one timer is ever set', async () => {
    const world = setUp(async () => batch('A', 'B'));
    const stored = world.next('persisted');
    world.loop.dispatch({ type: 'started', leftovers: [] });
    await stored;

    for (const { runId } of world.starts) world.loop.dispatch({ type: 'run_exited', runId, outcome: success(null) });

    expect(world.clock.pendingTimers).toBe(1);
  });

  test('a tracker that never answers counts as failed after five minutes', async () => {
    const world = setUp(() => new Promise(() => {}));
    const observed = world.next('observed');
    world.loop.dispatch({ type: 'started', leftovers: [] });
    await new Promise(setImmediate);

    world.clock.advance(299_999);
    const before = world.loop.state.poll.failure;
    world.clock.advance(1);

    await observed;
    expect(before).toBeNull();
    expect(world.loop.state.poll.failure).toMatchObject({
      code: 'tracker_request',
      message: expect.stringContaining('300 s'),
    });
  });

  test.each([
    ['a BatonError', () => new BatonError('tracker_rate_limited', 'later', { resetAtMs: 5 }), 'tracker_rate_limited'],
    ['anything else', () => new TypeError('boom'), 'tracker_request'],
  ])('%s thrown by a tracker is poll health, not a crash', async (_, error, code) => {
    const world = setUp(() => {
      throw error();
    });
    const observed = world.next('observed');

    world.loop.dispatch({ type: 'started', leftovers: [] });
    await observed;

    expect(world.loop.state.poll.failure?.code).toBe(code);
    expect(world.faults).toEqual([]);
  });

  test('a poll is answered even when its other parts fail', async () => {
    const world = setUp(async () => batch('A'));
    Object.assign(world.ports, { checkWorkflow: () => Promise.reject(new Error('boom')) });
    const observed = world.next('observed');

    world.loop.dispatch({ type: 'started', leftovers: [] });
    await observed;

    expect(world.loop.state.poll).toMatchObject({ inFlightSeq: null, failure: { message: 'boom' } });
  });

  test('a store that fails holds the daemon', async () => {
    const world = setUp(async () => batch('A'));
    Object.assign(world.ports, {
      store: { ...world.ports.store, write: () => Promise.reject(new Error('disk full')) },
    });
    const failed = world.next('persist_failed');

    world.loop.dispatch({ type: 'started', leftovers: [] });
    await failed;

    expect(world.starts).toEqual([]);
    expect(world.loop.state.holds.store?.message).toBe('disk full');
  });

  test('a fault of the core is reported with its event, and the state stays unchanged', () => {
    const world = setUp(async () => batch());
    const before = world.loop.state;
    const broken = { type: 'config_changed', config: null, workflowHash: 'x' } as unknown as OrchestratorEvent;

    world.loop.dispatch(broken);

    expect(world.faults).toHaveLength(1);
    expect(world.loop.state).toBe(before);
  });

  test('a closed loop handles no event and keeps no timer', () => {
    const world = setUp(async () => batch());
    world.loop.dispatch({ type: 'pause_requested' });
    world.loop.close();

    world.loop.dispatch({ type: 'resume_requested' });

    expect(world.loop.state.pausedSinceMs).not.toBeNull();
    expect(world.clock.pendingTimers).toBe(0);
  });
});
