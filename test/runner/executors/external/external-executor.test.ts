import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { TIMEOUT_CODES } from '../../../../runner/executors/executors.js';
import { failure, type Outcome } from '../../../../src/domain/outcome.js';
import { createRedactor } from '../../../../src/logging/redact.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { forms, livingWith } from '../../contain/workbench.js';
import { parallel, step as toolStep } from '../../steps/step-fixture.js';
import { bash, type ExternalStep, externalStep, newNonce, printed, script } from './external-step.js';

const KEEPS_ALL = { command: 'bash', args: [script('keeps-all.sh')] };
const MIB = 1_048_576;

describe.each(forms)('with isolation %s', (form) => {
  const isolation = form === 'none' ? 'none' : 'auto';

  test('S0-17 S0-18 S0-20 S0-21 S0-25 the child reads exactly one JSON object and then the end of its input', async () => {
    const steps = [toolStep('first'), parallel([[toolStep('second')]])];
    const facts = { id: 'publish', timeoutMs: 60_000 };
    const step = await externalStep({ isolation, definition: KEEPS_ALL, step: facts, steps });

    const outcome = await step.run({ input: { task_id: 'AB-1', text: 'ü\u2028"\n' }, model: 'm-big' });

    const { text } = step.kept();
    expect(outcome).toMatchObject({ state: 'success', output: { exit_code: 0 } });
    expect(text).toBe(JSON.stringify(JSON.parse(text)));
    expect(JSON.parse(text)).toMatchObject({
      schemaVersion: 1,
      activity: { id: 'publish', spec_type: 'external', spec_config: { model: 'm-big', timeout_seconds: 60 } },
      input: { task_id: 'AB-1', text: 'ü\u2028"\n' },
      job: { id: 'run-1', steps: [{ target_id: 'first', agent_cli: 'tool' }, { target_id: 'second' }] },
      task: { id: 'id-1', workspace_path: step.workspace, external_refs: [{ system: 'memory', id: 'AB-1' }] },
    });
  });

  test('S0-31 a child that reads slowly gets the whole envelope of 1 MiB', async () => {
    const definition = { command: process.execPath, args: [script('reads-slowly.mjs')] };
    const step = await externalStep({ isolation, definition });

    const outcome = await step.run({ input: { padding: 'é'.repeat(MIB / 2) } });

    expect(outcome).toMatchObject({ state: 'success' });
    expect(step.audits).toMatchObject([{ data: { stdout: `1 ${MIB / 2}\n` } }]);
  });

  describe.each([
    ['small', 10],
    ['large', MIB],
  ])('S0-32 S0-33 a %s envelope is not read', (_, bytes) => {
    const input = { padding: 'x'.repeat(bytes) };

    test.each([
      ['by a child that exits with 0 at once', 'exit 0'],
      ['by a child that closes its stdin and works on', 'exec </dev/null; sleep 0.05'],
      ['by a child that works and never looks', 'sleep 0.05'],
      ['to its end', 'head -c 5 >/dev/null'],
      ['by a child that leaves another one behind', 'sleep 0.05; sleep 3600 </dev/null &'],
    ])('%s: AGENT_INVOCATION_FAILED', async (_name, text) => {
      const step = await externalStep({ isolation, definition: bash(text) });

      const outcome = await step.run({ input });

      expect(outcome).toMatchObject({
        state: 'failed',
        error: { code: 'AGENT_INVOCATION_FAILED', message: expect.stringContaining('did not read all of its input') },
      });
    });

    test('with a non-zero exit code the message is the stderr', async () => {
      const step = await externalStep({ isolation, definition: bash('echo no such tool >&2; exit 3') });

      const outcome = await step.run({ input });

      expect(outcome).toMatchObject({
        state: 'failed',
        error: { code: 'AGENT_INVOCATION_FAILED', message: 'no such tool' },
      });
    });
  });

  test('S0-32 it is detected for each of many children that exit at the same moment, and no descriptor stays open', async () => {
    const pipes = () => process.getActiveResourcesInfo().filter((name) => name === 'PipeWrap').length;
    const texts = ['exit 0', 'cat >/dev/null', 'sleep 0.02', 'cat >/dev/null', 'exit 0', 'sleep 0.02'];
    const steps = await Promise.all(texts.map((text) => externalStep({ isolation, definition: bash(text) })));
    const before = pipes();

    const outcomes = await Promise.all(steps.map((step) => step.run()));

    const states = outcomes.map(({ state }) => state);
    expect(states).toEqual(['failed', 'success', 'failed', 'success', 'failed', 'failed']);
    // Descriptors of earlier tests may be closed meanwhile.
    await vi.waitFor(() => expect(pipes()).toBeLessThanOrEqual(before));
  });

  test.each([
    ['small', 10],
    ['large', MIB],
  ])('S0-31 a %s envelope can be read by opening /dev/stdin, also late', async (_, bytes) => {
    const text = 'sleep 0.05; exec 5</dev/stdin; cat <&5 | wc -c';
    const step = await externalStep({ isolation, definition: bash(text) });

    const outcome = await step.run({ input: { padding: 'x'.repeat(bytes) } });

    expect(outcome).toMatchObject({ state: 'success' });
    const [{ data }] = step.audits as unknown as [{ data: { stdout: string } }];
    expect(Number(data.stdout)).toBeGreaterThan(bytes);
  });

  test.each([129, 130, 137, 143, 255])('S0-35 exit code %i is a failure, not a signal', async (code) => {
    const step = await externalStep({ isolation, definition: bash(`cat >/dev/null; exit ${code}`) });

    expect(await step.run()).toMatchObject({ state: 'failed', error: { code: 'AGENT_INVOCATION_FAILED' } });
    expect(step.audits).toMatchObject([{ data: { exit_code: code, signal: null } }]);
  });

  test.each(['KILL', 'TERM', 'SEGV'])('S0-38 a child that is killed by SIG%s is cancelled', async (signal) => {
    const step = await externalStep({ isolation, definition: bash(`cat >/dev/null; kill -${signal} $$; sleep 60`) });

    expect(await step.run()).toMatchObject({ state: 'cancelled', error: { code: 'AGENT_CANCELLED' } });
    expect(step.audits).toMatchObject([{ data: { exit_code: null, signal: `SIG${signal}` } }]);
  });

  test('S0-33 a child that writes to its own stdin without end does no harm', async () => {
    const step = await externalStep({ isolation, definition: bash('head -c 10000000 /dev/zero >&0; cat >/dev/null') });

    expect(await step.run()).toMatchObject({ state: 'success' });
  });

  test('S0-34 exit code 0 is a success, and later steps see only the code and the duration', async () => {
    const step = await externalStep({ isolation, definition: bash('cat >/dev/null; echo much on stderr >&2') });

    expect(await step.run()).toEqual({
      state: 'success',
      output: { exit_code: 0, duration_ms: expect.any(Number) },
      meta: {},
    });
  });

  test('S0-35 S0-36 S0-45 a non-zero exit fails with AGENT_INVOCATION_FAILED and the trimmed stderr', async () => {
    const text = `cat >/dev/null; printf '\\n  boom: bad request\\nat line 2  \\n\\n' >&2; exit 7`;
    const step = await externalStep({ isolation, definition: bash(text) });

    expect(await step.run()).toMatchObject({
      state: 'failed',
      error: { code: 'AGENT_INVOCATION_FAILED', message: 'boom: bad request\nat line 2', retryable: false },
    });
  });

  test('S0-37 without stderr the message names the exit code', async () => {
    const step = await externalStep({ isolation, definition: bash('cat >/dev/null; echo out; echo " " >&2; exit 7') });

    expect(await step.run()).toMatchObject({ error: { message: expect.stringMatching(/acme .* exit code 7$/) } });
  });
});

test('S0-43 S0-44 output is in the transcript, and JSON on stdout changes nothing', async () => {
  const json = '{"state":"failed","output":{"exit_code":"from-stdout"}}';
  const step = await externalStep({ definition: bash(`cat >/dev/null; echo '${json}'; echo hint >&2`) });

  const outcome = await step.run();

  expect(outcome).toMatchObject({ state: 'success', output: { exit_code: 0 } });
  expect(JSON.stringify(outcome)).not.toContain('from-stdout');
  expect(step.audits).toEqual([
    {
      kind: 'external_output',
      data: {
        executor: 'acme',
        command: expect.stringMatching(/\/bash$/),
        exit_code: 0,
        signal: null,
        duration_ms: expect.any(Number),
        stdout: `${json}\n`,
        stderr: 'hint\n',
        truncated: false,
      },
    },
  ]);
});

test('S0-46 a long stderr is cut and marked as truncated in the transcript, and its end is the message', async () => {
  const text = 'cat >/dev/null; head -c 1000000 /dev/zero | tr "\\0" x >&2; echo the cause >&2; exit 1';
  const step = await externalStep({ definition: bash(text) });

  const outcome = await step.run();

  const message = outcome.state === 'success' ? '' : outcome.error.message;
  expect(message).toMatch(/^… x+the cause$/);
  expect(message.length).toBeLessThan(4_010);
  expect(step.audits).toMatchObject([{ data: { truncated: true } }]);
  expect(JSON.stringify(step.audits).length).toBeLessThan(70_000);
});

test.each([
  ['lines', '\n'],
  ['words', ' '],
])(
  'S0-47 a long stderr of %s is cut between two of them, because half a secret could not be masked',
  async (_, end) => {
    const text = `cat >/dev/null; printf 'canary-4711-secret${end}%.0s' {1..999} >&2; exit 1`;
    const step = await externalStep({ definition: bash(text.replace('\n', '\\n')) });

    const outcome = await step.run();

    const message = outcome.state === 'success' ? '' : outcome.error.message;
    expect(message.length).toBeGreaterThan(3_900);
    expect(message.replaceAll(/canary-4711-secret\s?/g, '')).toBe('… ');
  },
);

test('S0-47 a secret of the definition is masked before the child can print it', async () => {
  const redactor = createRedactor();
  const lines: string[] = [];
  const step = await externalStep({
    definition: {
      ...bash('cat >/dev/null; echo "out $TOKEN"; echo "err $TOKEN" >&2; exit 1'),
      env: { TOKEN: '$CANARY' },
    },
    overrides: {
      secret: (written) => {
        redactor.add('canary-4711-secret');
        return written === '$CANARY' ? 'canary-4711-secret' : null;
      },
      audit: (kind, data) => void lines.push(redactor.maskJson(JSON.stringify({ kind, data }))),
    },
  });

  const outcome = await step.run();

  expect(redactor.mask(JSON.stringify(outcome))).toContain('err ***');
  expect(lines.join()).toContain('out ***');
  expect(lines.join() + redactor.mask(JSON.stringify(outcome))).not.toContain('canary-4711-secret');
});

describe('refused before the start', () => {
  test('S0-29 a task other than the issue of the run', async () => {
    const step = await externalStep();

    const outcome = await step.run({ input: { task_id: 'XYZ-9' } });

    expect(outcome).toMatchObject({ state: 'failed', error: { code: 'AGENT_INVOCATION_FAILED' } });
    expect(step.started).toEqual([]);
  });

  test.each([['other'], ['__proto__'], ['constructor']])('S0-11 an undefined executor %s', async (executor) => {
    const step = await externalStep();

    const outcome = await step.run({ executor });

    expect(outcome).toMatchObject({
      state: 'failed',
      error: { code: 'EXECUTOR_NOT_FOUND', message: expect.stringContaining('defined: acme') },
    });
    expect(step.started).toEqual([]);
  });
});

/** Stops a step at its time limit, as the step loop does. */
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

  test('S0-38 a child that is killed from outside is cancelled, with AGENT_CANCELLED', async () => {
    const step = await externalStep({ isolation, definition: bash('cat >/dev/null; kill -KILL $$') });

    expect(await step.run()).toMatchObject({
      state: 'cancelled',
      error: { code: 'AGENT_CANCELLED', message: expect.stringContaining('SIGKILL'), retryable: false },
    });
  });

  // Without a namespace Node.js reports exit code 0 for such an end.
  test.runIf(form === 'pidns')('S0-38 a child that a realtime signal ends is cancelled', async () => {
    const step = await externalStep({ isolation, definition: bash('cat >/dev/null; kill -34 $$') });

    const message = 'the executor acme was killed by a signal, which Baton did not send';
    expect(await step.run()).toMatchObject({ state: 'cancelled', error: { code: 'AGENT_CANCELLED', message } });
  });

  test('S0-38 the message of a killed child contains its stderr', async () => {
    const step = await externalStep({
      isolation,
      definition: bash('cat >/dev/null; echo low memory >&2; kill -KILL $$'),
    });

    const message = 'the executor acme was killed by SIGKILL (exit code 137), which Baton did not send: low memory';
    expect(await step.run()).toMatchObject({ state: 'cancelled', error: { code: 'AGENT_CANCELLED', message } });
  });

  test('S0-38 a signal from outside ends the step with all its processes', async () => {
    const nonce = newNonce();
    const step = await externalStep({ isolation, definition: hides(nonce, 'wait') });
    const running = step.run();
    await printed(await step.firstStart, 'hidden');

    const target = await vi.waitFor(() => theOne(livingWith(`3602.${nonce}`)));
    process.kill(target, 'SIGTERM');

    expect(await running).toMatchObject({ state: 'cancelled', error: { code: 'AGENT_CANCELLED' } });
    expect(livingWith(nonce)).toEqual([]);
  });

  test('S0-39 S0-40 S0-41 a child over its time limit ends with AGENT_TIMEOUT, and none of its processes survives', async () => {
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

  test('S0-34 hidden child processes do not survive a success, and do not change it', async () => {
    const nonce = newNonce();
    const step = await externalStep({ isolation, definition: hides(nonce, 'exit') });

    expect(await step.run()).toMatchObject({ state: 'success', output: { exit_code: 0 } });
    expect(livingWith(nonce)).toEqual([]);
  });

  test('S0-40 a child that never reads and never exits is stopped', async () => {
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
] as const)('S0-40 a stop (%s) sends SIGTERM at once and has its own code', async (reason, code) => {
  const text = 'trap "touch cleaned; exit 0" TERM; cat >/dev/null; echo up; while :; do sleep 0.02; done';
  const step = await externalStep({ definition: bash(text) });
  const running = step.run();
  await printed(await step.firstStart, 'up');

  step.abort(reason);

  expect(await running).toMatchObject({ state: 'cancelled', error: { code } });
  expect(existsSync(`${step.workspace}/cleaned`)).toBe(true);
});

test('a step stopped before it began starts no process', async () => {
  const step = await externalStep();
  step.abort('shutdown');

  expect(await step.run()).toMatchObject({ state: 'cancelled', error: { code: 'INTERRUPTED' } });
  expect(step.started).toEqual([]);
});

test('a stop after the exit changes nothing', async () => {
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

test('S0-46 a child that prints 1 GB does not fill the memory, and its output counts as progress', async () => {
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

test('the start and the output are progress, reported at most once a second', async () => {
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
