import { describe, expect, test } from 'vitest';
import { cancelled, failure, success } from '../../../src/domain/outcome.js';
import type { Action } from '../../../src/domain/steps/plan.js';
import { parallel, settle, step, testSteps } from './step-fixture.js';

describe('equal idempotency keys in one run', () => {
  test('S4-16 are executed once, and the first output is used again', async () => {
    const steps = testSteps(() => success({ n: 1 }));

    const outcome = await steps.run([
      step('a', { idempotencyKey: '${issue.id}' }),
      step('b', { idempotencyKey: '7' }),
      step('c', { idempotencyKey: 'another' }),
    ]);

    expect(steps.calls.map(({ id }) => id)).toEqual(['a', 'c']);
    expect(outcome).toMatchObject({ output: { n: 1 } });
  });

  test('S4-16 of different kinds are different', async () => {
    const steps = testSteps(() => success(null));
    const action: Action = { kind: 'capability', type: 'skill', name: 'x', params: {} };

    await steps.run([step('a', { idempotencyKey: 'k' }), step('b', { idempotencyKey: 'k', action })]);

    expect(steps.calls).toHaveLength(2);
  });

  test('one that failed is tried by the next', async () => {
    let calls = 0;
    const steps = testSteps(() => (++calls === 1 ? failure('SERVICE_REJECTED', 'no') : success(calls)));

    await steps.run([step('a', { idempotencyKey: 'k' })]);
    const outcome = await steps.run([step('b', { idempotencyKey: 'k' })]);

    expect(outcome).toMatchObject({ state: 'success', output: 2 });
  });

  test('one that is empty once it is filled in is a fault', async () => {
    const steps = testSteps(() => success(null));

    expect(await steps.run([step('a', { idempotencyKey: '${issue.description}' })])).toMatchObject({
      error: { code: 'step_data_error' },
    });
  });

  test('S4-16 one that comes while the first is at work waits for it, and has its outcome', async () => {
    const steps = testSteps();
    const done = steps.run([parallel([[step('a', { idempotencyKey: 'k' })], [step('b', { idempotencyKey: 'k' })]])]);
    const first = await steps.next();
    await settle();
    expect(steps.calls).toHaveLength(1);

    first.end(success({ n: 1 }));

    expect(await done).toMatchObject({ state: 'success', output: [{ n: 1 }, { n: 1 }] });
    expect(steps.calls).toHaveLength(1);
  });

  test('S4-16 those that wait for one that is cancelled alone try for themselves, one of them', async () => {
    const steps = testSteps();
    const keyed = (id: string) => step(id, { idempotencyKey: 'k' });
    const inner = parallel([[keyed('a')], [step('fast')]], { id: 'inner', join: 'any' });
    const done = steps.run([parallel([[inner], [keyed('b')], [keyed('c')]])]);
    const [a, fast] = [await steps.next(), await steps.next()];

    fast.end(success('fast'));
    await settle();
    expect(a.context.signal.reason).toBe('sibling');
    a.end(cancelled('sibling'));
    const second = await steps.next();
    await settle();
    expect(steps.calls.map(({ id }) => id)).toEqual(['a', 'fast', 'b']);
    second.end(success(2));

    expect(await done).toMatchObject({ state: 'success', output: [[null, 'fast'], 2, 2] });
  });

  test('one that waits ends with its run, and does not begin anew', async () => {
    const steps = testSteps();
    const done = steps.run([parallel([[step('a', { idempotencyKey: 'k' })], [step('b', { idempotencyKey: 'k' })]])]);
    const first = await steps.next();

    steps.abort('shutdown');
    first.end(cancelled('shutdown'));

    expect(await done).toMatchObject({ state: 'cancelled', error: { code: 'INTERRUPTED' } });
    expect(steps.calls).toHaveLength(1);
  });
});
