import { describe, expect, test } from 'vitest';
import {
  commandLimits,
  countsByNamespace,
  explainedBy,
  type LimitMeans,
  limitsText,
  memoryLimitMb,
  reachedLimit,
} from '../../../runner/contain/run-limits.js';
import { failure, success } from '../../../src/domain/outcome.js';

const settings = { maxProcesses: 100, maxMemoryMb: 500, cpuWeight: 50 };
const group: LimitMeans = { controllers: ['pids', 'memory', 'cpu'], obstacle: null, countsPerCommand: true };
const noGroup: LimitMeans = { controllers: [], obstacle: 'no cgroup v2', countsPerCommand: true };
const root: LimitMeans = { ...noGroup, countsPerCommand: false };

test('a run gets three quarters of the memory, what is set, or all of it with 0', () => {
  const limit = (maxMemoryMb: number | null) => memoryLimitMb({ maxMemoryMb }, 4_001);

  expect([limit(null), limit(500), limit(0)]).toEqual([3_000, 500, null]);
});

describe('a command', () => {
  test.each([
    ['in the group of its run has no further limits', settings, group, 'file', null, null],
    ['outside of a group has its own', settings, noGroup, null, 100, 500],
    ['whose group could not be made has its own', settings, group, null, 100, 500],
    ['has what the group does not limit', settings, { ...group, controllers: ['cpu'] as const }, 'file', 100, 500],
    ['of root has no number of processes', settings, root, null, null, 500],
    ['has no memory limit that nobody has set', { ...settings, maxMemoryMb: null }, noGroup, null, 100, null],
    ['has no limits that are off', { ...settings, maxProcesses: null, maxMemoryMb: 0 }, noGroup, null, null, null],
  ])('%s', (_, given, means, join, processes, dataMb) => {
    expect(commandLimits(given, means, join)).toEqual({ join, processes, dataMb });
  });
});

test('the text names what holds, and why there is no more', () => {
  expect(limitsText({ ...settings, maxMemoryMb: null }, group, 4_000)).toBe(
    '100 processes per run, 3000 MB of memory per run',
  );
  expect(limitsText(settings, noGroup, 4_000)).toBe(
    '100 processes per command, 500 MB of memory per process (no cgroup v2)',
  );
  expect(limitsText({ ...settings, maxMemoryMb: null }, root, 4_000)).toBe(
    'any number of processes, any memory (no cgroup v2)',
  );
});

test.each([
  ['5.10.0-28-amd64', false],
  ['5.14.0', true],
  ['6.1.0-18', true],
  ['4.19.0', false],
])('kernel %s counts processes by user namespace: %s', (kernel, isCounted) => {
  expect(countsByNamespace(kernel)).toBe(isCounted);
});

describe('a limit that a run has reached', () => {
  const reached = reachedLimit({ killed: 2, refused: 1, hadProcesses: true }, settings);

  test('is the memory when the kernel has ended a process, else the number of processes', () => {
    expect(reached).toMatchObject({ code: 'memory_exceeded', detail: expect.stringContaining('500 MB') });
    expect(reachedLimit({ killed: 0, refused: 1, hadProcesses: true }, settings)?.code).toBe('processes_exceeded');
    expect(reachedLimit({ killed: 0, refused: 0, hadProcesses: true }, settings)).toBe(null);
  });

  test('explains a failure of the issue, and keeps its message', () => {
    const explained = explainedBy(reached, failure('port_exit', 'the agent ended', { meta: { turns: 3 } }));

    expect(explained).toMatchObject({
      state: 'failed',
      error: { code: 'memory_exceeded', message: expect.stringMatching(/^the agent ended; .*max_memory_mb/) },
      meta: { turns: 3 },
    });
  });

  test.each([
    success(null),
    failure('agent_quota', 'later'),
    failure('push_declined', 'no'),
    failure('INTERRUPTED', 'shutdown', { state: 'cancelled' }),
  ])('does not replace another outcome', (outcome) => {
    expect(explainedBy(reached, outcome)).toBe(outcome);
  });
});
