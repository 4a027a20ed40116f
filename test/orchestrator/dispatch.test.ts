import { describe, expect, test } from 'vitest';
import type { Effect } from '../../src/domain/effects.js';
import { failure } from '../../src/domain/outcome.js';
import { Core, ofType, started, starts, stops } from '../support/core.js';

describe('eligibility', () => {
  test('S2-74 an active, routable issue is started after one poll', () => {
    const core = new Core().put('A');

    expect(started(core.poll())).toEqual(['A']);
  });

  test.each([
    ['a blank title', { title: ' ' }],
    ['a terminal state', { state: 'Done' }],
    ['a state that is not active', { state: 'Backlog' }],
    ['a tracker that says no', { dispatchable: false }],
    ['an author who is not trusted', { author: { login: 'eve', trusted: false } }],
    ['a missing label', { labels: [] }],
  ])('an issue with %s is not started', (_, flaw) => {
    const core = new Core({ tracker: { requiredLabels: ['Baton'] } }).put({ id: 'A', labels: ['baton'], ...flaw });

    expect(started(core.poll())).toEqual([]);
  });

  test('states and labels are compared trimmed and without case', () => {
    const core = new Core({ tracker: { activeStates: [' in progress'], requiredLabels: [' BATON '] } });
    core.put({ id: 'A', state: 'In Progress', labels: ['baton'] });

    const { state } = core;
    core.send({ type: 'ticked' });
    core.answerPoll({ candidates: { ok: true, issues: [...core.board.values()], unknown: [] } });

    expect(core.standing('A')).toBe('running');
    expect(state.claims).toEqual({});
  });

  test('a blank required label matches nothing', () => {
    const core = new Core({ tracker: { requiredLabels: [''] } }).put({ id: 'A', labels: ['x', ''] });

    expect(started(core.poll())).toEqual([]);
  });

  test('an unknown author does not make an issue ineligible', () => {
    const core = new Core().put({ id: 'A', author: { login: 'ann', trusted: null } });

    expect(started(core.poll())).toEqual(['A']);
  });

  test('an id that equals an inherited property name is ignored', () => {
    const core = new Core().put('__proto__x', { id: 'constructor' }, 'A');

    expect(started(core.poll())).toEqual(['A', '__proto__x']);
  });
});

describe('the ready list', () => {
  test('is ordered by priority 1 to 4, everything else after, then age, then identifier', () => {
    const core = new Core().put(
      { id: 'none', priority: null },
      { id: 'zero', priority: 0 },
      { id: 'low', priority: 4 },
      { id: 'urgent-b', priority: 1 },
      { id: 'urgent-a', priority: 1 },
      { id: 'urgent-old', priority: 1, created_at: '2020-01-01T00:00:00Z' },
      { id: 'urgent-undated', priority: 1, created_at: null },
    );

    expect(started(core.poll())).toEqual([
      'urgent-old',
      'urgent-a',
      'urgent-b',
      'urgent-undated',
      'low',
      'none',
      'zero',
    ]);
  });

  test('orders issues of the same age by number', () => {
    const ids = ['T-100', 'T-2', 'T-10', 'T-1', 'T-101', 'T-11'];
    const core = new Core().put(...ids.map((id) => ({ id })));

    expect(started(core.poll())).toEqual(['T-1', 'T-2', 'T-10', 'T-11', 'T-100', 'T-101']);
  });

  test('within a priority a due retry goes before new issues, which cannot starve it', () => {
    const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put({ id: 'A', created_at: '2026-03-01T00:00:00Z' });
    core.poll();
    core.fail('A');
    core.put({ id: 'B', created_at: '2020-01-01T00:00:00Z' });
    core.nowMs = 15_000;

    expect(started(core.poll())).toEqual(['A']);
  });

  test('a new issue of a higher priority goes before a due retry', () => {
    const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put({ id: 'A', priority: 3 });
    core.poll();
    core.fail('A');
    core.put({ id: 'B', priority: 1 });
    core.nowMs = 15_000;

    expect(started(core.poll())).toEqual(['B']);
  });

  test('an issue whose state has no free slot does not block the next one', () => {
    const core = new Core({ agent: { maxConcurrentAgentsByState: { todo: 1 } } });
    core.put({ id: 'A', priority: 1 }, { id: 'B', priority: 2 }, { id: 'C', priority: 3, state: 'In Progress' });

    expect(started(core.poll())).toEqual(['A', 'C']);
  });
});

describe('slots', () => {
  test('never more runs than slots', () => {
    const core = new Core({ agent: { maxConcurrentAgents: 2 } }).put('A', 'B', 'C');

    expect(started(core.poll())).toEqual(['A', 'B']);
    expect(started(core.poll())).toEqual([]);
  });

  test('a freed slot is filled at once, after one batched read', () => {
    const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put('A', 'B');
    core.poll();
    core.nowMs = 20_000;

    const effects = core.fail('A');

    expect(ofType(effects, 'read_issues').map((read) => read.ids)).toEqual([['B']]);
    expect(started(core.answerRead())).toEqual(['B']);
  });

  test('an issue that has moved by the time of that read is skipped for the next one', () => {
    const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put('A', 'B', 'C');
    core.poll();
    core.change('B', { state: 'Done' });

    core.fail('A');
    const effects = core.answerRead();

    expect(started(effects)).toEqual([]);
    expect(started(core.answerRead())).toEqual(['C']);
  });

  test('no slot is filled between polls while the last poll failed', () => {
    const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put('A', 'B');
    core.poll();
    core.send({ type: 'refresh_requested' });
    core.answerPoll({ candidates: { ok: false, code: 'tracker_request', message: 'down' } });

    expect(ofType(core.fail('A'), 'read_issues')).toEqual([]);
    expect(started(core.poll())).toEqual(['B']);
  });

  test('no slot is filled between polls once the last good poll is older than two intervals', () => {
    const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put('A', 'B');
    core.poll();
    core.nowMs = 60_001;

    expect(ofType(core.fail('A'), 'read_issues')).toEqual([]);
  });

  test('a failed read before a start starts nothing; the next successful poll fills the slot', () => {
    const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put('A', 'B');
    core.poll();
    core.fail('A');

    expect(core.answerRead({ ok: false, code: 'tracker_request', message: 'down' })).not.toContainEqual(
      expect.objectContaining({ type: 'read_issues' }),
    );
    expect(core.state.poll.failure?.code).toBe('tracker_request');
    expect(started(core.poll())).toEqual(['B']);
  });

  test('an issue that is unknown to the read before its start is not read again at once', () => {
    const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put('A', 'B');
    core.poll();
    core.unknown.add('B');
    core.fail('A');

    expect(ofType(core.answerRead(), 'read_issues')).toEqual([]);
  });

  test('a per-state limit counts issues by the state they are in now and only prevents starts', () => {
    const core = new Core({ agent: { maxConcurrentAgentsByState: { 'in progress': 1 } } }).put('A', 'B');
    core.poll();
    core
      .change('A', { state: 'In Progress' })
      .change('B', { state: 'In Progress' })
      .put({ id: 'C', state: 'In Progress' });

    const effects = core.poll();

    expect(started(effects)).toEqual([]);
    expect(stops(effects)).toEqual([]);
  });

  test('lowering the slot limit stops no run, and starts nothing until a slot is free', () => {
    const core = new Core({ agent: { maxConcurrentAgents: 2 } }).put('A', 'B', 'C');
    core.poll();
    const fewer = { ...core.state.config, agent: { ...core.state.config.agent, maxConcurrentAgents: 1 } };

    const effects = core.send({ type: 'config_changed', config: fewer, workflowHash: 'hash-2' });
    core.fail('A');

    expect(stops(effects)).toEqual([]);
    expect(core.state.read).toBeNull();
  });
});

describe('claims', () => {
  test('a claim is stored before its first process starts', () => {
    const core = new Core().put('A');
    core.confirmsWrites = false;

    const effects = core.poll();

    const [write] = ofType(effects, 'persist');
    expect(started(effects)).toEqual([]);
    expect(write?.change.claims.A?.status.kind).toBe('running');
    expect(started(core.send({ type: 'persisted', seq: write?.seq ?? -1 }))).toEqual(['A']);
  });

  test('a write that is confirmed twice starts no run twice', () => {
    const core = new Core().put('A');
    core.poll();

    expect(started(core.send({ type: 'persisted', seq: 1 }))).toEqual([]);
  });

  test('an issue whose claim cannot be stored does not start; the daemon holds and stores everything later', () => {
    const core = new Core().put('A');
    core.confirmsWrites = false;
    core.poll();

    core.send({ type: 'persist_failed', seq: 1, message: 'disk full' });

    expect(core.standing('A')).toBe('waiting');
    expect(core.state.holds.store).toMatchObject({ code: 'store_failed', message: 'disk full' });
    const again = ofType(core.advance(15_000), 'persist');
    expect(again.map((write) => write.change.full)).toEqual([true]);
    core.confirmsWrites = true;
    core.send({ type: 'persisted', seq: again[0]?.seq ?? -1 });
    expect(core.state.holds).toEqual({});
    expect(starts(core.poll()).map((order) => [order.issue.id, order.reason])).toEqual([['A', 'first']]);
  });

  test('a later write does not repair an earlier failed one', () => {
    const core = new Core().put('A');
    core.confirmsWrites = false;
    core.poll();
    core.send({ type: 'pause_requested' });

    core.send({ type: 'persist_failed', seq: 1, message: 'disk full' });
    core.send({ type: 'persisted', seq: 2 });

    expect(core.state.persist.broken).toBe(true);
  });

  test('an idle poll has nothing to store', () => {
    const core = new Core().put('A');
    core.poll();

    expect(ofType(core.poll(), 'persist')).toEqual([]);
  });

  test('progress is not stored', () => {
    const core = new Core().put('A');
    core.poll();

    expect(core.signal('A', { type: 'progress', openItems: 0 })).toEqual([]);
  });

  test('an event of an unknown run changes nothing', () => {
    const core = new Core().put('A');
    core.poll();
    const before = core.state;

    core.send({ type: 'run_exited', runId: 'other', outcome: failure('port_exit', 'x') });
    core.send({ type: 'run_signalled', runId: 'other', signal: { type: 'progress', openItems: 3 } });

    expect(core.state).toEqual(before);
  });

  test('a run that exits twice is handled once', () => {
    const core = new Core().put('A');
    core.poll();
    const runId = core.runId('A');
    core.fail('A');

    core.send({ type: 'run_exited', runId, outcome: failure('port_exit', 'x') });

    expect(core.claim('A').failures).toBe(1);
  });
});

describe('records that the tracker cannot read', () => {
  const told = (effects: readonly Effect[]) =>
    ofType(effects, 'note').flatMap(({ note }) => (note.level === 'warn' ? [note.fields?.detail] : []));
  const answer = (core: Core, problems: string[]) => {
    core.send({ type: 'refresh_requested' });
    return told(core.answerPoll({ candidates: { ok: true, issues: [], unknown: [], problems } }));
  };

  test('are logged once while they last, and again when they return', () => {
    const core = new Core();

    expect(answer(core, ['a.md: no id'])).toEqual(['a.md: no id']);
    expect(answer(core, ['a.md: no id', 'b.md: no id'])).toEqual(['b.md: no id']);
    expect(answer(core, [])).toEqual([]);
    expect(answer(core, ['a.md: no id'])).toEqual(['a.md: no id']);
  });
});

describe('pause', () => {
  test('while paused nothing starts and active runs continue; resuming fills the slots', () => {
    const core = new Core().put('A');
    core.poll();
    core.send({ type: 'pause_requested' });
    core.put('B');

    const whilePaused = core.poll();
    core.send({ type: 'resume_requested' });

    expect(started(whilePaused)).toEqual([]);
    expect(stops(whilePaused)).toEqual([]);
    expect(started(core.answerRead())).toEqual(['B']);
  });
});
