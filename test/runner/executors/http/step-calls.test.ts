import { expect, test } from 'vitest';
import { SharedCalls } from '../../../../runner/executors/http/step-calls.js';

const never = () => new Promise<string>(() => {});

test('concurrent callers share one call, and its result is reused', async () => {
  const calls = new SharedCalls<string>();
  let made = 0;
  const call = async () => `call ${++made}`;
  const { signal } = new AbortController();

  expect(await Promise.all([calls.get('a', signal, call), calls.get('a', signal, call)])).toEqual(['call 1', 'call 1']);
  expect(await calls.get('a', signal, call)).toBe('call 1');
  expect(await calls.get('b', signal, call)).toBe('call 2');
  calls.forget('a');
  expect(await calls.get('a', signal, call)).toBe('call 3');
});

test('a call without waiting callers is aborted and never joined again, even when it ignores the signal', async () => {
  const calls = new SharedCalls<string>();
  const waiter = new AbortController();
  let given: AbortSignal | null = null;
  const waiting = calls.get('a', waiter.signal, (signal) => {
    given = signal;
    return never();
  });

  waiter.abort();

  await expect(waiting).rejects.toThrow();
  expect(given).toMatchObject({ aborted: true });
  expect(await calls.get('a', new AbortController().signal, async () => 'anew')).toBe('anew');
});

test('a caller with an aborted signal does not abort the call of others', async () => {
  const calls = new SharedCalls<string>();
  let finish: (text: string) => void = () => {};
  const first = calls.get('a', new AbortController().signal, () => new Promise((resolve) => (finish = resolve)));

  await expect(calls.get('a', AbortSignal.abort(), never)).rejects.toThrow();
  finish('done');

  expect(await first).toBe('done');
});
