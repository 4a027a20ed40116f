import { describe, expect, test } from 'vitest';
import { preview } from '../../orchestrator/preview.js';
import type { Observation } from '../../src/domain/events.js';
import { Core } from '../support/core.js';

function look(core: Core, candidates?: Observation['candidates']) {
  const ids = Object.keys(core.state.claims);
  const observation: Observation = {
    seq: core.state.seq + 1,
    asked: ids,
    refresh: core.readBoard(ids),
    candidates: candidates ?? core.readBoard([...core.board.keys()]),
    freeDiskMb: core.freeDiskMb,
  };
  const { starts, later, refused, ...rest } = preview(core.state, observation, core.now);
  const told = (list: typeof later) => list.map(({ issue, why }) => `${issue.id}: ${why}`);
  return { starts: starts.map(({ id }) => id), later: told(later), refused: told(refused), ...rest };
}

describe('a preview', () => {
  test('tells what would start, in order, and why the rest would not', () => {
    const core = new Core({ agent: { maxConcurrentAgents: 2 }, tracker: { requiredLabels: ['go'] } });
    const go = { labels: ['go'] };
    core.put({ id: 'low', priority: 4, ...go }, { id: 'none', ...go }, { id: 'urgent', priority: 1, ...go });
    core.put({ id: 'blocked', ...go, blocked_by: [{ id: 'x', identifier: 'X', state: 'Todo' }] }, { id: 'gate' });

    expect(look(core)).toEqual({
      starts: ['urgent', 'low'],
      later: ['none: it waits for a free slot'],
      refused: ['blocked: it waits for X (Todo)', 'gate: it lacks the label "go"'],
      blocker: null,
      problems: [],
    });
  });

  test('is what the real decision does', () => {
    const core = new Core({ agent: { maxConcurrentAgents: 2 } }).put('C', 'A', 'B');
    const { starts } = look(core);

    const effects = core.poll();

    expect(effects.flatMap((effect) => (effect.type === 'start_run' ? [effect.order.issue.id] : []))).toEqual(starts);
  });

  test('changes nothing', () => {
    const core = new Core().put('A');
    const before = JSON.stringify(core.state);

    look(core);

    expect(JSON.stringify(core.state)).toBe(before);
  });

  test('says that the tracker cannot be read', () => {
    const core = new Core().put('A');

    const told = look(core, { ok: false, code: 'tracker_request', message: 'no route' });

    expect(told).toMatchObject({ starts: [], blocker: 'the tracker cannot be read: no route' });
  });

  test('says which hold there is, and lets one probe through when it is ripe', () => {
    const core = new Core().put('A', 'B');
    core.poll();
    core.fail('A', 'agent_unauthorized');
    core.exit('B');
    const held = look(core);
    core.nowMs += 60_000;

    expect(held).toMatchObject({ starts: [], blocker: expect.stringContaining('on hold: because of') });
    expect(look(core).starts).toHaveLength(1);
  });

  test('tells of issues that wait or are parked', () => {
    const core = new Core({ agent: { maxAttempts: 1 } }).put('A', 'B');
    core.poll();
    core.fail('A');
    core.exit('B');

    const { later } = look(core);

    expect(later).toEqual([
      expect.stringContaining('A: parked as too_many_failures'),
      expect.stringContaining('B: its next run is due in 1 s'),
    ]);
  });
});
