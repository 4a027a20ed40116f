import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ticksNow } from '../../runner/contain/proc-table.js';
import type { Containment } from '../../runner/contain/process.js';
import { createLeftoverCheck } from '../../runner/end-leftovers.js';
import { FakeClock } from '../support/fake-clock.js';

const NAMESPACES = { kind: 'pidns', userNamespace: true, hide: [] } as const;

function setUp(kind: { readonly kind: 'none' } | typeof NAMESPACES) {
  const clock = new FakeClock();
  const warned = vi.fn();
  const containment: Containment = { ...kind, reason: 'a test', bash: 'bash', clock };
  return { clock, warned, check: createLeftoverCheck(containment, { warned }) };
}

/** A process in a session of its own that only its marker connects with the run. */
async function leftover(runId: string) {
  const child = spawn('bash', ['-c', 'echo; exec sleep 1000'], {
    env: { PATH: process.env.PATH, BATON_RUN_MARKER: runId },
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  await once(child.stdout, 'data');
  return { child, ended };
}

test('without namespaces every run is checked, and what is left of it is ended', async () => {
  const { check, warned } = setUp({ kind: 'none' });
  for (const runId of [randomUUID(), randomUUID()]) {
    const startedTicks = ticksNow();
    const { child, ended } = await leftover(runId);

    await check(runId, startedTicks);
    await ended;

    expect(child.signalCode).toBe('SIGKILL');
    expect(warned).toHaveBeenLastCalledWith(runId, expect.any(String), { pids: [child.pid] });
  }
});

test('a process that is older than the run is not of the run', async () => {
  const { check, warned } = setUp({ kind: 'none' });
  const runId = randomUUID();
  const { child } = await leftover(runId);

  await check(runId, ticksNow() + 1_000);

  expect([child.exitCode, child.signalCode]).toEqual([null, null]);
  expect(warned).not.toHaveBeenCalled();
});

test('with namespaces one run in ten minutes is checked', async () => {
  const { check, clock } = setUp(NAMESPACES);
  const [first, second] = [randomUUID(), randomUUID()];
  const startedTicks = ticksNow();
  const leftOfFirst = await leftover(first);
  const leftOfSecond = await leftover(second);

  await check(first, startedTicks);
  await check(second, startedTicks);
  await leftOfFirst.ended;
  expect([leftOfSecond.child.exitCode, leftOfSecond.child.signalCode]).toEqual([null, null]);

  clock.advance(10 * 60_000);
  await check(second, startedTicks);
  await leftOfSecond.ended;
});
