import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ControlGroups, ownGroup, pathsOfGroup } from '../../../runner/contain/control-groups.js';
import { delegatedGroup, groupRoot, processesIn } from '../../support/control-group.js';

describe('where the group of the daemon is', () => {
  test('the line of cgroup v2 names it; the lines of v1 do not', () => {
    expect(ownGroup('8:pids:/a\n0::/user.slice/baton.service\n')).toBe('/user.slice/baton.service');
    expect(ownGroup('8:pids:/a\n1:name=systemd:/b\n')).toBe(null);
  });

  test.each([
    ['35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate', ['/sys/fs/cgroup/a/b']],
    ['35 24 0:30 /a /mnt/my\\040groups rw - cgroup2 none rw', ['/mnt/my groups/b']],
    ['35 24 0:30 /ab /mnt rw - cgroup2 none rw', []],
    ['35 24 0:30 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids', []],
  ])('a mount shows it as far as it reaches: %s', (line, paths) => {
    expect(pathsOfGroup('/a/b', `24 1 0:22 / /sys rw - sysfs sysfs rw\n${line}\n`)).toEqual(paths);
  });
});

describe.skipIf(groupRoot === null)('the group of the daemon, divided', () => {
  const begin = () => {
    const folder = delegatedGroup();
    return { folder, takeOver: () => ControlGroups.takeOver({ folder, paths: [folder], controllers: [] }) };
  };
  const limits = { processes: 100, memoryMb: 100, cpuWeight: 50 };

  test('its processes move into a group below it, and it is hidden from runs as a whole', async () => {
    const { folder, takeOver } = begin();
    const daemon = sleeper();
    writeFileSync(join(folder, 'cgroup.procs'), `${daemon.pid}`);

    const groups = await takeOver();

    expect(processesIn(folder)).toEqual([]);
    expect(processesIn(join(folder, 'baton-daemon'))).toEqual([daemon.pid]);
    expect(groups.hide.map(({ path }) => path)).toEqual([folder]);
  });

  test('a process joins the group of its run below the limits, and the end of the run ends it', async () => {
    const groups = await begin().takeOver();
    const file = await groups.create('run-1', limits);
    const child = spawn('bash', ['-c', `echo 0 > ${file}; echo joined; (exec -a escaped sleep 60) & sleep 60`]);
    onTestFinished(() => void child.kill('SIGKILL'));
    const ended = endOf(child);
    await new Promise((resolve) => child.stdout.once('data', resolve));

    const events = await groups.remove('run-1');

    expect(await ended).toBe('SIGKILL');
    expect(events).toEqual({ killed: 0, refused: 0, hadProcesses: true });
    expect(existsSync(join(file, '../..'))).toBe(false);
  });

  test('a run without processes says so', async () => {
    const groups = await begin().takeOver();
    await groups.create('run-1', limits);

    expect(await groups.remove('run-1')).toMatchObject({ hadProcesses: false });
  });

  test('groups of a killed daemon are removed with the groups that its runs have made in them; others stay', async () => {
    const { folder, takeOver } = begin();
    for (const name of ['baton-run-old', 'baton-run-old/in', 'baton-run-old/in/nested', 'other'])
      mkdirSync(join(folder, name));
    const left = sleeper();
    writeFileSync(join(folder, 'baton-run-old/in/cgroup.procs'), `${left.pid}`);

    await takeOver();

    expect(await endOf(left)).toBe('SIGKILL');
    expect([existsSync(join(folder, 'baton-run-old')), existsSync(join(folder, 'other'))]).toEqual([false, true]);
  });
});

function sleeper(): ChildProcess {
  const child = spawn('sleep', ['60'], { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

function endOf(child: ChildProcess): Promise<NodeJS.Signals | null> {
  if (child.signalCode !== null) return Promise.resolve(child.signalCode);
  return new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)));
}
