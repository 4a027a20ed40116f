import { describe, expect, test } from 'vitest';
import { mainHold } from '../../orchestrator/holds.js';
import { Core, ofType, started, starts, stops } from '../support/core.js';

describe('a daemon-wide error', () => {
  test('an expired login does not burn through the backlog: one failure holds everything', () => {
    const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put('A', 'B', 'C');
    core.poll();

    core.fail('A', 'agent_unauthorized');
    core.poll();

    expect(mainHold(core.state)).toMatchObject({ source: 'agent', hold: { code: 'agent_unauthorized' } });
    expect(started(core.effects)).toEqual(['A']);
  });

  test('does not count as a failure of the issue', () => {
    const core = new Core().put('A');
    core.poll();

    core.fail('A', 'codex_not_found');

    expect(core.claim('A').failures).toBe(0);
    expect(core.status('A', 'waiting')).toMatchObject({ reason: 'first', attempt: null });
  });

  test('during a run loses no work: the issue resumes its thread', () => {
    const core = new Core().put('A');
    core.poll();
    core.signal('A', { type: 'session', threadId: 'thread', turnId: 'u', turn: 1 });
    core.fail('A', 'agent_quota');
    core.nowMs += 12_000;

    expect(starts(core.poll())).toMatchObject([{ reason: 'resumed', attempt: null, resume: { threadId: 'thread' } }]);
  });

  test('does not stop active runs', () => {
    const core = new Core().put('A', 'B');
    core.poll();

    expect(stops(core.fail('A', 'agent_quota'))).toEqual([]);
    expect(core.standing('B')).toBe('running');
  });

  test('is probed by one run at backoff, longer after each failure', () => {
    const core = new Core().put('A', 'B', 'C');
    core.poll();
    for (const id of ['A', 'B', 'C']) core.fail(id, 'agent_unauthorized');
    const waits: number[] = [];

    for (let i = 0; i < 3; i++) {
      waits.push((core.state.holds.agent?.untilMs ?? 0) - core.now.wallMs);
      core.nowMs += waits[i] ?? 0;
      expect(starts(core.poll())).toHaveLength(1);
      expect(started(core.poll())).toEqual([]);
      core.fail(Object.values(core.state.runs)[0] ?? '', 'agent_unauthorized');
    }

    expect(waits[0]).toBeGreaterThanOrEqual(10_000);
    expect(waits[1]).toBeGreaterThanOrEqual(20_000);
    expect(waits[2]).toBeGreaterThanOrEqual(40_000);
  });

  test('a reset time in the error is when the probe starts', () => {
    const core = new Core().put('A');
    core.poll();
    core.fail('A', 'agent_quota', { resetAtMs: core.now.wallMs + 55_000 });
    core.nowMs = 54_000;
    core.poll();
    expect(core.standing('A')).toBe('waiting');

    core.advance(1_000);

    expect(started(core.answerRead())).toEqual(['A']);
  });

  test('ends when the model answers the probe, before the probe’s run ends', () => {
    const core = new Core().put('A', 'B');
    core.poll();
    core.fail('A', 'agent_quota');
    core.fail('B', 'agent_quota');
    core.nowMs += 12_000;
    core.poll();
    const probe = Object.values(core.state.runs)[0] ?? '';

    core.usage(probe, 't', 10, 5);

    expect(core.state.holds).toEqual({});
    expect(starts(core.answerReads())).toHaveLength(1);
  });

  test('a probe that fails for another reason leaves the hold in place', () => {
    const core = new Core().put('A');
    core.poll();
    core.fail('A', 'agent_quota');
    core.nowMs += 12_000;
    core.poll();

    core.fail('A', 'hook_failed');

    expect(core.state.holds.agent?.code).toBe('agent_quota');
    expect(core.claim('A').failures).toBe(1);
  });

  test('one bad issue cannot keep a hold in place: the next probe is another issue, and then its failures count', () => {
    const core = new Core().put({ id: 'bad', priority: 1 }, { id: 'good', priority: 2 });
    core.poll();
    core.fail('bad', 'agent_unauthorized');
    core.fail('good', 'turn_failed');
    core.nowMs += 30_000;
    core.poll();
    core.fail('bad', 'agent_unauthorized');
    core.nowMs += 60_000;
    expect(started(core.poll())).toEqual(['good']);
    core.usage('good', 't', 1, 1);
    core.answerReads();

    core.fail('bad', 'agent_unauthorized');

    expect(core.state.holds).toEqual({});
    expect(core.claim('bad').failures).toBe(1);
  });

  test('while a hold waits for its probe, no issue reports a missing slot', () => {
    const core = new Core().put('A');
    core.poll();
    core.fail('A', 'agent_quota');
    core.poll();

    expect(core.status('A', 'waiting').error?.code).toBe('agent_quota');
  });
});

describe('other holds', () => {
  test('little disk space holds until there is space again', () => {
    const core = new Core().put('A');
    core.freeDiskMb = 100;
    expect(started(core.poll())).toEqual([]);
    expect(core.state.holds.disk).toMatchObject({ code: 'low_disk', message: expect.stringContaining('100 MB') });

    core.freeDiskMb = 5_000;

    expect(started(core.poll())).toEqual(['A']);
  });

  test('unknown disk space does not hold', () => {
    const core = new Core().put('A');
    core.freeDiskMb = null;

    expect(started(core.poll())).toEqual(['A']);
  });

  test('a rejected token holds until the tracker answers again', () => {
    const core = new Core().put('A');
    core.tick();
    core.answerPoll({ candidates: { ok: false, code: 'tracker_auth', message: 'set LINEAR_API_KEY' } });
    expect(core.state.holds.tracker?.message).toBe('set LINEAR_API_KEY');

    expect(started(core.poll())).toEqual(['A']);
    expect(core.state.holds).toEqual({});
  });

  test('a workflow fault ends with the next version of the file', () => {
    const core = new Core().put('A');
    core.poll();
    core.fail('A', 'template_parse_error');
    expect(core.state.holds.workflow?.code).toBe('template_parse_error');

    core.send({ type: 'config_changed', config: core.state.config, workflowHash: 'hash-2' });

    expect(core.state.holds).toEqual({});
    expect(starts(core.answerRead())).toMatchObject([{ workflowHash: 'hash-2' }]);
  });

  test('every hold is logged once when it begins and once when it ends', () => {
    const core = new Core();
    core.freeDiskMb = 1;
    core.poll();
    core.poll();
    core.freeDiskMb = 9_999;
    core.poll();
    core.poll();

    const messages = ofType(core.effects, 'note').map((effect) => effect.note.message);
    expect(messages).toEqual(['holding: nothing new is started', 'hold lifted']);
  });
});

test('a run that cannot write to the store holds the daemon for a while, even though other writes succeed', () => {
  const core = new Core().put('A', 'B');
  core.poll();
  core.fail('A', 'store_failed');
  core.exit('B');

  expect(core.state.holds.store).toBeDefined();
  expect(started([...core.advance(9_999), ...(core.state.read ? core.answerRead() : [])])).toEqual([]);
  core.advance(2_000);
  expect(core.state.holds.store).toBeUndefined();
  expect(started([...core.poll(), ...core.answerReads()])).toContain('A');
});
