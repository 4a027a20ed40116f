import { describe, expect, test } from 'vitest';
import { success } from '../../src/domain/outcome.js';
import { Core, ofType } from '../support/core.js';

const KEYS = ['tracker.kind'];

/** A runs, and B waits for a slot. */
function working(): Core {
  const core = new Core({ agent: { maxConcurrentAgents: 1 } }).put('A', 'B');
  core.send({ type: 'started', leftovers: [] });
  core.answerPoll();
  return core;
}

describe('settings for which the daemon must be opened again', () => {
  test('nothing starts, the current run goes on to its end, and then the daemon is opened again', () => {
    const core = working();
    const [first] = ofType(core.effects, 'start_run');

    const asked = core.send({ type: 'reopen_requested', keys: KEYS });
    const ended = core.send({ type: 'run_exited', runId: first?.order.runId ?? '', outcome: success(null) });

    expect(ofType(asked, 'stop_run')).toEqual([]);
    expect(ofType(asked, 'reopen')).toEqual([]);
    expect(ofType(core.effects, 'start_run')).toHaveLength(1);
    expect(ofType(ended, 'persist')).not.toEqual([]);
    expect(ofType(core.effects, 'reopen')).toHaveLength(1);
    expect(ofType(core.effects, 'exit')).toEqual([]);
  });

  test('an idle daemon is opened again at once, and only once', () => {
    const core = new Core();
    core.send({ type: 'started', leftovers: [] });

    core.send({ type: 'reopen_requested', keys: KEYS });
    core.send({ type: 'reopen_requested', keys: KEYS });
    core.advance(60_000);

    expect(ofType(core.effects, 'reopen')).toHaveLength(1);
  });

  test('the last decision is stored first', () => {
    const core = working();
    const [first] = ofType(core.effects, 'start_run');
    core.send({ type: 'reopen_requested', keys: KEYS });
    core.confirmsWrites = false;

    core.send({ type: 'run_exited', runId: first?.order.runId ?? '', outcome: success(null) });
    const before = ofType(core.effects, 'reopen').length;
    core.send({ type: 'persisted', seq: core.state.persist.orderedSeq });

    expect([before, ofType(core.effects, 'reopen').length]).toEqual([0, 1]);
  });

  test('a change that is taken back lets runs start again', () => {
    const core = working();
    const [first] = ofType(core.effects, 'start_run');
    core.send({ type: 'reopen_requested', keys: KEYS });

    core.send({ type: 'reopen_requested', keys: [] });
    core.send({ type: 'run_exited', runId: first?.order.runId ?? '', outcome: success(null) });
    core.answerReads();

    expect(ofType(core.effects, 'reopen')).toEqual([]);
    expect(ofType(core.effects, 'start_run').map(({ order }) => order.issue.id)).toEqual(['A', 'B']);
  });

  test('current runs are still reconciled: one whose issue is done is stopped', () => {
    const core = working();
    core.send({ type: 'reopen_requested', keys: KEYS });

    core.change('A', { state: 'Done' });
    core.advance(31_000);
    core.answerPoll();

    expect(ofType(core.effects, 'stop_run')).toHaveLength(1);
  });

  test('a shutdown goes first', () => {
    const core = working();
    const [first] = ofType(core.effects, 'start_run');
    core.send({ type: 'reopen_requested', keys: KEYS });

    core.send({ type: 'shutdown_requested' });
    core.send({ type: 'run_exited', runId: first?.order.runId ?? '', outcome: success(null) });

    expect(ofType(core.effects, 'reopen')).toEqual([]);
    expect(ofType(core.effects, 'exit')).toEqual([{ type: 'exit', forced: false }]);
  });
});
