import { expect, test } from 'vitest';
import { changeHash } from '../../orchestrator/hash.js';
import { Loop } from '../../orchestrator/loop.js';
import { createPerform } from '../../orchestrator/perform.js';
import { restore } from '../../orchestrator/restore.js';
import { initialState } from '../../orchestrator/state.js';
import type { Effect } from '../../src/domain/effects.js';
import { failure } from '../../src/domain/outcome.js';
import { config, issue, workflow } from '../support/builders.js';
import { Core, ofType, started, starts, stops } from '../support/core.js';
import { FakeClock } from '../support/fake-clock.js';
import { createMemoryStore } from '../support/memory-store.js';

const question = { id: 'q1', kind: 'approval', text: 'ok?', fields: [] } as const;

test('one bad issue does not keep the board on hold with one slot', () => {
  const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put('A', 'B');
  core.poll();
  for (let i = 0; i < 20 && core.standing('B') === 'unclaimed'; i++) {
    if (core.standing('A') === 'running') core.fail('A', 'agent_model_not_found');
    core.advance(300_000 * 1.1);
    core.poll();
  }
  expect(started(core.effects)).toContain('B');
});

test('a store hold that was stored does not outlive the restart', async () => {
  const core = new Core().put('A', 'B');
  core.confirmsWrites = false;
  core.poll();
  const first = core.last('persist');
  core.send({ type: 'persist_failed', seq: first?.seq ?? 0, message: 'disk full' });
  core.advance(12_000);
  const full = core.latest('persist');
  expect(full.change.full).toBe(true);
  const store = createMemoryStore();
  await store.write(full.change);
  // killed here: the write is safe, what it led to is not
  const next = new Core();
  for (const [id, one] of core.board) next.board.set(id, one);
  next.nowMs = core.nowMs;
  next.state = restore(
    initialState(core.state.config, 'h', 'second', next.now.wallMs),
    await store.load(),
    next.now.wallMs,
  );
  for (let i = 0; i < 100; i++) {
    next.advance(30_000);
    next.poll();
  }
  expect(next.state.holds.store).toBeUndefined();
  expect(started(next.effects).sort()).toEqual(['A', 'B']);
});

test('the old totals of a resumed thread do not lift a hold', () => {
  const core = new Core().put('A');
  core.poll();
  core.signal('A', { type: 'session', threadId: 't', turnId: 'u', turn: 1 });
  core.usage('A', 't', 100, 50);
  core.fail('A', 'turn_input_required', { question });
  core.put('B');
  core.poll();
  core.fail('B', 'agent_unauthorized');
  core.send({ type: 'stop_requested', issueId: 'B' });
  core.send({ type: 'answer_given', issueId: 'A', questionId: 'q1', answer: { kind: 'accept' } });
  core.advance(12_000);
  core.answerReads();
  expect(core.standing('A')).toBe('running');
  core.usage('A', 't', 100, 50);
  expect(core.state.holds.agent).toBeDefined();
});

test('the probe of an earlier hold does not affect a later one', () => {
  const core = new Core().put('A', 'B', 'C');
  core.poll();
  for (const id of ['A', 'B', 'C']) core.fail(id, 'codex_not_found');
  core.advance(12_000);
  core.answerReads();
  const probe = Object.values(core.state.runs)[0] ?? '';
  core.usage(probe, 't', 10, 5);
  core.answerReads();
  const other = Object.values(core.state.runs).find((id) => id !== probe) ?? '';
  core.fail(other, 'codex_not_found');
  expect(core.state.holds.agent).toBeDefined();
  core.usage(probe, 't', 20, 10);
  expect(core.state.holds.agent).toBeDefined();
  core.poll();
  core.advance(12_000);
  expect(core.state.read).not.toBeNull(); // a probe is looked for although the first one still runs
});

test('an issue reopened while its run is stopped keeps its workspace', () => {
  const core = new Core().put('A');
  core.poll();
  core.change('A', { state: 'Done' });
  core.poll();
  core.change('A', { state: 'In Progress' });
  core.poll();
  core.exit('A', failure('CANCELLED_BY_ORCHESTRATOR', 'x', { state: 'cancelled' }));
  expect(ofType(core.effects, 'remove_workspace')).toEqual([]);
});

test('an answer given while the run stops is not lost', () => {
  const core = new Core().put('A');
  core.poll();
  core.signal('A', { type: 'phase', phase: 'agent' });
  core.signal('A', { type: 'session', threadId: 't', turnId: 'u', turn: 1 });
  core.signal('A', { type: 'asked', question });
  core.advance(600_000);
  expect(stops(core.effects)).toEqual(['input_timeout']);
  core.send({ type: 'answer_given', issueId: 'A', questionId: 'q1', answer: { kind: 'accept' } });
  core.fail('A', 'turn_input_required');
  expect(core.status('A', 'parked').question).toEqual(question);
  core.send({ type: 'answer_given', issueId: 'A', questionId: 'q1', answer: { kind: 'accept' } });
  core.poll();
  core.answerReads();
  expect(starts(core.effects).at(-1)).toMatchObject({
    resume: { threadId: 't', answer: { answer: { kind: 'accept' } } },
  });
});

test('a read that is older than a poll is ignored', () => {
  const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put('A', 'B');
  core.poll();
  core.change('A', { state: 'Backlog' });
  core.poll();
  core.exit('A'); // A gone; slot free, B is read
  const read = core.last('read_issues');
  expect(read?.ids).toEqual(['B']);
  const old = core.readBoard(['B']);
  core.change('B', { state: 'Done' });
  core.poll();
  core.answerRead(old);
  expect(started(core.effects)).toEqual(['A']);
});

test('a poll that is older than a read is ignored', () => {
  const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put('A', 'B');
  core.poll();
  core.change('A', { state: 'Backlog' });
  core.poll();
  core.send({ type: 'refresh_requested' }); // poll in flight
  const poll = core.latest('poll');
  const stale = { ok: true, issues: [issue('B')], unknown: [] } as const;
  core.exit('A');
  core.change('B', { state: 'Done' });
  core.answerRead();
  core.send({
    type: 'observed',
    observation: {
      seq: poll.seq,
      asked: poll.ids,
      refresh: core.readBoard(poll.ids),
      candidates: stale,
      freeDiskMb: null,
    },
  });
  expect(started(core.effects)).toEqual(['A']);
});

test('inherited property names are unknown issues', () => {
  for (const issueId of ['constructor', '__proto__', 'toString']) {
    for (const type of ['stop_requested', 'retry_requested'] as const) {
      const core = new Core();
      expect(() => core.send({ type, issueId }), `${type} ${issueId}`).not.toThrow();
    }
    expect(() =>
      new Core().send({ type: 'answer_given', issueId, questionId: 'q', answer: { kind: 'accept' } }),
    ).not.toThrow();
    expect(() => new Core().send({ type: 'message_given', issueId, text: '' })).not.toThrow();
  }
});

test('a shutdown waits for the write that repairs a broken store', () => {
  const core = new Core().put('A');
  core.confirmsWrites = false;
  core.poll();
  core.send({ type: 'persist_failed', seq: core.last('persist')?.seq ?? 0, message: 'disk full' });
  core.advance(12_000);
  expect(core.last('persist')?.change.full).toBe(true);
  const effects = core.send({ type: 'shutdown_requested' });
  expect(ofType(effects, 'exit')).toEqual([]);
});

test('a run never starts while its workspace is being removed', () => {
  const core = new Core().put({ id: 'A', state: 'Done' });
  core.send({ type: 'started', leftovers: [{ issueId: 'A', identifier: 'A' }] });
  core.answerPoll();
  expect(ofType(core.effects, 'remove_workspace')).toHaveLength(1);
  core.change('A', { state: 'Todo' });
  core.poll();
  core.send({ type: 'stop_requested', issueId: 'A' });
  core.send({ type: 'retry_requested', issueId: 'A' });
  core.answerReads();
  expect(started(core.effects)).toEqual([]);
});

test('the workspace of a finished issue is removed once', () => {
  const core = new Core().put('A');
  core.send({ type: 'started', leftovers: [{ issueId: 'A', identifier: 'A' }] });
  core.answerPoll();
  core.exit('A');
  core.change('A', { state: 'Done' });
  core.poll();
  core.send({ type: 'workspace_removed', issueId: 'A', report: { ok: true } });
  core.poll();
  expect(ofType(core.effects, 'remove_workspace')).toHaveLength(1);
});

test('two threads of one run are each counted once', () => {
  const core = new Core().put('A');
  core.poll();
  core.usage('A', 't1', 100);
  core.usage('A', 't2', 50);
  core.usage('A', 't1', 120);
  core.usage('A', 't2', 60);
  expect(core.state.records.A?.tokens).toBe(180);
});

test('reordering blockers is no change', () => {
  const a = { id: 'x', identifier: 'X', state: 'Todo' },
    b = { id: 'y', identifier: 'Y', state: 'Todo' };
  expect(changeHash(issue({ blocked_by: [a, b] }))).toBe(changeHash(issue({ blocked_by: [b, a] })));
});

test('every question has its own timeout', () => {
  const core = new Core().put('A');
  core.poll();
  core.signal('A', { type: 'phase', phase: 'agent' });
  core.signal('A', { type: 'asked', question });
  core.advance(590_000);
  core.signal('A', { type: 'asked', question: { ...question, id: 'q2' } });
  core.send({ type: 'answer_given', issueId: 'A', questionId: 'q1', answer: { kind: 'accept' } });
  core.advance(20_000);
  expect(stops(core.effects)).toEqual([]);
});

test('retry while the run is being stopped is not lost', () => {
  const core = new Core().put('A');
  core.poll();
  core.send({ type: 'stop_requested', issueId: 'A' });
  core.send({ type: 'retry_requested', issueId: 'A' });
  core.fail('A', 'STOPPED_BY_OPERATOR');
  expect(core.standing('A')).toBe('waiting');
});

test('the first run of an issue is the first, also after stop and retry', () => {
  const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put('A', 'B');
  core.poll();
  core.send({ type: 'stop_requested', issueId: 'B' });
  core.send({ type: 'retry_requested', issueId: 'B' });
  core.exit('A');
  core.answerReads();
  expect(starts(core.effects).at(-1)).toMatchObject({ issue: { id: 'B' }, number: 1, reason: 'first', attempt: null });
});

test('a person can start a probe before the reset time', () => {
  const core = new Core().put('A');
  core.poll();
  core.fail('A', 'agent_quota', { resetAtMs: core.now.wallMs + 7 * 86_400_000 });
  core.send({ type: 'retry_requested', issueId: 'A' });
  core.answerReads();
  expect(starts(core.effects)).toHaveLength(2);
});

test('a disk that does not answer does not stop polling', async () => {
  const clock = new FakeClock();
  const events: string[] = [];
  const perform = createPerform(
    {
      clock,
      store: createMemoryStore(),
      workflow: () => workflow(),
      checkWorkflow: async () => {},
      log: () => {},
      reopen: () => {},
      exit: () => {},
      tracker: {
        issuesByStates: async () => ({ issues: [], unknown: [] }),
        issuesByIds: async () => ({ issues: [], unknown: [] }),
      },
      runner: {
        start() {},
        close() {},
        stop() {},
        answer() {},
        steer() {},
        removeWorkspace: async () => ({ ok: true }),
        freeDiskMb: () => new Promise(() => {}),
      },
    },
    (e) => void events.push(e.type),
  );
  perform({ type: 'poll', seq: 1, ids: [], states: [] });
  for (let i = 0; i < 100; i++) {
    await new Promise(setImmediate);
    clock.advance(60_000);
  }
  expect(events).toEqual(['observed']);
});

test('lowering the daily cap below what was spent holds at once', () => {
  const core = new Core({ agent: { maxConcurrentAgents: 1, maxTokensPerDay: 1000 } }).put('A', 'B');
  core.poll();
  core.usage('A', 't', 500);
  core.send({
    type: 'config_changed',
    workflowHash: 'x',
    config: config({ agent: { maxConcurrentAgents: 1, maxTokensPerDay: 400 } }),
  });
  core.exit('A');
  core.answerReads();
  expect(started(core.effects)).toEqual(['A']);
});

test('stop of a parked issue: a config change does not start it', () => {
  const core = new Core({ agent: { maxTokensPerIssue: 100 } }).put('A');
  core.poll();
  core.usage('A', 't', 500);
  core.fail('A', 'budget_exceeded');
  core.send({ type: 'stop_requested', issueId: 'A' });
  core.send({ type: 'config_changed', workflowHash: 'x', config: config({}) });
  expect(core.standing('A')).toBe('parked: stopped_by_operator');
});

test('changes made while the store is repaired are stored too', () => {
  const core = new Core().put('A', 'B');
  core.confirmsWrites = false;
  core.poll();
  core.send({ type: 'persisted', seq: 1 });
  core.usage('A', 't', 100);
  core.send({ type: 'persist_failed', seq: 2, message: 'disk full' });
  core.advance(12_000);
  const full = core.latest('persist');
  core.fail('B', 'turn_input_required', { question });
  core.send({ type: 'persisted', seq: full.seq });
  expect(core.last('persist')?.change.claims.B?.status).toMatchObject({ kind: 'parked', question });
});

test('progress signals next to another event do not hide a deadline that passed in between', () => {
  const clock = new FakeClock();
  const polls: Effect[] = [];
  const loop: Loop = new Loop({
    initial: initialState(config(), 'h', 'i', clock.now().wallMs),
    clock,
    perform: (effect) => {
      if (effect.type === 'poll') polls.push(effect);
      if (effect.type === 'note' && effect.note.message.startsWith('paused')) {
        clock.sleep(2); // a slow write of a log line
        loop.dispatch({ type: 'run_signalled', runId: 'any', signal: { type: 'progress', openItems: 0 } });
      }
    },
    onFault: (e) => {
      throw e;
    },
  });
  loop.dispatch({ type: 'started', leftovers: [] });
  const ok = { ok: true, issues: [], unknown: [] } as const;
  loop.dispatch({
    type: 'observed',
    observation: { seq: 1, asked: [], refresh: ok, candidates: ok, freeDiskMb: null },
  });
  clock.advance(29_999);
  loop.dispatch({ type: 'pause_requested' });
  clock.advance(3_600_000);
  expect(polls).toHaveLength(2);
});

test('after an outage, a bad issue of high priority does not prevent other issues from being the probe', () => {
  const core = new Core().put({ id: 'BAD', priority: 1 }, { id: 'GOOD', priority: 2 });
  core.poll();
  const fail = () => {
    for (const id of Object.values(core.state.runs)) core.fail(id, 'agent_unauthorized');
  };
  fail(); // the outage
  for (let i = 0; i < 4; i++) {
    core.advance(330_000);
    core.poll();
    core.answerReads();
    fail();
  }
  const before = starts(core.effects).length;
  for (let i = 0; i < 6; i++) {
    // it is over; BAD goes on failing by itself
    core.advance(330_000);
    core.poll();
    core.answerReads();
    if (core.standing('BAD') === 'running') core.fail('BAD', 'agent_unauthorized');
  }
  expect(started(core.effects).slice(starts(core.effects).length - (starts(core.effects).length - before))).toContain(
    'GOOD',
  );
});

test('a stopped candidate that is retried is read again before it starts', () => {
  const core = new Core().put('A', 'B');
  core.state = { ...core.state, config: config({ agent: { maxConcurrentAgents: 1 } }) };
  core.poll();
  core.send({ type: 'refresh_requested' });
  core.send({ type: 'stop_requested', issueId: 'B' });
  core.send({ type: 'retry_requested', issueId: 'B' });
  core.exit('A');
  core.send({ type: 'stop_requested', issueId: 'A' });
  const read = core.last('read_issues');
  core.change('B', { title: 'new' });
  core.answerPoll();
  const first = starts(core.effects).find((order) => order.issue.id === 'B');
  expect(read).toBeDefined();
  expect(first).toBeUndefined();
});
