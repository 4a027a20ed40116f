import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { TIMEOUT_CODES } from '../../../../runner/executors/executors.js';
import { failure, type Outcome } from '../../../../src/domain/outcome.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { forms, livingWith } from '../../contain/workbench.js';
import { bash, type ExternalStep, externalStep, newNonce, printed, script } from './external-step.js';

/** What the step loop does with a step that is past its time. */
async function pastItsTime(step: ExternalStep, running: Promise<Outcome>): Promise<Outcome> {
  step.abort('step_timeout');
  const outcome = await running;
  return outcome.state === 'timeout'
    ? failure(TIMEOUT_CODES.external, outcome.error.message, { state: 'timeout' })
    : outcome;
}

function theOne(pids: readonly number[]): number {
  const [pid, ...others] = pids;
  if (pid === undefined || others.length > 0) throw new Error(`one process was expected, not ${pids.length}`);
  return pid;
}

describe.each(forms)('with isolation %s', (form) => {
  const isolation = form === 'none' ? 'none' : 'auto';
  const hides = (nonce: string, ...then: string[]) => ({
    command: 'bash',
    args: [script('hides-children.sh'), nonce, ...then],
  });

  test('S0-38 a child that somebody else kills is cancelled, with AGENT_CANCELLED', async () => {
    const step = await externalStep({ isolation, definition: bash('cat >/dev/null; kill -KILL $$') });

    expect(await step.run()).toMatchObject({
      state: 'cancelled',
      error: { code: 'AGENT_CANCELLED', message: expect.stringContaining('SIGKILL'), retryable: false },
    });
  });

  test('S0-38 what it said on stderr before it was killed is told with it', async () => {
    const step = await externalStep({
      isolation,
      definition: bash('cat >/dev/null; echo low memory >&2; kill -KILL $$'),
    });

    const message = 'the executor acme was killed by SIGKILL (exit code 137), which Baton did not send: low memory';
    expect(await step.run()).toMatchObject({ state: 'cancelled', error: { code: 'AGENT_CANCELLED', message } });
  });

  test('S0-38 a signal from outside ends the step and all that it started', async () => {
    const nonce = newNonce();
    const step = await externalStep({ isolation, definition: hides(nonce, 'wait') });
    const running = step.run();
    await printed(await step.firstStart, 'hidden');

    const target = await vi.waitFor(() => theOne(livingWith(`3602.${nonce}`)));
    process.kill(target, 'SIGTERM');

    expect(await running).toMatchObject({ state: 'cancelled', error: { code: 'AGENT_CANCELLED' } });
    expect(livingWith(nonce)).toEqual([]);
  });

  test('S0-39 S0-40 S0-41 past its time it is a timeout with AGENT_TIMEOUT, and nothing of it survives', async () => {
    const nonce = newNonce();
    const step = await externalStep({ isolation, definition: hides(nonce, 'wait', 'stubborn') });
    const running = step.run();
    await printed(await step.firstStart, 'hidden');
    expect(livingWith(nonce)).not.toEqual([]);

    const outcome = await pastItsTime(step, running);

    expect(outcome).toMatchObject({ state: 'timeout', error: { code: 'AGENT_TIMEOUT', retryable: true } });
    expect(livingWith(nonce)).toEqual([]);
    expect(step.audits).toMatchObject([{ data: { stdout: 'hidden\n' } }]);
  });

  test('S0-34 children that hide do not outlive a good end, and do not change it', async () => {
    const nonce = newNonce();
    const step = await externalStep({ isolation, definition: hides(nonce, 'exit') });

    expect(await step.run()).toMatchObject({ state: 'success', output: { exit_code: 0 } });
    expect(livingWith(nonce)).toEqual([]);
  });

  test('S0-40 a child that never reads 1 MiB and never ends is gone when it must be', async () => {
    const nonce = newNonce();
    const step = await externalStep({ isolation, definition: bash('echo up; sleep "3600.$1"', nonce) });
    const running = step.run({ input: { padding: 'x'.repeat(1_048_576) } });
    await printed(await step.firstStart, 'up');

    const outcome = await pastItsTime(step, running);

    expect(outcome).toMatchObject({ state: 'timeout', error: { code: 'AGENT_TIMEOUT' } });
    expect(livingWith(nonce)).toEqual([]);
  });
});

test.each([
  ['shutdown', 'INTERRUPTED'],
  ['terminal', 'CANCELLED_BY_ORCHESTRATOR'],
  ['operator', 'STOPPED_BY_OPERATOR'],
  ['sibling', 'CANCELLED_BY_ORCHESTRATOR'],
] as const)('S0-40 a stop (%s) gives a child its TERM at once and says why', async (reason, code) => {
  const text = 'trap "touch cleaned; exit 0" TERM; cat >/dev/null; echo up; while :; do sleep 0.02; done';
  const step = await externalStep({ definition: bash(text) });
  const running = step.run();
  await printed(await step.firstStart, 'up');

  step.abort(reason);

  expect(await running).toMatchObject({ state: 'cancelled', error: { code } });
  expect(existsSync(`${step.workspace}/cleaned`)).toBe(true);
});

test('a step that is stopped before it began starts nothing', async () => {
  const step = await externalStep();
  step.abort('shutdown');

  expect(await step.run()).toMatchObject({ state: 'cancelled', error: { code: 'INTERRUPTED' } });
  expect(step.started).toEqual([]);
});

test('a stop that comes after the exit changes nothing', async () => {
  const clock = new FakeClock();
  const step = await externalStep({ clock, isolation: 'none', definition: bash('cat >/dev/null; sleep 3600 &') });
  const running = step.run();
  await (await step.firstStart).exited;
  // Its output is held open, and waited for.
  await vi.waitFor(() => expect(clock.pendingTimers).toBe(2));

  step.abort('shutdown');
  clock.advance(500);

  expect(await running).toMatchObject({ state: 'success' });
});

test('S0-46 a child that prints 1 GB leaves memory flat, and is heard now and then', async () => {
  const text = 'cat >/dev/null; echo first; head -c 1000000000 /dev/zero; echo last';
  const step = await externalStep({ definition: bash(text) });
  const before = process.memoryUsage.rss();

  const outcome = await step.run();

  expect(process.memoryUsage.rss() - before).toBeLessThan(200_000_000);
  expect(outcome).toMatchObject({ state: 'success' });
  const [{ data } = { data: null }] = step.audits;
  expect(data).toMatchObject({
    truncated: true,
    stdout: expect.stringMatching(/^first\n[\s\S]*bytes left out[\s\S]*last\n$/),
  });
  expect(JSON.stringify(data).length).toBeLessThan(500_000);
  expect(step.signals.length).toBeLessThan(100);
});

test('the start and what it prints is progress, told at most once a second', async () => {
  const clock = new FakeClock();
  const waits = (name: string) => `until [[ -e ${name} ]]; do sleep 0.01; done`;
  const text = `cat >/dev/null; echo one; ${waits('a')}; echo two; ${waits('b')}; echo three`;
  const step = await externalStep({ clock, definition: bash(text) });
  const goOn = (name: string) => writeFileSync(join(step.workspace, name), '');
  const running = step.run();
  const child = await step.firstStart;

  await printed(child, 'one');
  expect(step.signals).toEqual([{ type: 'progress', openItems: 0 }]);
  clock.advance(1_000);
  goOn('a');
  await printed(child, 'two');
  expect(step.signals).toHaveLength(2);
  clock.advance(999);
  goOn('b');

  await running;
  expect(step.signals).toHaveLength(2);
});
