import { expect, test } from 'vitest';
import { afterObservation } from '../../orchestrator/observe.js';
import { pick } from '../../orchestrator/select.js';
import type { Observation } from '../../src/domain/events.js';
import { Core, started } from '../support/core.js';

function look(core: Core) {
  const ids = Object.keys(core.state.claims);
  const observation: Observation = {
    seq: core.state.seq + 1,
    asked: ids,
    refresh: core.readBoard(ids),
    candidates: core.readBoard([...core.board.keys()]),
    freeDiskMb: core.freeDiskMb,
  };
  return afterObservation(core.state, observation, core.now);
}

test('the head of a simulated poll is the issue that the real decision starts', () => {
  const core = new Core({ agent: { maxConcurrentAgents: 2 } }).put('C', { id: 'A', priority: 1 }, 'B');

  const first = pick(look(core), core.now).map(({ issue }) => issue.id);

  expect(first).toEqual(['A', 'B']);
  expect(started(core.poll())).toEqual(first);
});

test('a simulated poll changes nothing', () => {
  const core = new Core().put('A');
  const before = JSON.stringify(core.state);

  look(core);

  expect(JSON.stringify(core.state)).toBe(before);
});
