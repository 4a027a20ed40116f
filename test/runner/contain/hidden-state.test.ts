import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { captureOutput } from '../../../runner/contain/capture-output.js';
import { detectContainment } from '../../../runner/contain/detect-containment.js';
import { enterNamespace } from '../../../runner/contain/namespace-tree.js';
import type { FixedFolder } from '../../../runner/contain/process.js';
import { namespaceCommand, startProcess } from '../../../runner/contain/start-process.js';
import { CompiledRunner, orderFor, users } from './compiled-daemon.js';
import { Bench, forms, nextLine, realClock } from './workbench.js';

let runner: CompiledRunner;
let bench: Bench;

beforeAll(() => {
  runner = new CompiledRunner();
});

afterAll(() => runner.close());

beforeEach(() => {
  bench = new Bench();
});

afterEach(() => bench.close());

const READ_ALL_ENVIRONMENTS = 'cat /proc/[0-9]*/environ | tr "\\0" "\\n" | grep -c TRACKER_TOKEN=canary';
const asNestedRoot = 'unshare --user --map-root-user';

describe.runIf(forms.includes('pidns')).each(users)('in a namespace of %s', (user) => {
  test('SEC-9b SEC-12 the state and the environment of the daemon are not there, and sandboxes still work', async () => {
    const { state } = bench;
    const scripts = [
      `cat ${state}/token; ls -A ${state}; touch ${state}/x`,
      READ_ALL_ENVIRONMENTS,
      `${asNestedRoot} --mount umount ${state} || ${asNestedRoot} --mount umount -l /proc || echo locked`,
      `${asNestedRoot} true && ${asNestedRoot} --pid --fork --mount-proc ls -d /proc/1`,
      'id -u; kill -KILL 1; kill -STOP 1; echo alive',
    ];

    const { kind, runs } = await runner.answers(user, orderFor(bench, user, { scripts }));

    expect(kind).toBe('pidns');
    expect(runs.map(({ stdout }) => stdout)).toEqual([
      '',
      '0\n',
      'locked\n',
      '/proc/1\n',
      expect.stringMatching(user === 'root' ? /^0\nalive/ : /^[1-9]\d*\nalive/),
    ]);
    expect(runs.every(({ stop }) => stop.gone)).toBe(true);
  });

  test(`SEC-9b what is hidden ${user === 'root' ? 'can be uncovered by root, as documented' : 'cannot be uncovered: no capability is left'}`, async () => {
    const { state } = bench;
    const scripts = ['grep CapEff /proc/self/status', `umount ${state}; cat ${state}/token`];

    const { runs } = await runner.answers(user, orderFor(bench, user, { scripts }));

    const [capabilities, token] = runs.map(({ stdout }) => stdout.trim());
    expect(/^CapEff:\t0+$/.test(capabilities ?? '')).toBe(user !== 'root');
    expect(token).toBe(user === 'root' ? 'secret-token' : '');
  });

  test('SEC-9b no descriptor that the daemon has inherited leads to the state', async () => {
    const scripts = ['for fd in /proc/self/fd/*; do cat "$fd/token" 2>/dev/null; done; echo end'];

    const { runs } = await runner.answers(user, orderFor(bench, user, { scripts }));

    expect(runs[0]?.stdout).toBe('end\n');
  });

  test('a required namespace that does not work is an error with advice; otherwise the fallback states it', async () => {
    const must = await runner.answers(user, orderFor(bench, user, { isolation: 'pidns', forbidden: true }));
    const auto = await runner.answers(user, orderFor(bench, user, { forbidden: true, scripts: ['echo runs'] }));

    expect(must).toMatchObject({
      kind: 'isolation_unavailable',
      reason: expect.stringContaining('set runtime.isolation to auto'),
    });
    expect(auto).toMatchObject({
      kind: 'none',
      reason: expect.stringContaining('agents can read the state directory'),
    });
    expect(auto.runs[0]?.stdout).toBe('runs\n');
  });
});

describe.runIf(forms.includes('pidns'))('while a command runs in a namespace', () => {
  test('the host still sees its state directory, and no mount leaks to it', async () => {
    const child = await bench.spawn(await bench.containment('pidns'), `echo ready; cat; ls -A ${bench.state}`);
    await nextLine(child, 'ready');

    expect(readFileSync(join(bench.state, 'token'), 'utf8')).toBe('secret-token');
    expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(bench.root);
  });

  test('SEC-9b a state directory that was moved away is not treated as hidden: nothing starts', async () => {
    const containment = await bench.containment('pidns');
    renameSync(bench.state, join(bench.root, 'moved'));
    await expect(bench.spawn(containment, 'true')).rejects.toMatchObject({
      code: 'spawn_failed',
      message: expect.stringContaining('cannot hide'),
    });

    mkdirSync(bench.state);
    await expect(bench.spawn(containment, 'true')).rejects.toMatchObject({ code: 'spawn_failed' });
  });

  test('a workspace inside a hidden directory is refused instead of being hidden with it', async () => {
    const containment = await bench.containment('pidns');

    const inside = bench.spawn(containment, 'true', { cwd: bench.state });

    await expect(inside).rejects.toMatchObject({
      code: 'spawn_failed',
      message: expect.stringContaining('workspace.root'),
    });
  });

  test('SEC-9b a tool planted in the PATH of an agent is not used to build its namespace', async () => {
    const planted = join(bench.workspace, 'mount');
    const containment = await bench.containment('pidns');
    const plant = `for tool in mount setpriv unshare stat env bash; do printf '#!/bin/sh\\ntouch ${bench.workspace}/ran' >$tool; chmod +x $tool; done`;
    await (await bench.spawn(containment, plant)).exited;
    expect(readFileSync(planted, 'utf8')).toContain('ran');

    const child = await bench.spawn(containment, 'type -p mount; /bin/ls', { env: { PATH: bench.workspace } });

    const { stdout } = await captureOutput(child, { maxBytes: 10_000, clock: realClock, drainMs: 500 });
    expect(stdout).not.toContain('ran');
  });

  test('SEC-4 a workspace that is swapped after our last check is noticed inside, and nothing runs in it', async () => {
    const containment = await bench.containment('pidns');
    if (containment.kind !== 'pidns') throw new Error('no namespace');
    const touch = { file: 'touch', args: ['ran'], env: { PATH: process.env.PATH ?? '' } };
    const command = namespaceCommand(touch, { ...containment, fix: [], workspace: { dev: 1n, ino: 1n }, limits: null });
    const child = await startProcess(execa, command, {
      cwd: bench.workspace,
      stdin: 'ignore',
      report: true,
      channel: false,
    });

    await expect(enterNamespace(child, realClock)).rejects.toMatchObject({ code: 'workspace_changed' });
    expect(existsSync(join(bench.workspace, 'ran'))).toBe(false);
  });

  test('a folder around what is hidden that was swapped after our last check is noticed inside, and nothing runs', async () => {
    const containment = await bench.containment('pidns');
    if (containment.kind !== 'pidns') throw new Error('no namespace');
    const { dev, ino } = statSync(bench.workspace, { bigint: true });
    const touch = { file: 'touch', args: ['ran'], env: { PATH: process.env.PATH ?? '' } };
    const start = (fix: readonly FixedFolder[]) =>
      startProcess(execa, namespaceCommand(touch, { ...containment, fix, workspace: { dev, ino }, limits: null }), {
        cwd: bench.workspace,
        stdin: 'ignore',
        report: true,
        channel: false,
      });
    const link = join(bench.root, 'link');
    symlinkSync(bench.root, link);
    const real = statSync(bench.root, { bigint: true });

    for (const path of [bench.root, link, join(bench.root, 'missing')]) {
      const folder = path === bench.root ? { path, dev: 1n, ino: 1n } : { path, dev: real.dev, ino: real.ino };
      const entered = enterNamespace(await start([folder]), realClock);
      await expect(entered, path).rejects.toMatchObject({ code: 'spawn_failed' });
    }
    expect(existsSync(join(bench.workspace, 'ran'))).toBe(false);
  });

  test('folders with blanks, backslashes and other signs in their names can be hidden and fixed', async () => {
    const state = join(bench.root, 'a b\\040#', '#\t\n"é\'', 'state');
    mkdirSync(state, { recursive: true });
    writeFileSync(join(state, 'token'), 'secret-token');
    const containment = await detectContainment({ isolation: 'pidns', hide: [state], clock: realClock });

    const script = 'cat ../a*/*/state/token; mv ../a* ../b; cd ../a*; mv * c; ls .. | cat; [ -e c ] || echo stays';
    const { stdout } = await captureOutput(await bench.spawn(containment, script), {
      maxBytes: 1_000,
      clock: realClock,
      drainMs: 500,
    });

    expect(stdout).toBe('a b\\040#\nstate\nworkspace\nstays\n');
  });

  test('init.sh does nothing unless it is the first process of a namespace', () => {
    const init = fileURLToPath(new URL('../../../runner/contain/init.sh', import.meta.url));

    const { stdout, stderr, status } = spawnSync('bash', [init, '1:1', '--', 'echo', 'ran'], { encoding: 'utf8' });

    expect({ stdout, stderr, status }).toEqual({
      stdout: '',
      stderr: 'init.sh must be PID 1 of a namespace\n',
      status: 125,
    });
  });
});

test('a directory to hide that does not exist is refused at the start, not found missing later', async () => {
  rmSync(bench.state, { recursive: true });

  await expect(bench.containment('auto')).rejects.toThrow(/create it first/);
});

test('without a namespace an agent can read the state and the environment of the daemon, as documented', async () => {
  const order = orderFor(bench, users[0] ?? 'root', {
    isolation: 'none',
    scripts: [`cat ${bench.state}/token`, READ_ALL_ENVIRONMENTS],
  });

  const { runs } = await runner.answers(users[0] ?? 'root', order);

  expect(runs[0]?.stdout).toBe('secret-token');
  expect(Number(runs[1]?.stdout)).toBeGreaterThan(0);
});
