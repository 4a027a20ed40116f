import { describe, expect, test, vi } from 'vitest';
import { createRedactor } from '../../../../src/logging/redact.js';
import { forms } from '../../contain/workbench.js';
import { bash, externalStep, script } from './external-step.js';

const KEEPS_ALL = { command: 'bash', args: [script('keeps-all.sh')] };
const MIB = 1_048_576;

describe.each(forms)('with isolation %s', (form) => {
  const isolation = form === 'none' ? 'none' : 'auto';

  test('S0-17 S0-18 S0-20 S0-21 S0-25 the child reads exactly one JSON object, and then the end', async () => {
    const step = await externalStep({ isolation, definition: KEEPS_ALL, step: { id: 'publish', timeoutMs: 60_000 } });

    const outcome = await step.run({ input: { task_id: 'AB-1', text: 'ü\u2028"\n' }, model: 'm-big' });

    const { text } = step.kept();
    expect(outcome).toMatchObject({ state: 'success', output: { exit_code: 0 } });
    expect(text).toBe(JSON.stringify(JSON.parse(text)));
    expect(JSON.parse(text)).toMatchObject({
      schemaVersion: 1,
      activity: { id: 'publish', spec_type: 'external' },
      input: { task_id: 'AB-1', text: 'ü\u2028"\n' },
      job: { id: 'run-1', steps: [{ agent_cli: 'acme', model: 'm-big', timeout_seconds: 60 }] },
      task: { id: 'id-1', workspace_path: step.workspace, external_refs: [{ system: 'memory', id: 'AB-1' }] },
    });
  });

  test('S0-31 an envelope of 1 MiB reaches a child whole that reads slowly', async () => {
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

    test('and the exit code is not 0: its stderr tells more', async () => {
      const step = await externalStep({ isolation, definition: bash('echo no such tool >&2; exit 3') });

      const outcome = await step.run({ input });

      expect(outcome).toMatchObject({
        state: 'failed',
        error: { code: 'AGENT_INVOCATION_FAILED', message: 'no such tool' },
      });
    });
  });

  test('S0-32 that is seen of each of many that end at the same moment, and nothing stays open', async () => {
    const pipes = () => process.getActiveResourcesInfo().filter((name) => name === 'PipeWrap').length;
    const texts = ['exit 0', 'cat >/dev/null', 'sleep 0.02', 'cat >/dev/null', 'exit 0', 'sleep 0.02'];
    const steps = await Promise.all(texts.map((text) => externalStep({ isolation, definition: bash(text) })));
    const before = pipes();

    const outcomes = await Promise.all(steps.map((step) => step.run()));

    const states = outcomes.map(({ state }) => state);
    expect(states).toEqual(['failed', 'success', 'failed', 'success', 'failed', 'failed']);
    // What the tests before it had open may be closed meanwhile.
    await vi.waitFor(() => expect(pipes()).toBeLessThanOrEqual(before));
  });

  test('S0-33 a child that floods its own stdin harms nobody', async () => {
    const step = await externalStep({ isolation, definition: bash('head -c 10000000 /dev/zero >&0; cat >/dev/null') });

    expect(await step.run()).toMatchObject({ state: 'success' });
  });

  test('S0-34 exit 0 is a success without an error, and all that later steps see is the code and the time', async () => {
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

test('S0-43 S0-44 what it prints is in the transcript, and JSON on stdout changes nothing', async () => {
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

test('S0-46 a long stderr is cut and marked in the transcript, and its end is the message', async () => {
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
])('S0-47 a long stderr of %s is cut between two of them: half a secret could not be masked', async (_, end) => {
  const text = `cat >/dev/null; printf 'canary-4711-secret${end}%.0s' {1..999} >&2; exit 1`;
  const step = await externalStep({ definition: bash(text.replace('\n', '\\n')) });

  const outcome = await step.run();

  const message = outcome.state === 'success' ? '' : outcome.error.message;
  expect(message.length).toBeGreaterThan(3_900);
  expect(message.replaceAll(/canary-4711-secret\s?/g, '')).toBe('… ');
});

test('S0-47 a secret of the definition is known to the redactor before the child can print it', async () => {
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

describe('refused before anything is started', () => {
  test('S0-29 a task that is not that of the run', async () => {
    const step = await externalStep();

    const outcome = await step.run({ input: { task_id: 'XYZ-9' } });

    expect(outcome).toMatchObject({ state: 'failed', error: { code: 'AGENT_INVOCATION_FAILED' } });
    expect(step.started).toEqual([]);
  });

  test.each([['other'], ['__proto__'], ['constructor']])(
    'S0-11 an executor %s that nobody defined',
    async (executor) => {
      const step = await externalStep();

      const outcome = await step.run({ executor });

      expect(outcome).toMatchObject({
        state: 'failed',
        error: { code: 'EXECUTOR_NOT_FOUND', message: expect.stringContaining('there is acme') },
      });
      expect(step.started).toEqual([]);
    },
  );
});
