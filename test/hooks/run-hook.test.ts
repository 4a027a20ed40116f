import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { abortsOnFailure, runHook } from '../../hooks/run-hook.js';
import { captureOutput } from '../../runner/contain/capture-output.js';
import type { ContainedProcess, ExitStatus, StopResult } from '../../runner/contain/process.js';
import { environmentFor } from '../../runner/environment.js';
import { BatonError } from '../../src/domain/errors.js';
import { tempFolder } from '../runner/workspace/temp-folder.js';
import { FakeClock } from '../support/fake-clock.js';
import { isAlive, readOutput, type ScriptProcess, startScript } from '../support/hook-process.js';

const TIMEOUT_MS = 60_000;

async function setUp(script: string, variables: { readonly [name: string]: string } = {}) {
  const cwd = await tempFolder();
  const clock = new FakeClock();
  const abort = new AbortController();
  const started = deferred<ScriptProcess>();
  const request = {
    name: 'before_run' as const,
    script,
    timeoutMs: TIMEOUT_MS,
    clock,
    signal: abort.signal,
    spawn: async (text: string) => {
      const base = { PATH: process.env.PATH };
      const { env } = environmentFor('hook', {
        ...{ base, policy: 'allowlist', allow: [], hookAllow: [], secretNames: [] },
        extra: variables,
      });
      const child = await startScript(text, { cwd, env });
      started.resolve(child);
      return child;
    },
    capture: readOutput,
  };
  return { cwd, clock, abort, started: started.promise, request };
}

function deferred<T>() {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** Resolves with the first line that the script prints, as proof that it runs. */
const firstLine = (child: ScriptProcess) =>
  new Promise<string>((resolve) => child.stdout.once('data', (chunk) => resolve(String(chunk).trim())));

test('S2-12 S2-14 S2-16 S2-18 only failures of after_create and before_run abort the run', () => {
  const names = ['after_create', 'before_run', 'after_run', 'before_remove'] as const;

  expect(names.map(abortsOnFailure)).toEqual([true, true, false, false]);
});

test('a hook that survives SIGKILL is reported while it lives, and its result waits for its end', async () => {
  const { request, clock } = await setUp('');
  const [ended, reported] = [deferred<ExitStatus>(), deferred<readonly number[]>()];
  const whenGone = ended.promise.then(() => {});
  const [stdout, stderr] = [Readable.from([]), Readable.from([])];
  const stop = async (): Promise<StopResult> => {
    reported.resolve([17]);
    await whenGone;
    return { gone: false, survivors: [17], whenGone };
  };
  const process: ContainedProcess = {
    pid: 17,
    stdin: null,
    channel: null,
    stdout,
    stderr,
    exited: ended.promise,
    stop,
  };

  const running = runHook<ContainedProcess, StopResult>({
    ...request,
    spawn: async () => process,
    capture: (child) => captureOutput(child, { maxBytes: 100, clock, drainMs: 0 }),
  });
  setImmediate(() => clock.advance(TIMEOUT_MS));

  expect(await reported.promise).toEqual([17]);
  ended.resolve({ code: null, signal: 'SIGKILL' });
  expect(await running).toMatchObject({ outcome: 'timeout', stopped: { gone: false } });
});

describe('a hook that ends by itself', () => {
  test('S2-20 runs in a shell in the workspace and succeeds with exit code 0', async () => {
    const { cwd, clock, request } = await setUp('x=$(pwd); echo "$x" | cat');

    const result = await runHook(request);

    expect(result).toMatchObject({ outcome: 'ok', output: { stdout: `${cwd}\n` }, stopped: { gone: true } });
    expect(clock.pendingTimers).toBe(0);
  });

  test('fails with its exit code and the last lines of stderr', async () => {
    const { request } = await setUp('echo out; for i in 1 2 3 4 5 6 7; do echo "line $i" >&2; done; exit 3');

    const result = await runHook(request);

    expect(result.outcome).toBe('failed');
    expect(result).toMatchObject({ error: { code: 'hook_failed' } });
    expect(result).toHaveProperty(
      'error.message',
      'hook before_run exited with code 3:\nline 3\nline 4\nline 5\nline 6\nline 7',
    );
  });

  test('reports stdout when stderr is empty, and says that there is no output when both are', async () => {
    const loud = await runHook((await setUp('echo why; exit 1')).request);
    const silent = await runHook((await setUp('exit 1')).request);

    expect(loud).toHaveProperty('error.message', 'hook before_run exited with code 1:\nwhy');
    expect(silent).toHaveProperty('error.message', 'hook before_run exited with code 1 and printed nothing');
  });

  test('fails when a signal ends it', async () => {
    const result = await runHook((await setUp('kill -TERM $$')).request);

    expect(result).toHaveProperty('error.message', 'hook before_run was ended by SIGTERM and printed nothing');
  });

  test('its background processes end with it', async () => {
    const { request } = await setUp('sleep 1000 >/dev/null 2>&1 & echo $!');

    const result = await runHook(request);

    expect(result.outcome).toBe('ok');
    expect(isAlive(Number(result.output?.stdout))).toBe(false);
  });

  test('SEC-13 a background process that holds stdout does not delay the run', async () => {
    const { clock, started, request } = await setUp('sleep 1000 & echo $!');
    const capture = (child: ScriptProcess) =>
      captureOutput({ ...child, stdin: null, channel: null }, { maxBytes: 1000, clock, drainMs: 500 });

    const running = runHook({ ...request, capture });
    const child = await started;
    await Promise.all([firstLine(child), child.exited]);
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(500);
    const result = await running;

    expect(result.outcome).toBe('ok');
    expect(isAlive(Number(result.output?.stdout))).toBe(false);
  });

  test('a script that ended in time succeeds, however long its output takes to drain', async () => {
    const { clock, started, request } = await setUp('exit 0');
    const drained = deferred<void>();
    const capture = async (child: ScriptProcess) => {
      const output = await readOutput(child);
      await drained.promise;
      return output;
    };

    const running = runHook({ ...request, capture });
    await (await started).exited;
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(TIMEOUT_MS);
    drained.resolve();

    expect((await running).outcome).toBe('ok');
  });
});

describe('a hook is stopped', () => {
  test('S2-19 S2-21 SEC-13 after its timeout, and its whole process tree is dead before the result', async () => {
    const { clock, started, request } = await setUp('trap "" TERM; sleep 1000 & echo $!; wait');
    const running = runHook(request);
    const child = await started;
    const background = Number(await firstLine(child));

    clock.advance(TIMEOUT_MS - 1);
    expect(isAlive(child.pid)).toBe(true);
    clock.advance(1);
    const result = await running;

    expect(result).toMatchObject({ outcome: 'timeout', error: { code: 'hook_timeout' }, stopped: { gone: true } });
    expect(result).toHaveProperty('error.message', expect.stringContaining('took longer than 60000 ms'));
    expect([isAlive(child.pid), isAlive(background)]).toEqual([false, false]);
  });

  test('by an abort of its run', async () => {
    const { clock, abort, started, request } = await setUp('echo up; sleep 1000');
    const running = runHook(request);
    const child = await started;
    await firstLine(child);

    abort.abort('terminal');

    expect((await running).outcome).toBe('cancelled');
    expect(isAlive(child.pid)).toBe(false);
    expect(clock.pendingTimers).toBe(0);
  });

  test('by an abort during its start', async () => {
    const { abort, started, request } = await setUp('sleep 1000');
    const spawn = async (script: string) => {
      const child = await request.spawn(script);
      abort.abort('shutdown');
      return child;
    };

    const result = await runHook({ ...request, spawn });

    expect(result.outcome).toBe('cancelled');
    expect(isAlive((await started).pid)).toBe(false);
  });

  test('before its start, so that no process starts', async () => {
    const { cwd, abort, request } = await setUp('touch started');
    abort.abort('shutdown');

    expect(await runHook(request)).toEqual({ outcome: 'cancelled', output: null, stopped: null });
    expect(await readdir(cwd)).toEqual([]);
  });
});

describe('a hook that cannot be started or read', () => {
  test('returns the error of the spawn', async () => {
    const { request } = await setUp('exit 0');
    const refusal = new BatonError('workspace_changed', 'swapped');

    const result = await runHook({ ...request, spawn: () => Promise.reject(refusal) });

    expect(result).toEqual({ outcome: 'failed', error: refusal, output: null, stopped: null });
  });

  test('fails when its output cannot be read, and its process is stopped', async () => {
    const { started, request } = await setUp('sleep 1000');

    const result = await runHook({ ...request, capture: () => Promise.reject(new Error('broken pipe')) });

    expect(result).toMatchObject({ outcome: 'failed', error: { message: 'broken pipe' } });
    expect(isAlive((await started).pid)).toBe(false);
  });
});

test('SEC-10 a hostile title is not executed', async () => {
  const title = '$(touch pwned) `touch pwned` "; touch pwned; \n\' touch pwned';
  const { cwd, request } = await setUp('printf %s "$BATON_ISSUE_TITLE"', { BATON_ISSUE_TITLE: title });

  const result = await runHook(request);

  expect(result.output?.stdout).toBe(title);
  expect(await readdir(join(cwd))).toEqual([]);
});
