import { expect, test } from 'vitest';
import { FINISHED_KEPT } from '../../src/domain/durable.js';
import { Core, ofType } from '../support/core.js';

const left = (core: Core) => core.state.finished.map(({ issueId, state, isTerminal }) => [issueId, state, isTerminal]);

test('an issue that its run brought to a terminal state is remembered as done, with its runs and tokens', () => {
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

test('an issue that left the active states in mid-run is remembered once its run has ended', () => {
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

test('an issue that came back while its run was being stopped has not left', () => {
  const core = new Core().put('A');
  core.poll();
  core.change('A', { state: 'Human Review' });
  core.poll();
  core.change('A', { state: 'Todo' });
  core.poll();

  core.fail('A', 'CANCELLED_BY_ORCHESTRATOR');

  expect(left(core)).toEqual([]);
});

test('an issue that never ran, one that was stuck, one that is gone and one that is not ours any more are not called done', () => {
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

test('an issue that leaves, comes back and leaves again without a run has left once, and only the last ones are kept', () => {
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
