import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { LimitSettings } from '../../runner/contain/process.js';
import { CompiledRunner, orderFor, users } from '../runner/contain/compiled-daemon.js';
import { Bench, forms } from '../runner/contain/workbench.js';
import { delegatedGroup, groupControllers, groupRoot } from '../support/control-group.js';

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

const limits = (changes: Partial<LimitSettings>): LimitSettings => ({
  maxProcesses: null,
  maxMemoryMb: 0,
  cpuWeight: 50,
  ...changes,
});

/** Tries to start 300 processes, and prints how many of them it could start. The shell would wait and try again. */
const BOMB = `perl -e 'for (1..300) { my $pid = fork; if (!defined $pid) { $last = $!; next } sleep 60, exit if !$pid; push @all, $pid } print scalar(@all), " $last"; kill 9, @all'`;
/** Keeps a line of a gigabyte in memory, then prints its length. */
const HOG = 'head -c 1G /dev/zero | tail -n 1 | wc -c';

describe('without a control group', () => {
  test.runIf(forms.includes('pidns'))(
    'SEC-38 a command of an ordinary user cannot start more processes than its run may have',
    async () => {
      const order = orderFor(bench, 'an ordinary user', { limits: limits({ maxProcesses: 100 }), scripts: [BOMB] });

      const { means, runs } = await runner.answers('an ordinary user', order);

      expect(means?.countsPerCommand).toBe(true);
      expect(runs[0]?.stdout).toMatch(/^9\d Resource temporarily unavailable$/);
      expect(runs[0]?.stop.gone).toBe(true);
    },
  );

  describe.each(forms)('with %s', (isolation) => {
    test.each(users)('SEC-38 a process of %s that takes more memory than was set ends', async (user) => {
      const order = { isolation, limits: limits({ maxMemoryMb: 400 }), scripts: [HOG, 'echo fine'] };

      const { runs } = await runner.answers(user, orderFor(bench, user, order));

      expect(runs[0]?.stdout).toBe('0\n');
      expect(runs[0]?.stderr).toContain('memory exhausted');
      expect(runs[1]).toMatchObject({ stdout: 'fine\n', warnings: [] });
    });

    test.each(users)('Node.js with WebAssembly works for %s under a limit that they do not need', async (user) => {
      const reserve = `${runner.node(user)} -e 'new WebAssembly.Memory({ initial: 1, maximum: 65536 }); console.log("node")'`;
      const order = { isolation, limits: limits({ maxMemoryMb: 2_000 }), scripts: [reserve] };

      const { runs } = await runner.answers(user, orderFor(bench, user, order));

      expect(runs[0]?.stdout).toBe('node\n');
    });
  });
});

/** What the group of a test needs: root to make it, and a system without cgroup v1 controllers. systemd enables `cpu` on demand only. */
const isGroupable = ['pids', 'memory'].every((name) => groupControllers.includes(name));

describe.skipIf(!isGroupable).each(users)('with a control group of %s', (user) => {
  const run = (changes: Partial<LimitSettings>, scripts: readonly string[], isolation: 'auto' | 'none' = 'auto') => {
    const group = delegatedGroup(user);
    return runner.answers(user, orderFor(bench, user, { isolation, group, limits: limits(changes), scripts }));
  };

  test.each(['auto', 'none'] as const)(
    'SEC-38 with %s a run cannot start more processes than it may have',
    async (isolation) => {
      const { runs } = await run({ maxProcesses: 100 }, [BOMB], isolation);

      expect(runs[0]?.stdout).toMatch(/^[89]\d Resource temporarily unavailable$/);
      expect(runs[0]?.reached?.code).toBe('processes_exceeded');
    },
  );

  test('SEC-38 a run cannot take more memory than it may have, also not in several processes', async () => {
    const { runs } = await run({ maxMemoryMb: 200 }, [
      HOG,
      `${HOG.replace('1G', '120M')} & ${HOG.replace('1G', '120M')}; wait`,
    ]);

    expect(runs.map(({ reached }) => reached?.code)).toEqual(['memory_exceeded', 'memory_exceeded']);
  });

  test('SEC-38 the limits of the settings are those of the kernel', async () => {
    const weighed = groupControllers.includes('cpu');
    const files = `pids.max memory.max ${weighed ? 'cpu.weight' : ''}`;

    const { runs } = await run(
      { maxProcesses: 100, maxMemoryMb: 200, cpuWeight: 30 },
      [`cd ${groupRoot}$(cut -d: -f3 /proc/self/cgroup)/.. && cat ${files}`],
      'none',
    );

    expect(runs[0]?.stdout).toBe(`100\n209715200\n${weighed ? '30\n' : ''}`);
  });

  test('SEC-38 the next run has its own group, and the last one is gone', async () => {
    const { runs } = await run({}, ['cat /proc/self/cgroup', 'cat /proc/self/cgroup']);

    const [first = '', second = ''] = runs.map(({ stdout }) => stdout.trim());
    expect(first).toMatch(/baton-run-.*-0\/in$/);
    expect(second).toMatch(/baton-run-.*-1\/in$/);
    expect(existsSync(join(groupRoot ?? '', first.replace('0::', '')))).toBe(false);
    expect(runs.flatMap(({ warnings }) => warnings)).toEqual([]);
  });

  test.runIf(forms.includes('pidns') && user !== 'root')(
    'SEC-38 a run cannot leave its group or change its limits',
    async () => {
      const own = `folder=${groupRoot}$(cut -d: -f3 /proc/self/cgroup)`;
      const nested =
        'mkdir m; mount -t cgroup2 none m && find m -name pids.max -o -name "memory.max"; ls m | grep -c procs';

      const { runs } = await run({ maxProcesses: 100 }, [
        `${own}; echo 0 > "$folder/../../baton-daemon/cgroup.procs" && echo left; echo max > "$folder/../pids.max" && echo raised`,
        `${own}; ls -A "$folder/../.." "$folder/.."; unshare --user --map-root-user --mount umount "$folder/../.." && echo uncovered`,
        `unshare --user --map-root-user --mount --cgroup bash -c '${nested}'`,
      ]);

      expect(runs.map(({ stdout }) => stdout.trim())).toEqual(['', '', '1']);
    },
  );
});
