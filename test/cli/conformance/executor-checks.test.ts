import { randomUUID } from 'node:crypto';
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { detectContainment } from '../../../runner/contain/detect-containment.js';
import { findMarked } from '../../../runner/contain/marker-sweep.js';
import { spawnContained } from '../../../runner/contain/spawn-contained.js';
import type { CheckResult } from '../../../src/cli/conformance/checks.js';
import { checkExecutor, EXECUTOR_CHECKS, type ExecutorHost } from '../../../src/cli/conformance/executor-checks.js';
import type { JsonObject } from '../../../src/domain/json.js';
import type { ExecutorDefinition } from '../../../src/domain/steps/plan.js';
import { livingWith, realClock } from '../../runner/contain/workbench.js';
import { bash, definition, externalStep, newNonce, script } from '../../runner/executors/external/external-step.js';
import { testStep } from '../../support/step-context.js';

interface Trial {
  readonly results: readonly CheckResult[];
  /** The names of the checks with this mark. */
  marked(mark: CheckResult['mark']): readonly string[];
  reason(name: string): string;
}

async function hostFor(signal = new AbortController().signal): Promise<ExecutorHost> {
  const { context, workspace } = await testStep();
  const containment = await detectContainment({ isolation: 'none', hide: [], clock: realClock });
  const stateDir = join(context.tmpDir, 'state');
  mkdirSync(stateDir);
  return {
    ...context,
    signal,
    run: { id: 'conformance', stepIndex: 0, stateDir, root: null, taskId: 'conformance' },
    async start(program) {
      const marker = randomUUID();
      const { dev, ino } = statSync(workspace);
      const process = await spawnContained({ ...program, marker, cwd: workspace, identity: { dev, ino } }, containment);
      return { process, living: async () => (await findMarked(marker)).length };
    },
  };
}

async function trial(
  changes: Partial<ExecutorDefinition>,
  { limitMs = 10_000, termMs = 3_000, input = {} as JsonObject } = {},
): Promise<Trial> {
  const results: CheckResult[] = [];
  const suite = checkExecutor(definition(changes), await hostFor(), { input, limitMs, termMs, settleMs: 150 });
  for await (const result of suite) results.push(result);
  return {
    results,
    marked: (mark) => results.filter((one) => one.mark === mark).map(({ name }) => name),
    reason: (name) => results.find((one) => one.name === name)?.reason ?? 'not there',
  };
}

const ALL = EXECUTOR_CHECKS.map(({ name }) => name);

test('S0-65 S0-66 an executor that reads its input and exits with 0 keeps the protocol', async () => {
  const { marked, reason } = await trial(bash('cat >/dev/null'));

  expect(marked('failed')).toEqual([]);
  expect(marked('passed')).toEqual(ALL.filter((name) => name !== 'nonsense'));
  expect(reason('nonsense')).toBe('it exited with code 0');
});

test('S0-65 S0-66 an executor that parses its input and uses known members keeps the protocol', async () => {
  const { marked, reason } = await trial({ command: process.execPath, args: [script('parses.mjs')] });

  expect(marked('failed')).toEqual([]);
  expect(reason('nonsense')).toBe('it exited with code 65');
});

test('S0-32 an executor that does not read fails every check that sends a whole input', async () => {
  const { marked, reason } = await trial(bash('exit 0'));

  expect(marked('passed')).toEqual([]);
  expect(marked('failed')).toEqual(ALL.filter((name) => name !== 'nonsense'));
  expect(reason('large')).toContain('did not read its input to the end');
});

test('an executor that reads only once fails the checks with large and slow inputs', async () => {
  const { marked } = await trial({ command: process.execPath, args: [script('reads-once.mjs')] });

  expect(marked('failed')).toEqual(expect.arrayContaining(['large', 'slow', 'stops']));
});

test('S0-65 an executor with a strict schema fails on unknown and on missing members', async () => {
  const { marked } = await trial({ command: process.execPath, args: [script('strict.mjs')] });

  expect(marked('failed')).toEqual(['bare', 'unknown_members']);
});

test('S0-66 an executor that exits with 7 fails, and the reason quotes its stderr', async () => {
  const { marked, reason } = await trial(bash('cat >/dev/null; echo first >&2; echo no licence >&2; exit 7'));

  expect(marked('failed')).toContain('drains');
  expect(reason('drains')).toBe('it exited with code 7: no licence');
});

test('an executor may open /dev/stdin', async () => {
  const { marked } = await trial(bash('cat /dev/stdin >/dev/null'));

  expect(marked('failed')).toEqual([]);
});

test('an executor that leaves a process behind fails, and the process is ended', async () => {
  const nonce = newNonce();

  const { marked, reason } = await trial(bash('cat >/dev/null; setsid sleep "3600.$1" >/dev/null 2>&1 &', nonce));

  expect(marked('failed')).toEqual(['leaves_nothing']);
  expect(reason('leaves_nothing')).toBe('it left 1 process behind');
  expect(livingWith(nonce)).toEqual([]);
});

test('an executor that ignores SIGTERM fails and is killed', async () => {
  const nonce = newNonce();
  const text =
    'trap "" TERM; if [[ $BATON_CONFORMANCE == stops ]]; then while :; do sleep 0.05; : "$1"; done; fi; cat >/dev/null';

  const { marked } = await trial(bash(text, nonce), { termMs: 200 });

  expect(marked('failed')).toEqual(['stops']);
  expect(livingWith(nonce)).toEqual([]);
});

test('an executor that never ends fails at the limit', async () => {
  const { marked, reason } = await trial(bash('cat >/dev/null; exec sleep 3600'), { limitMs: 100 });

  expect(marked('failed')).toContain('drains');
  expect(reason('drains')).toBe('it was still at work after 0.1 s');
});

test('an executor gets the given input and the name of the check', async () => {
  const text = '[[ $(cat) == *\'"input":{"summary":"x"}\'* && -n $BATON_CONFORMANCE ]] || exit 1';

  const { marked } = await trial(bash(text), { input: { summary: 'x' } });

  expect(marked('failed')).toEqual([]);
});

test('S0-42 an executor that cannot be started is one failed check', async () => {
  const { results } = await trial({ command: 'no-such-program' });

  expect(results).toMatchObject([{ name: 'drains', mark: 'failed', reason: expect.stringContaining('PATH is') }]);
});

test('an interrupted test ends its processes and yields no more results', async () => {
  const controller = new AbortController();
  const nonce = newNonce();
  const host = await hostFor(controller.signal);
  const start: ExecutorHost['start'] = async (...args) => {
    const started = await host.start(...args);
    started.process.stdout.once('data', () => controller.abort());
    return started;
  };
  const options = { input: {}, limitMs: 10_000, termMs: 3_000, settleMs: 150 };
  const suite = checkExecutor(definition(bash('echo up; exec sleep "3600.$1"', nonce)), { ...host, start }, options);

  expect(await suite.next()).toEqual({ value: undefined, done: true });
  expect(livingWith(nonce)).toEqual([]);
});

test('S0-66 the fixture: drained and exit 0 is a success; drained, stderr and exit 7 a failure with code and text', async () => {
  const good = await externalStep({ definition: bash('cat >/dev/null') });
  const bad = await externalStep({ definition: bash('cat >/dev/null; echo bad request >&2; exit 7') });

  expect(await good.run()).toMatchObject({ state: 'success', output: { exit_code: 0 } });
  expect(await bad.run()).toMatchObject({
    state: 'failed',
    error: { code: 'AGENT_INVOCATION_FAILED', message: 'bad request' },
  });
});
