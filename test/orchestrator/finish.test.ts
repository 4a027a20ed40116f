import { expect, test } from 'vitest';
import { FINISHED_KEPT } from '../../src/domain/durable.js';
import { Core, ofType } from '../support/core.js';

const left = (core: Core) => core.state.finished.map(({ issueId, state, isTerminal }) => [issueId, state, isTerminal]);

test('an issue that its run moved to a terminal state is recorded as done, with its runs and tokens', () => {
  const core = new Core().put('A');
  core.poll();
  core.signal('A', { type: 'usage', threadId: 't', totals: { input: 10, cached: 4, output: 1 } });
  core.exit('A');
  core.change('A', { state: 'Done' });

  const effects = core.poll();

  expect(core.state.finished).toMatchObject([{ issueId: 'A', state: 'Done', isTerminal: true, runs: 1, tokens: 7 }]);
  expect(ofType(effects, 'note').map(({ note }) => note.message)).toContain('issue is done');
  expect(ofType(effects, 'persist').flatMap(({ change }) => change.finished)).toEqual(core.state.finished);
});

test('an issue that left the active states during its run is recorded once the run has ended', () => {
  const core = new Core().put('A', 'B');
  core.poll();
  core.change('A', { state: 'Done' }).change('B', { state: 'Human Review' });
  core.poll();
  expect(left(core)).toEqual([]);

  core.fail('A', 'CANCELLED_BY_ORCHESTRATOR');
  core.fail('B', 'CANCELLED_BY_ORCHESTRATOR');

  expect(left(core)).toEqual([
    ['A', 'Done', true],
    ['B', 'Human Review', false],
  ]);
});

test('an issue that became active again while its run stopped is not recorded', () => {
  const core = new Core().put('A');
  core.poll();
  core.change('A', { state: 'Human Review' });
  core.poll();
  core.change('A', { state: 'Todo' });
  core.poll();

  core.fail('A', 'CANCELLED_BY_ORCHESTRATOR');

  expect(left(core)).toEqual([]);
});

test('an issue that never ran, was parked, is gone or is no longer routable is not recorded as done', () => {
  const core = new Core({ agent: { maxAttempts: 1 } }).put('A', 'B', 'C', 'D');
  core.send({ type: 'pause_requested' });
  core.poll();
  core.send({ type: 'stop_requested', issueId: 'D' });
  core.send({ type: 'resume_requested' });
  core.answerReads();
  core.fail('A');
  for (const id of ['B', 'C']) core.exit(id);
  core.change('A', { state: 'Done' }).change('B', { dispatchable: false }).change('D', { state: 'Done' });
  core.board.delete('C');

  core.poll();

  expect(Object.keys(core.state.claims)).toEqual([]);
  expect(left(core)).toEqual([]);
});

test('an issue that leaves twice without a run in between is recorded once, and only the newest records are kept', () => {
  const core = new Core().put('A');
  core.poll();
  core.exit('A');
  core.change('A', { state: 'Human Review' });
  core.poll();
  const [first] = core.state.finished;
  const filler = Array.from({ length: FINISHED_KEPT }, (_, n) => ({ ...first, issueId: `x${n}` }));
  core.state = { ...core.state, finished: [...filler, first].flatMap((one) => (one ? [one as never] : [])) };
  core.change('A', { state: 'Todo' });
  core.poll();
  core.exit('A');
  core.change('A', { state: 'Done' });

  core.poll();

  expect(core.state.finished).toHaveLength(FINISHED_KEPT);
  expect(core.state.finished.at(-1)).toMatchObject({ issueId: 'A', state: 'Done', runs: 2 });
});
