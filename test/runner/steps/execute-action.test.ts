import { describe, expect, test } from 'vitest';
import { stepBackoffMs } from '../../../runner/steps/execute-action.js';
import type { ErrorCode } from '../../../src/domain/errors.js';
import { type AbortReason, cancelled, failure, success } from '../../../src/domain/outcome.js';
import type { Action, RetryPolicy } from '../../../src/domain/steps/plan.js';
import { parallel, settle, step, testSteps } from './step-fixture.js';

const retry = (changes: Partial<RetryPolicy> = {}): RetryPolicy => ({
  maxAttempts: 3,
  initialBackoffMs: 1_000,
  backoffCapMs: 60_000,
  strategy: 'exponential',
  ...changes,
});

describe('retries of a step', () => {
  test.each<[string, ErrorCode, 'failed' | 'timeout']>([
    ['S4-19 a transport error', 'SERVICE_UNAVAILABLE', 'failed'],
    ['S4-20 a 5xx', 'SERVICE_UNAVAILABLE', 'failed'],
    ['S4-21 a timeout', 'SERVICE_TIMEOUT', 'timeout'],
    ['an external executor past its time', 'AGENT_TIMEOUT', 'timeout'],
    ['an executor that did not connect', 'CONNECTION_FAILED', 'failed'],
  ])('%s is tried again after the backoff', async (_, code, state) => {
    const steps = testSteps();
    const done = steps.run([step('a', { retry: retry() })]);

    (await steps.next()).end(failure(code, 'for now', { state }));
    await settle();
    expect(steps.calls).toHaveLength(1);
    steps.clock.advance(1_000);
    (await steps.next()).end(success(1));

    expect(await done).toMatchObject({ state: 'success', output: 1 });
    expect(steps.finished).toMatchObject([{ tries: 2 }]);
  });

  test.each<[string, ErrorCode]>([
    ['S4-22 a 4xx', 'SERVICE_REJECTED'],
    ['S1-34 a validation error', 'JobValidation'],
    ['S1-34 an unwired backend', 'UnwiredHttpTransport'],
    ['a non-zero exit', 'AGENT_INVOCATION_FAILED'],
    ['a failed turn', 'turn_failed'],
    ['failed code', 'CODE_FAILED'],
  ])('%s is not tried again, whatever `retry` is', async (_, code) => {
    const steps = testSteps(() => failure(code, 'no'));

    const outcome = await steps.run([step('a', { retry: retry() })]);

    expect(outcome).toMatchObject({ error: { code } });
    expect(steps.calls).toHaveLength(1);
  });

  test('without `retry` there is one try', async () => {
    const steps = testSteps(() => failure('SERVICE_UNAVAILABLE', 'down'));

    await steps.run([step('a')]);

    expect(steps.calls).toHaveLength(1);
  });

  test('S1-43 after max_attempts tries the last outcome stands', async () => {
    const steps = testSteps(() => failure('SERVICE_UNAVAILABLE', 'down'));
    const done = steps.run([step('a', { retry: retry() })]);

    for (const delayMs of [1_000, 2_000]) {
      await settle();
      steps.clock.advance(delayMs);
    }

    expect(await done).toMatchObject({ state: 'failed', error: { code: 'SERVICE_UNAVAILABLE' } });
    expect(steps.calls).toHaveLength(3);
  });

  test.each([
    ['exponential', [1_000, 2_000, 4_000, 8_000, 10_000]],
    ['linear', [1_000, 2_000, 3_000, 4_000, 5_000]],
  ] as const)('S1-43 %s backoff begins at initial_backoff_ms and ends at the cap', (strategy, delays) => {
    const policy = retry({ strategy, backoffCapMs: 10_000 });

    expect([1, 2, 3, 4, 5].map((tries) => stepBackoffMs(policy, tries))).toEqual(delays);
    expect(stepBackoffMs(policy, 10_000)).toBe(10_000);
  });

  test('S4-14 S4-15 a retry sends the same, rendered idempotency key', async () => {
    const steps = testSteps();
    const done = steps.run([step('a', { retry: retry(), idempotencyKey: '${issue.id}:once' })]);

    (await steps.next()).end(failure('SERVICE_UNAVAILABLE', 'down'));
    await settle();
    steps.clock.advance(1_000);
    (await steps.next()).end(success(null));
    await done;

    expect(steps.calls.map(({ context }) => context.step.idempotencyKey)).toEqual(['7:once', '7:once']);
  });

  test('a stop during the backoff ends it at once, and is the outcome', async () => {
    const steps = testSteps(() => failure('SERVICE_UNAVAILABLE', 'down'));
    const done = steps.run([step('a', { retry: retry() })]);
    await settle();

    steps.abort('shutdown');

    expect(await done).toMatchObject({ state: 'cancelled', error: { code: 'INTERRUPTED' } });
    expect(steps.clock.pendingTimers).toBe(0);
  });
});

describe('the time limit of a step', () => {
  const external: Action = {
    ...{ kind: 'external', executor: 'x', input: {}, model: null, envSet: {}, description: '', tools: [] },
    ...{ allowedPrograms: [], skills: [], memory: {}, inputSchema: {}, outputSchema: {} },
  };
  const agent: Action = {
    kind: 'agent',
    backend: 'cli',
    prompt: { text: '', startLine: 1, file: '' },
    maxTurns: 1,
    session: null,
  };
  const capability: Action = { kind: 'capability', type: 'skill', name: 'x', params: {} };
  const tool: Action = { kind: 'tool', tool: 'x', args: {} };

  test.each<[string, Action, ErrorCode]>([
    ['S0-39 S0-41 an external executor', external, 'AGENT_TIMEOUT'],
    ['S3-50 a capability', capability, 'EXECUTION_TIMEOUT'],
    ['S4-11 S4-13 a tool', tool, 'SERVICE_TIMEOUT'],
    ['an agent', agent, 'turn_timeout'],
  ])('%s past its time is aborted, and its outcome is a timeout', async (_, action, code) => {
    const steps = testSteps();
    const done = steps.run([step('a', { action, timeoutMs: 5_000 })]);
    const call = await steps.next();

    steps.clock.advance(4_999);
    expect(call.context.signal.aborted).toBe(false);
    steps.clock.advance(1);
    call.end(cancelled(call.context.signal.reason as AbortReason));

    expect(await done).toMatchObject({ state: 'timeout', error: { code, message: expect.stringContaining('5 s') } });
  });

  test('S3-49 without a limit nothing is aborted, and the stall clock applies', async () => {
    const steps = testSteps();
    const done = steps.run([step('a', { action: capability })]);
    const call = await steps.next();

    steps.clock.advance(10_000_000);

    expect(call.context.signal.aborted).toBe(false);
    expect(steps.signals.at(-1)).not.toMatchObject({ openItems: 1 });
    call.end(success(null));
    await done;
  });

  test('each try has the full limit', async () => {
    const steps = testSteps();
    const done = steps.run([step('a', { timeoutMs: 5_000, retry: retry() })]);
    steps.clock.advance(5_000);
    const first = await steps.next();
    first.end(cancelled('step_timeout'));
    await settle();
    steps.clock.advance(1_000);
    const second = await steps.next();

    steps.clock.advance(4_999);

    expect(second.context.signal.aborted).toBe(false);
    second.end(success(null));
    expect(await done).toMatchObject({ state: 'success' });
  });

  test('an outcome that comes just before stands, and the timer is gone', async () => {
    const steps = testSteps();
    const done = steps.run([step('a', { timeoutMs: 5_000 })]);
    (await steps.next()).end(success(1));

    expect(await done).toMatchObject({ state: 'success' });
    expect(steps.clock.pendingTimers).toBe(0);
  });
});

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

  test('after a failure the next step with the key is executed', async () => {
    let calls = 0;
    const steps = testSteps(() => (++calls === 1 ? failure('SERVICE_REJECTED', 'no') : success(calls)));

    await steps.run([step('a', { idempotencyKey: 'k' })]);
    const outcome = await steps.run([step('b', { idempotencyKey: 'k' })]);

    expect(outcome).toMatchObject({ state: 'success', output: 2 });
  });

  test('a rendered key that is empty is an error', async () => {
    const steps = testSteps(() => success(null));

    expect(await steps.run([step('a', { idempotencyKey: '${issue.description}' })])).toMatchObject({
      error: { code: 'step_data_error' },
    });
  });

  test('S4-16 a second step waits for the first one at work and gets its outcome', async () => {
    const steps = testSteps();
    const done = steps.run([parallel([[step('a', { idempotencyKey: 'k' })], [step('b', { idempotencyKey: 'k' })]])]);
    const first = await steps.next();
    await settle();
    expect(steps.calls).toHaveLength(1);

    first.end(success({ n: 1 }));

    expect(await done).toMatchObject({ state: 'success', output: [{ n: 1 }, { n: 1 }] });
    expect(steps.calls).toHaveLength(1);
  });

  test('S4-16 when the first step is cancelled alone, one of the waiting steps is executed', async () => {
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

  test('a waiting step ends with its run and is not executed', async () => {
    const steps = testSteps();
    const done = steps.run([parallel([[step('a', { idempotencyKey: 'k' })], [step('b', { idempotencyKey: 'k' })]])]);
    const first = await steps.next();

    steps.abort('shutdown');
    first.end(cancelled('shutdown'));

    expect(await done).toMatchObject({ state: 'cancelled', error: { code: 'INTERRUPTED' } });
    expect(steps.calls).toHaveLength(1);
  });
});
