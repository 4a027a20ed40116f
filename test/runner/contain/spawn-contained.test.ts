import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { captureOutput } from '../../../runner/contain/capture-output.js';
import type { ContainedProcess, Containment, SpawnSpec } from '../../../runner/contain/process.js';
import { spawnContained } from '../../../runner/contain/spawn-contained.js';
import { Bench, forms, nextLine, realClock } from './workbench.js';

let bench: Bench;

beforeEach(() => {
  bench = new Bench();
});

afterEach(() => bench.close());

const capture = (child: ContainedProcess) =>
  captureOutput(child, { maxBytes: 100_000, clock: realClock, drainMs: 500 });

/** This process can open no further descriptor. The process that restores the limit must run before. */
async function takeDescriptorsAway(): Promise<() => Promise<void>> {
  const limit = `prlimit --pid ${process.pid} --nofile`;
  const script = `old=$(${limit} --noheadings --output SOFT); ${limit}=3: && echo; read -r; ${limit}=$old:`;
  const helper = spawn('bash', ['-c', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  await once(helper.stdout, 'data');
  return async () => {
    helper.stdin.end('\n');
    await once(helper, 'exit');
  };
}

describe.each(forms)('with isolation %s', (isolation) => {
  let containment: Containment;

  beforeEach(async () => {
    containment = await bench.containment(isolation);
  });

  const run = async (script: string, changes?: Partial<SpawnSpec>) =>
    capture(await bench.spawn(containment, script, changes));

  test.each([
    ['exit 0', { code: 0, signal: null }],
    ['exit 7', { code: 7, signal: null }],
    ['exit 137', { code: 137, signal: null }],
    ['exit 143', { code: 143, signal: null }],
    ['exit 255', { code: 255, signal: null }],
    ['bash -c "kill -KILL \\$\\$"; exit $?', { code: 137, signal: null }],
    ['kill -INT $$', { code: null, signal: 'SIGINT' }],
    ['kill -KILL $$', { code: null, signal: 'SIGKILL' }],
    ['kill -TERM $$', { code: null, signal: 'SIGTERM' }],
    ['kill -ABRT $$', { code: null, signal: 'SIGABRT' }],
    ['kill -IO $$', { code: null, signal: 'SIGIO' }],
    ['no-such-command-here', { code: 127, signal: null }],
  ])('a command that ends with `%s` has the status %o', async (script, status) => {
    expect((await run(script)).status).toEqual(status);
  });

  test.each(['POSIXLY_CORRECT', 'POSIX_PEDANTIC'])('%s does not make a signal of an exit code', async (name) => {
    const { status } = await run('exit 137', { env: { ...bench.spec('').env, [name]: '1' } });

    expect(status).toEqual({ code: 137, signal: null });
  });

  test('only the command itself warns of a locale that is not installed', async () => {
    const { stderr } = await run('exit 0', { env: { ...bench.spec('').env, LC_ALL: 'xx_XX.UTF-8' } });

    expect(stderr.match(/setlocale/g)).toHaveLength(1);
  });

  // Node.js reports exit code 0 for such an end, so it is not known without a namespace.
  test.runIf(isolation === 'pidns')('a command that a realtime signal ends has no exit code', async () => {
    expect((await run('kill -34 $$')).status).toEqual({ code: null, signal: null });
  });

  test('the pid is that of the command, as the host sees it', async () => {
    const child = await bench.spawn(containment, `exec sleep 1000.${bench.nonce}`);

    const commandLine = () => readFileSync(`/proc/${child.pid}/cmdline`, 'latin1');
    await vi.waitFor(() => expect(commandLine()).toBe(['sleep', `1000.${bench.nonce}`, ''].join('\0')), 10_000);
  });

  test('an agent that closes its stdout or its stdin and continues is noticed', async () => {
    execFileSync('mkfifo', [join(bench.workspace, 'go')]);
    const child = await bench.spawn(containment, 'exec <&-; exec >&-; read -r line < go');

    const ended = once(child.stdout.resume(), 'end');
    const refused = child.stdin && once(child.stdin, 'error');
    await ended;
    child.stdin?.write('x');

    expect(await refused).toMatchObject([{ code: 'EPIPE' }]);
  });

  test('is recorded with the processes that hold its tree together, and its output before an early end is not lost', async () => {
    const told: { marker: string; pids: number[] }[] = [];
    const over: typeof told = [];
    const trace = {
      daemonMarker: 'daemon-1',
      started: async (marker: string, holders: readonly { pid: number }[]) => {
        told.push({ marker, pids: holders.map(({ pid }) => pid) });
        await new Promise(() => {}); // a disk that hangs
      },
      ended: (marker: string, holders: readonly { pid: number }[]) => {
        over.push({ marker, pids: holders.map(({ pid }) => pid) });
      },
    };
    const outputs = Array.from({ length: 10 }, async () => {
      const child = await bench.spawn({ ...containment, trace }, 'echo "said $BATON_DAEMON_MARKER"; exit 3');
      const output = await capture(child);
      await child.stop();
      return output;
    });

    expect((await Promise.all(outputs)).map(({ stdout }) => stdout)).toEqual(Array(10).fill('said daemon-1\n'));
    expect(told).toHaveLength(10);
    for (const { marker, pids } of told) {
      expect(marker).toBe(bench.marker);
      expect(pids).toHaveLength(isolation === 'pidns' ? 2 : 1);
    }
    expect(over).toEqual(expect.arrayContaining(told));
  });

  test('without a free descriptor nothing starts, and the daemon lives', async () => {
    await run('true'); // what is loaded with the first process is loaded now
    const lift = await takeDescriptorsAway();

    const failure = await bench.spawn(containment, 'true').catch((error: unknown) => error);
    await lift();

    expect(failure).toMatchObject({ code: 'spawn_failed', message: expect.stringContaining('EMFILE') });
    expect((await run('exit 7')).status.code).toBe(7);
  });

  test('without a free file descriptor a running process can still be ended, which frees some', async () => {
    const child = await bench.spawn(containment, `trap '' TERM; echo up; while :; do sleep 1000.${bench.nonce}; done`);
    await nextLine(child, 'up');
    const lift = await takeDescriptorsAway();

    const stopped = child.stop({ eofMs: 0, termMs: 50 });
    const status = await child.exited;
    await lift();

    expect(status).toEqual({ code: null, signal: 'SIGKILL' });
    expect(await stopped).toMatchObject({ gone: true });
    expect(bench.living()).toEqual([]);
  });

  test('concurrent failed starts do not affect each other', async () => {
    await run('true');
    const warnings: Error[] = [];
    const hear = (warning: Error) => void warnings.push(warning);
    process.on('warning', hear);
    const lift = await takeDescriptorsAway();

    await Promise.allSettled(Array.from({ length: 20 }, () => bench.spawn(containment, 'true')));
    await lift();
    process.off('warning', hear);

    expect(warnings).toEqual([]);
  });

  test('the end of one command is not the end of another of the same run', async () => {
    const other = await bench.spawn(containment, 'echo up; read -r word; echo "heard $word"');
    const heard = capture(other);
    await new Promise<void>((resolve) => void other.stdout.once('data', () => resolve()));
    const one = await bench.spawn(containment, 'setsid sleep 1000 & exit 0');

    await one.exited;
    const stopped = await one.stop();
    other.stdin?.end('you\n');

    expect(stopped).toMatchObject({ gone: true });
    expect(await heard).toMatchObject({ stdout: 'up\nheard you\n', status: { code: 0 } });
  });

  test('S2-40 S2-41 a command runs in its workspace, with stdin, and stdout and stderr apart', async () => {
    const child = await bench.spawn(containment, 'pwd; cat; echo oops >&2');
    child.stdin?.end('from the daemon');

    expect(await capture(child)).toMatchObject({
      stdout: `${bench.workspace}\nfrom the daemon`,
      stderr: 'oops\n',
      truncated: false,
    });
  });

  test('SEC-12 the environment consists of the given variables and the markers; nothing is inherited', async () => {
    const env = {
      PATH: '/usr/bin:/bin',
      HOME: bench.workspace,
      LD_LIBRARY_PATH: '/nowhere',
      'odd@name': 'a b',
      child: '1',
    };
    const { stdout } = await run('env -u PWD -u SHLVL -u _ | LC_ALL=C sort; echo "$SHLVL"', { env });

    const markers = { BATON_RUN_MARKER: bench.marker, BATON_TREE_MARKER: expect.anything() };
    const wanted = Object.entries({ ...env, PATH: expect.anything(), ...markers });
    const lines = stdout.trim().split('\n');
    expect(lines.map((line) => line.split('=')[0])).toEqual([...wanted.map(([name]) => name).sort(), '1']);
    expect(lines).toEqual(expect.arrayContaining(['LD_LIBRARY_PATH=/nowhere', 'odd@name=a b', 'child=1']));
  });

  test('SEC-12 a name that the login shell sets again is unset, and line numbers stay', async () => {
    writeFileSync(join(bench.workspace, '.profile'), 'export TRACKER_TOKEN=secret OTHER=kept');

    const { stdout } = await run('printenv TRACKER_TOKEN; echo "$OTHER $LINENO"', {
      unset: ['TRACKER_TOKEN', 'NOT_THERE'],
    });

    expect(stdout).toBe('kept 1\n');
  });

  test('a command starts with no signal ignored or blocked, and without the descriptor of the start pipe', async () => {
    const { stdout } = await run('grep -E "Sig(Ign|Blk)" /proc/self/status; ls /proc/$$/fd/3 || echo closed');

    expect(stdout.replace(/\s+/g, ' ')).toBe('SigBlk: 0000000000000000 SigIgn: 0000000000000000 closed ');
  });

  test.each([
    ['SEC-11 a NUL in a value', { env: { A: 'x\0y' } }, 'invalid_environment'],
    ['SEC-11 a value of 140 kB', { env: { A: 'x'.repeat(140_000) } }, 'invalid_environment'],
    ['SEC-11 over 100 kB in bytes, not characters', { env: { A: 'é'.repeat(50_001) } }, 'invalid_environment'],
    ['SEC-11 values too large together', { env: manyLargeValues() }, 'invalid_environment'],
    ['a name with an equals sign', { env: { 'A=B': 'x' } }, 'invalid_environment'],
    ['a name to unset that is shell text', { unset: ['A; touch x'] }, 'invalid_environment'],
    ['a script with a NUL', { script: 'echo \0' }, 'spawn_failed'],
    ['a script of 140 kB', { script: `: ${'x'.repeat(140_000)}` }, 'spawn_failed'],
  ])('%s is refused, and the daemon lives', async (_, changes, code) => {
    await expect(bench.spawn(containment, 'true', changes)).rejects.toMatchObject({ code });
  });

  test('a shell that is not there is a failed spawn', async () => {
    const broken = { ...containment, bash: '/nonexistent/bash' };

    await expect(bench.spawn(broken, 'true')).rejects.toMatchObject({ code: 'spawn_failed' });
  });

  test('SEC-18 writing to a process that closed its stdin or ended does not crash the daemon', async () => {
    const child = await bench.spawn(containment, 'exec <&-; echo closed');
    await nextLine(child, 'closed');
    child.stdin?.write('x'.repeat(1_000_000));
    await child.exited;
    child.stdin?.write('more');

    expect(await child.stop()).toMatchObject({ gone: true });
  });

  test.each([
    ['another directory', () => mkdirSync(bench.workspace)],
    ['a symlink to itself', () => symlinkSync(join(bench.root, 'moved'), bench.workspace)],
    ['a file', () => writeFileSync(bench.workspace, '')],
    ['nothing', () => {}],
  ])('SEC-4 a workspace that was swapped for %s is not run in', async (_, swap) => {
    const spec = bench.spec('touch ran');
    renameSync(bench.workspace, join(bench.root, 'moved'));
    swap();

    await expect(spawnContained(spec, containment)).rejects.toMatchObject({
      code: 'workspace_changed',
    });
  });
});

function manyLargeValues(): Record<string, string> {
  return Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`V${index}`, 'x'.repeat(99_000)]));
}
