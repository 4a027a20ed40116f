import { describe, expect, test } from 'vitest';
import { type AbortReason, cancelled, failure, success } from '../../../src/domain/outcome.js';
import { echo, fanOut, loop, parallel, settle, step, testSteps } from './step-fixture.js';

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

test('the text of an issue is filled in once and never parsed again', async () => {
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

test('the additional context of a capability is the context of its step', async () => {
  const steps = testSteps((action) =>
    action.kind === 'tool' && action.tool === 'a' ? success(1, { context: { hint: 'x' } }) : echo(action),
  );

  await steps.run([step('a'), step('b', { args: { hint: '${steps.a.context.hint}' } })]);

  expect(steps.calls[1]?.action).toMatchObject({ args: { hint: 'x' } });
});

test('S4-24 S4-25 later steps see the beginning of a long output, and its mark, wherever it is', async () => {
  const long = success('x'.repeat(2_000), { context: ['y'.repeat(2_000)] });
  const steps = testSteps((action) => (action.kind === 'tool' && action.tool === 'a' ? long : echo(action)));

  await steps.run([
    step('a', { outputTo: 'kept' }),
    step('b', { args: { output: '${steps.a.output}', state: '${state.kept}', context: '${steps.a.context}' } }),
  ]);

  const [, call] = steps.calls;
  const cut = (letter: string) => `${letter.repeat(968)}\n[truncated: 968 of 2000 bytes]`;
  expect(call?.action).toMatchObject({ args: { output: cut('x'), state: cut('x'), context: [cut('y')] } });
  expect(call?.context.messages()[0]).toMatchObject({ content: `a: ${cut('x')}` });
});

test('S4-24 S4-25 later steps see the beginning of outputs of branches that are too long together', async () => {
  const steps = testSteps(echo);
  const branches = ['a', 'b', 'c', 'd', 'e'].map((id) => [step(id, { args: { text: 'x'.repeat(990) } })]);

  await steps.run([parallel(branches), step('then', { args: { all: '${steps.side-by-side.output}' } })]);

  expect(steps.calls.at(-1)?.action).toMatchObject({ args: { all: { truncated: true, bytes: expect.any(Number) } } });
});

test('an unresolved token fails the step before its executor runs, and the error names step and place', async () => {
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

test('a skipped step is reported as skipped from the start', async () => {
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

test('a guard that is neither true nor false fails the run and is never false', async () => {
  const steps = testSteps(echo);

  const outcome = await steps.run([step('a', { args: { n: 1 } }), step('b', { when: '${steps.a.output.n}' })]);

  expect(outcome).toMatchObject({ state: 'failed', error: { code: 'expression_error' } });
});

test('S4-26 every step is reported as started and finished exactly once, with any number of tries and at any depth', async () => {
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

test('an executor that throws fails its step', async () => {
  const steps = testSteps(() => {
    throw new Error('oops');
  });

  expect(await steps.run([step('a')])).toMatchObject({ state: 'failed', error: { code: 'internal_error' } });
});

function retry(maxAttempts: number) {
  return { maxAttempts, initialBackoffMs: 1_000, backoffCapMs: 60_000, strategy: 'exponential' } as const;
}

test('the questions of a step are closed with the step', async () => {
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

const idsOf = (calls: readonly { readonly id: string }[]) => calls.map(({ id }) => id);

describe('parallel', () => {
  test('runs all branches at the same time, each in its own order', async () => {
    const steps = testSteps();
    const done = steps.run([parallel([[step('a'), step('b')], [step('c')]])]);
    const [a, c] = [await steps.next(), await steps.next()];
    expect([a.id, c.id]).toEqual(['a', 'c']);

    c.end(success('c'));
    a.end(success('a'));
    (await steps.next()).end(success('b'));

    expect(await done).toMatchObject({ state: 'success', output: ['b', 'c'] });
  });

  test('S1-39 join all: a failing branch ends the others, and its error is the outcome', async () => {
    const steps = testSteps();
    const done = steps.run([parallel([[step('a')], [step('b'), step('never')]])]);
    const [a, b] = [await steps.next(), await steps.next()];

    a.end(failure('SERVICE_REJECTED', 'no'));
    await settle();
    expect(b.context.signal.reason).toBe('sibling');
    b.end(cancelled('sibling'));

    expect(await done).toMatchObject({ state: 'failed', error: { code: 'SERVICE_REJECTED' } });
    expect(idsOf(steps.calls)).toEqual(['a', 'b']);
  });

  test('S1-39 join any: the first success is enough, the rest is ended and is null', async () => {
    const steps = testSteps();
    const done = steps.run([parallel([[step('a')], [step('b')], [step('c')]], { join: 'any' })]);
    const [a, b, c] = [await steps.next(), await steps.next(), await steps.next()];

    a.end(failure('SERVICE_REJECTED', 'no'));
    b.end(success('b'));
    await settle();
    c.end(cancelled(c.context.signal.reason as AbortReason));

    expect(await done).toMatchObject({ state: 'success', output: [null, 'b', null] });
  });

  test.each([
    [2, 2, 'success'],
    [2, 1, 'failed'],
  ] as const)('S1-39 join %i of 3 with %i successes: %s', async (join, good, state) => {
    const steps = testSteps((_, { step: { id } }) =>
      Number(id.slice(1)) <= good ? success(id) : failure('CODE_FAILED', 'no'),
    );

    const outcome = await steps.run([parallel([[step('s1')], [step('s2')], [step('s3')]], { join })]);

    expect(outcome.state).toBe(state);
  });

  test('S1-39 when the join fails, the first structural error is reported', async () => {
    const steps = testSteps();
    const done = steps.run([parallel([[step('a')], [step('b')], [step('c')]], { join: 2 })]);
    const [a, b, c] = [await steps.next(), await steps.next(), await steps.next()];

    a.end(failure('CODE_FAILED', 'first'));
    b.end(failure('UnwiredHttpTransport', 'structural'));
    await settle();
    c.end(cancelled('sibling'));

    expect(await done).toMatchObject({ error: { code: 'UnwiredHttpTransport' } });
  });

  test('a stop reaches every branch, and is the outcome', async () => {
    const steps = testSteps();
    const done = steps.run([parallel([[step('a')], [step('b')]])]);
    const calls = [await steps.next(), await steps.next()];

    steps.abort('operator');
    for (const call of calls) call.end(cancelled(call.context.signal.reason as AbortReason));

    expect(await done).toMatchObject({ state: 'cancelled', error: { code: 'STOPPED_BY_OPERATOR' } });
  });

  test('branches see earlier steps, and later steps see the branches', async () => {
    const steps = testSteps(echo);

    await steps.run([
      step('a', { args: { n: 1 } }),
      parallel([[step('b', { args: { n: '${steps.a.output.n}' } })], [step('c', { args: { n: 3 } })]]),
      step('d', { args: { b: '${steps.b.output.n}', list: '${steps.side-by-side.output}' } }),
    ]);

    expect(steps.calls.at(-1)?.action).toMatchObject({ args: { b: 1, list: [{ n: 1 }, { n: 3 }] } });
  });

  test('S4-16 twins with one key wait for the first and have its output', async () => {
    const steps = testSteps();
    const done = steps.run([parallel([[step('a', { idempotencyKey: 'k' })], [step('b', { idempotencyKey: 'k' })]])]);

    (await steps.next()).end(success('once'));

    expect(await done).toMatchObject({ output: ['once', 'once'] });
    expect(steps.calls).toHaveLength(1);
  });
});

describe('fan_out', () => {
  test('S1-40 never has more than max_workers at work, and results keep the order of the items', async () => {
    const steps = testSteps();
    const done = steps.run([
      fanOut([10, 20, 30, 40, 50], [step('work', { args: { n: '${item}' } })], { maxWorkers: 2 }),
    ]);
    let [first, second] = [await steps.next(), await steps.next()];
    await settle();
    expect(steps.calls).toHaveLength(2);

    for (let left = 5; left > 0; left -= 1) {
      // The later one ends first.
      second.end(success(second.action.kind === 'tool' ? (second.action.args.n ?? null) : null));
      await settle();
      expect(steps.calls.length).toBeLessThanOrEqual(5);
      second = first;
      if (left > 2) first = await steps.next();
    }

    expect(await done).toMatchObject({ state: 'success', output: [10, 20, 30, 40, 50] });
  });

  test('S1-40 a failed slot is null where the join lets it pass', async () => {
    const steps = testSteps((action) =>
      action.kind === 'tool' && action.args.n === 2 ? failure('CODE_FAILED', 'no') : echo(action),
    );

    const outcome = await steps.run([
      fanOut([1, 2, 3], [step('work', { args: { n: '${item}' } })], { join: 2, maxWorkers: 1 }),
    ]);

    expect(outcome).toMatchObject({ state: 'success', output: [{ n: 1 }, null, { n: 3 }] });
  });

  test('a worker that fails ends the fan-out, and later items are not begun', async () => {
    const steps = testSteps(() => failure('CODE_FAILED', 'no'));

    const outcome = await steps.run([fanOut([1, 2, 3], [step('work')], { maxWorkers: 1 })]);

    expect(outcome).toMatchObject({ state: 'failed', error: { code: 'CODE_FAILED' } });
    expect(steps.calls).toHaveLength(1);
  });

  test('S1-33 workers do not see each other, and share only their results', async () => {
    const steps = testSteps(echo);

    const outcome = await steps.run([
      fanOut([1, 2], [step('one', { args: { n: '${item}' } }), step('two', { args: { n: '${steps.one.output.n}' } })], {
        maxWorkers: 2,
      }),
      step('after', { args: { all: '${steps.spread.output}', inner: '${steps.two.output}' } }),
    ]);

    expect(steps.calls.filter(({ id }) => id === 'two').map(({ action }) => action)).toMatchObject([
      { args: { n: 1 } },
      { args: { n: 2 } },
    ]);
    expect(outcome).toMatchObject({ state: 'failed', error: { code: 'step_data_error' } });
  });

  test('an empty list is done at once', async () => {
    const steps = testSteps(echo);

    expect(await steps.run([fanOut([], [step('work')], { join: 'any' })])).toMatchObject({
      state: 'success',
      output: [],
    });
  });

  test.each([
    ['text', '${issue.title}'],
    ['a map', { a: 1 }],
  ])('items that are %s are a fault', async (_, items) => {
    const steps = testSteps(echo);

    expect(await steps.run([fanOut(items, [step('work')])])).toMatchObject({ error: { code: 'step_data_error' } });
  });
});

describe('loop', () => {
  test('S1-36 S1-38 the body runs, then break_when is evaluated; the output has the number of iterations', async () => {
    const steps = testSteps(echo);

    const outcome = await steps.run([
      loop([step('try', { args: { n: '${iteration}' } })], {
        maxIterations: 5,
        breakWhen: '${steps.try.output.n} == 3',
      }),
    ]);

    expect(steps.calls).toHaveLength(3);
    expect(outcome).toMatchObject({ state: 'success', output: { iterations: 3, broke: true } });
  });

  test('S1-36 S1-38 it ends at max_iterations, which is logged and is no failure', async () => {
    const steps = testSteps(echo);

    const outcome = await steps.run([
      loop([step('try', { args: { n: 0 } })], { breakWhen: '${steps.try.output.n} == 1' }),
    ]);

    expect(outcome).toMatchObject({ state: 'success', output: { iterations: 3, broke: false } });
    expect(steps.warnings).toEqual(['loop did not converge']);
  });

  test('with items it goes through them in order', async () => {
    const steps = testSteps(echo);

    const outcome = await steps.run([
      loop([step('each', { args: { item: '${item}', n: '${iteration}' } })], { items: ['x', 'y'] }),
    ]);

    expect(steps.calls.map(({ action }) => action)).toMatchObject([
      { args: { item: 'x', n: 1 } },
      { args: { item: 'y', n: 2 } },
    ]);
    expect(outcome).toMatchObject({ output: { iterations: 2, broke: false } });
    expect(steps.warnings).toEqual([]);
  });

  test('S1-37 more items than max_iterations fail, and no iteration starts', async () => {
    const steps = testSteps(echo);

    const outcome = await steps.run([loop([step('each')], { items: [1, 2, 3, 4] })]);

    expect(outcome).toMatchObject({ state: 'failed', error: { code: 'loop_too_long' } });
    expect(steps.calls).toHaveLength(0);
  });

  test('a later iteration sees the data of an earlier one', async () => {
    const steps = testSteps(echo);

    await steps.run([
      step('seed', { args: { n: 1 }, outputTo: 'sum' }),
      loop([step('add', { args: { n: '${state.sum.n}', at: '${iteration}' }, outputTo: 'sum' })]),
    ]);

    expect(steps.calls.at(-1)?.action).toMatchObject({ args: { n: 1, at: 3 } });
  });

  test('a step that fails ends it', async () => {
    const steps = testSteps(() => failure('CODE_FAILED', 'no'));

    expect(await steps.run([loop([step('a')]), step('never')])).toMatchObject({ error: { code: 'CODE_FAILED' } });
    expect(steps.calls).toHaveLength(1);
  });

  test('a fault in break_when fails the run', async () => {
    const steps = testSteps(echo);

    expect(await steps.run([loop([step('a')], { breakWhen: '${steps.a.output}' })])).toMatchObject({
      error: { code: 'expression_error' },
    });
  });

  test('a long one whose steps are all skipped lets others have their turn', async () => {
    const steps = testSteps(echo);
    let hadTurn = false;
    setImmediate(() => {
      hadTurn = true;
    });

    await steps.run([loop([step('never', { when: 'false' })], { maxIterations: 1_000 })]);

    expect(hadTurn).toBe(true);
  });

  test('shapes stand in shapes', async () => {
    const steps = testSteps(echo);

    const outcome = await steps.run([
      loop(
        [
          parallel([
            [fanOut([1, 2], [step('deep', { args: { at: '${iteration}', item: '${item}' } })])],
            [step('other')],
          ]),
        ],
        { maxIterations: 2 },
      ),
    ]);

    expect(outcome).toMatchObject({ state: 'success' });
    expect(steps.calls.filter(({ id }) => id === 'deep')).toHaveLength(4);
    expect(steps.started.filter(({ stepId }) => stepId === 'deep').map(({ within }) => within)).toEqual([
      [1, 1],
      [1, 2],
      [2, 1],
      [2, 2],
    ]);
  });
});
