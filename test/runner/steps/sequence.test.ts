import { expect, test } from 'vitest';
import { cancelled, failure, success } from '../../../src/domain/outcome.js';
import { echo, loop, parallel, settle, step, testSteps } from './step-fixture.js';

const ids = (calls: readonly { readonly id: string }[]) => calls.map(({ id }) => id);

test('steps run in order, and the output of the last one is the output', async () => {
  const steps = testSteps(echo);

  const outcome = await steps.run([step('a', { args: { n: 1 } }), step('b', { args: { n: 2 } })]);

  expect(ids(steps.calls)).toEqual(['a', 'b']);
  expect(outcome).toMatchObject({ state: 'success', output: { n: 2 } });
});

test('S4-04 S4-05 an executor sees data of the issue, the inputs and earlier steps, filled in', async () => {
  const steps = testSteps(echo, { topic: '${issue.identifier} by run ${run.number}' });

  await steps.run([
    step('a', { args: { list: [1, 2] } }),
    step('b', {
      args: { all: '${steps.a.output.list}', text: 'first ${steps.a.output.list[0]}', topic: '${inputs.topic}' },
    }),
  ]);

  expect(steps.calls[1]?.action).toMatchObject({ args: { all: [1, 2], text: 'first 1', topic: 'AB-7 by run 2' } });
});

test('what an issue says is filled in once and never looked into again', async () => {
  const steps = testSteps(echo, { topic: '${issue.title}' });

  await steps.run([
    step('a', { args: { title: '${issue.title}' } }),
    step('b', { args: { again: '${steps.a.output.title}', topic: '${inputs.topic}' } }),
  ]);

  expect(steps.calls[1]?.action).toMatchObject({
    args: { again: 'Do ${steps.a.output} it', topic: 'Do ${steps.a.output} it' },
  });
});

test('S4-18 an output is kept under its step and, where declared, under its name in state', async () => {
  const steps = testSteps(echo);

  await steps.run([
    step('a', { args: { n: 1 }, outputTo: 'result' }),
    step('b', { args: { viaStep: '${steps.a.output.n}', viaState: '${state.result.n}' } }),
  ]);

  expect(steps.calls[1]?.action).toMatchObject({ args: { viaStep: 1, viaState: 1 } });
});

test('what a capability has to add is the context of its step', async () => {
  const steps = testSteps((action) =>
    action.kind === 'tool' && action.tool === 'a' ? success(1, { context: { hint: 'x' } }) : echo(action),
  );

  await steps.run([step('a'), step('b', { args: { hint: '${steps.a.context.hint}' } })]);

  expect(steps.calls[1]?.action).toMatchObject({ args: { hint: 'x' } });
});

test('a token that names nothing fails the step before its executor is asked, and names step and place', async () => {
  const steps = testSteps(echo);

  const outcome = await steps.run([step('a'), step('b', { args: { x: '${steps.a.output.nothing}' } })]);

  expect(ids(steps.calls)).toEqual(['a']);
  expect(outcome).toMatchObject({ state: 'failed', error: { code: 'step_data_error' } });
  expect(outcome).toMatchObject({ error: { message: expect.stringContaining('step "b" (WORKFLOW.md:9:5)') } });
});

test('a step that fails ends the list with its outcome, and has no output', async () => {
  const steps = testSteps((action) =>
    action.kind === 'tool' && action.tool === 'a' ? failure('SERVICE_REJECTED', 'no') : echo(action),
  );

  const outcome = await steps.run([step('a'), step('b')]);

  expect(ids(steps.calls)).toEqual(['a']);
  expect(outcome).toMatchObject({ state: 'failed', error: { code: 'SERVICE_REJECTED' } });
});

test('S1-42 a guard that is false skips its step, which counts as success with output null', async () => {
  const steps = testSteps(echo);

  const outcome = await steps.run([
    step('a', { args: { n: 1 } }),
    step('b', { when: '${steps.a.output.n} > 1', outputTo: 'maybe' }),
    step('c', { args: { b: '${steps.b.output}', state: '${state.maybe}' } }),
  ]);

  expect(ids(steps.calls)).toEqual(['a', 'c']);
  expect(steps.finished.map(({ outcome: how }) => (how === 'skipped' ? how : how.state))).toEqual([
    'success',
    'skipped',
    'success',
  ]);
  expect(outcome).toMatchObject({ output: { b: null, state: null } });
});

test('a step that is skipped is told as such when it is told of first', async () => {
  const steps = testSteps(echo);

  await steps.run([step('a'), step('b', { when: 'false' })]);

  expect(steps.started.map(({ stepId, isSkipped }) => [stepId, isSkipped])).toEqual([
    ['a', false],
    ['b', true],
  ]);
});

test('S1-42 a guard is asked once, before the retries', async () => {
  const steps = testSteps();
  const done = steps.run([step('a', { when: '${run.number} == 2', retry: retry(2) })]);

  (await steps.next()).end(failure('SERVICE_UNAVAILABLE', 'down'));
  await settle();
  steps.clock.advance(1_000);
  (await steps.next()).end(success(null));

  expect(await done).toMatchObject({ state: 'success' });
  expect(steps.started).toHaveLength(1);
});

test('a guard that is neither true nor false fails the run and is never "no"', async () => {
  const steps = testSteps(echo);

  const outcome = await steps.run([step('a', { args: { n: 1 } }), step('b', { when: '${steps.a.output.n}' })]);

  expect(outcome).toMatchObject({ state: 'failed', error: { code: 'expression_error' } });
});

test('S4-26 every step is told as started and finished exactly once, however often it is tried and wherever it stands', async () => {
  const steps = testSteps(echo);

  await steps.run([
    step('a'),
    parallel([[step('b'), step('c')], [step('d', { when: 'false' })]]),
    loop([step('e')], { maxIterations: 2 }),
  ]);

  const names = ({ stepId, within }: { stepId: string; within: readonly number[] }) => `${stepId}${within.join('.')}`;
  expect(steps.started.map(names).sort()).toEqual(steps.finished.map(names).sort());
  expect(steps.started.map(names)).toHaveLength(new Set(steps.started.map(names)).size);
  expect(steps.started.map(names)).toEqual(
    expect.arrayContaining(['a', 'b', 'c', 'd', 'side-by-side', 'again', 'e1', 'e2']),
  );
});

test('a run that is stopped starts no further step', async () => {
  const steps = testSteps();
  const done = steps.run([step('a'), step('b')]);
  const first = await steps.next();

  steps.abort('terminal');
  expect(first.context.signal.reason).toBe('terminal');
  first.end(cancelled('terminal'));

  expect(await done).toMatchObject({ state: 'cancelled', error: { code: 'CANCELLED_BY_ORCHESTRATOR' } });
  expect(ids(steps.calls)).toEqual(['a']);
});

test('an executor that throws all the same fails its step', async () => {
  const steps = testSteps(() => {
    throw new Error('oops');
  });

  expect(await steps.run([step('a')])).toMatchObject({ state: 'failed', error: { code: 'internal_error' } });
});

function retry(maxAttempts: number) {
  return { maxAttempts, initialBackoffMs: 1_000, backoffCapMs: 60_000, strategy: 'exponential' } as const;
}

test('a question of a step is closed with the step: what comes next waits for nobody', async () => {
  const steps = testSteps();
  const done = steps.run([step('a'), step('b')]);
  const ask = (id: string) => ({ type: 'asked', question: { id, kind: 'approval', text: '', fields: [] } }) as const;
  const { context, end } = await steps.next();
  for (const id of ['q1', 'q2']) context.emit(ask(id));
  context.emit({ type: 'question_closed', questionId: 'q1' });

  end(success(null));
  const next = await steps.next();

  const closed = steps.signals.flatMap((signal) => (signal.type === 'question_closed' ? [signal.questionId] : []));
  expect(closed).toEqual(['q1', 'q2']);
  next.end(success(null));
  await done;
});
