import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Evidence, judge, type LifeFacts, type Mark } from './judge.mjs';
import { processesWith } from './processes.mjs';

const EMPTY = {
  claims: {},
  records: { 'TASK-1': { runs: 2 } },
  openRuns: {},
  unreadable: 0,
  integrity: 'ok',
};
const FIRST_STARTED = { msg: 'run started', issue_id: 'TASK-1', run_id: 'a-1', run_number: 1, reason: 'first' };
const SECOND_STARTED = {
  ...FIRST_STARTED,
  run_id: 'b-1',
  run_number: 2,
  reason: 'resumed',
  time: new Date(1_100).toISOString(),
};
const RUNNING = { failures: 0, status: { kind: 'running', run: { runId: 'a-1', number: 1 } } };

/** Killed in the first turn of its only issue, closed and finished in the second life: nothing is wrong with it. */
const KILLED: LifeFacts = {
  startedAtMs: 0,
  exit: { code: null, signal: 'SIGKILL' },
  wasKilled: true,
  mayRefuse: false,
  leftovers: [],
  after: { store: { ...EMPTY, claims: { 'TASK-1': RUNNING } }, creating: [] },
  lines: [FIRST_STARTED],
};
const FINISHED: LifeFacts = {
  ...KILLED,
  startedAtMs: 1_000,
  exit: { code: 0, signal: null },
  wasKilled: false,
  after: { store: EMPTY, creating: [] },
  lines: [SECOND_STARTED, { msg: 'run ended', issue_id: 'TASK-1', run_id: 'b-1', outcome: 'success' }],
};
const marks = (...lines: string[]): Mark[] =>
  lines.map((line) => {
    const [time = '', what = '', where = '', run = '', outcome = '-'] = line.split(' ');
    return { atMs: Number(time), what, where, issue: 'TASK-1', run, outcome };
  });
const CREATED = ['100 begin after_create a-1', '110 end after_create a-1'];
const IN_TURN = ['120 begin before_run a-1', '130 end before_run a-1', '140 begin agent a-1'];
const CLOSED = ['1010 begin after_run a-1 interrupted', '1020 end after_run a-1 interrupted'];
const SECOND = ['1110 begin before_run b-1', '1120 end before_run b-1', '1130 begin agent b-1', '1140 end agent b-1'];
const LEFT = ['1150 begin after_run b-1 success', '1160 end after_run b-1 success', '1170 begin before_remove -'];
const GOOD: Evidence = {
  point: 'in_turn',
  plan: { withGit: false, isolation: 'pidns' },
  broken: null,
  lives: [KILLED, FINISHED],
  marks: marks(...CREATED, ...IN_TURN, ...CLOSED, ...SECOND, ...LEFT),
  parked: null,
  expectParked: null,
  end: {
    statuses: { 'TASK-1': 'Done' },
    store: EMPTY,
    living: [],
    workspaces: [],
    creating: [],
    trash: [],
    owners: [],
    tmp: [],
    saved: [],
  },
};
const withEnd = (end: Partial<Evidence['end']>): Evidence => ({ ...GOOD, end: { ...GOOD.end, ...end } });
const withLives = (first: Partial<LifeFacts>, second: Partial<LifeFacts> = {}): Evidence => ({
  ...GOOD,
  lives: [
    { ...KILLED, ...first },
    { ...FINISHED, ...second },
  ],
});
const withMarks = (...lines: string[]): Evidence => ({ ...GOOD, marks: marks(...lines) });
const stored = (claim: Evidence['parked'] & object) => ({
  store: { ...EMPTY, claims: { 'TASK-1': claim } },
  creating: [],
});
const waiting = (failures: number, dueAtMs: number) => ({
  failures,
  status: { kind: 'waiting', reason: 'retry', dueAtMs },
});
const failed = (failures: number) => ({ msg: 'run failed, retrying', issue_id: 'TASK-1', failures });

test('a trial in which all went well is not blamed', () => {
  expect(judge(GOOD)).toEqual([]);
});

describe('the judge sees', () => {
  test.each<[string, Evidence, RegExp]>([
    ['a process that outlived the restart', withLives({}, { leftovers: ['7 sleep'] }), /alive after restart/],
    ['a process that is alive at the end', withEnd({ living: ['7 sleep'] }), /alive at the end/],
    ['an issue that is not done', withEnd({ statuses: { 'TASK-1': 'To Do' } }), /not Done/],
    [
      'an issue that is still claimed',
      withEnd({ store: { ...EMPTY, claims: { 'TASK-1': RUNNING } } }),
      /still claimed/,
    ],
    ['an issue that was parked', withLives({ lines: [{ msg: 'issue parked', issue_id: 'TASK-1' }] }), /was parked/],
    [
      'an issue that was parked before the daemon was killed during three of its runs',
      withLives({}, { lines: [{ msg: 'issue parked', issue_id: 'TASK-1', reason: 'daemon_died' }, SECOND_STARTED] }),
      /was parked: daemon_died/,
    ],
    [
      'a run number that comes again',
      withLives({}, { lines: [{ ...SECOND_STARTED, run_number: 1 }] }),
      /run number 1 after 1/,
    ],
    ['a run that the store does not count', withEnd({ store: { ...EMPTY, records: {} } }), /the store says/],
    ['a workspace that stayed', withEnd({ workspaces: ['TASK-1'] }), /left behind, workspace/],
    ['a temporary folder that stayed', withEnd({ tmp: ['baton-1'] }), /left behind, temporary/],
    ['a damaged store', withEnd({ store: { ...EMPTY, integrity: 'row 7 missing' } }), /damaged/],
    ['a restart that failed', withLives({}, { exit: { code: 1, signal: null } }), /ended with 1/],
    ['an internal error', withLives({ lines: [{ level: 'fatal', msg: 'internal error' }] }), /internal error/],
    [
      'a stall that was none',
      withLives({}, { lines: [{ code: 'stall_timeout', msg: 'run failed' }] }),
      /called stalled/,
    ],
    ['work that was not saved', { ...GOOD, plan: { ...GOOD.plan, withGit: true } }, /was not saved/],
    ['a question that was forgotten', { ...GOOD, expectParked: 'TASK-1' }, /not parked with its question/],
  ])('%s', (_, evidence, violation) => {
    expect(judge(evidence)).toContainEqual(expect.stringMatching(violation));
  });

  test.each<[string, Evidence, RegExp]>([
    [
      'a process that met another of its issue',
      { ...GOOD, marks: [...marks('90 overlap agent a-1'), ...GOOD.marks] },
      /met another process/,
    ],
    [
      'a run that goes on after the next began',
      withMarks(...CREATED, ...IN_TURN, ...SECOND, ...CLOSED, ...LEFT),
      /after a later run had begun/,
    ],
    [
      'two runs of an issue in the log',
      withLives({ lines: [FIRST_STARTED, { ...FIRST_STARTED, run_id: 'a-2', run_number: 2 }] }, { lines: [] }),
      /started while a-1 was running/,
    ],
  ])('%s', (_, evidence, violation) => {
    expect(judge(evidence)).toContainEqual(expect.stringMatching(violation));
  });

  test.each<[string, string[], RegExp]>([
    ['an after_run that never came', [...CREATED, ...IN_TURN, ...SECOND, ...LEFT], /after_run of a-1 never came/],
    [
      'an after_run that came twice',
      [...CREATED, ...IN_TURN, ...CLOSED, ...CLOSED, ...SECOND, ...LEFT],
      /twice in one life/,
    ],
    [
      'an after_run that was told a wrong outcome',
      [...CREATED, ...IN_TURN, '1010 begin after_run a-1 success', '1020 end after_run a-1', ...SECOND, ...LEFT],
      /told "success"/,
    ],
    [
      'an after_run again, though it had ended',
      [
        ...CREATED,
        ...IN_TURN,
        '150 begin after_run x-1',
        '160 end after_run x-1',
        '155 begin before_run x-1',
        '1005 begin after_run x-1 interrupted',
      ],
      /again, though it had ended/,
    ],
    [
      'a removal before the after_run',
      [...CREATED, ...IN_TURN, '1000 begin before_remove -', ...CLOSED],
      /removed before after_run/,
    ],
    [
      'an after_create that came again',
      [...CREATED, '1001 begin after_create b-1', '1002 end after_create b-1'],
      /after_create again/,
    ],
    [
      'a run in a half-made workspace',
      ['100 begin after_create a-1', ...IN_TURN, ...CLOSED],
      /without a finished after_create/,
    ],
  ])('%s', (_, lines, violation) => {
    expect(judge(withMarks(...lines))).toContainEqual(expect.stringMatching(violation));
  });

  test.each<[string, Evidence, RegExp]>([
    [
      'failures that begin anew',
      withLives({ lines: [failed(1)], after: stored(waiting(1, 0)) }, { lines: [failed(1)] }),
      /failure 1 where 2 was next/,
    ],
    [
      'failures that were not stored',
      withLives({ lines: [failed(1), failed(2)], after: stored(waiting(0, 0)) }),
      /0 failures are stored, 2 happened/,
    ],
    [
      'a retry that does not wait',
      withLives({ after: stored(waiting(0, 9_000)) }, { lines: [{ ...SECOND_STARTED, reason: 'retry' }] }),
      /before its retry was due/,
    ],
    [
      'a run that goes on as something else',
      withLives({}, { lines: [{ ...SECOND_STARTED, reason: 'first' }] }),
      /went on as "first"/,
    ],
    ['a claim that is lost', withLives({ after: stored(waiting(0, 9_000)) }, { lines: [] }), /its claim was lost/],
    [
      'a due time that moved',
      withLives({ after: stored(waiting(0, 9_000)) }, { lines: [], after: stored(waiting(0, 9_500)) }),
      /was due at 9000/,
    ],
  ])('%s', (_, evidence, violation) => {
    expect(judge(evidence)).toContainEqual(expect.stringMatching(violation));
  });
});

test.each([
  ['its command line alone', (number: string) => spawn('env', ['-i', 'setsid', '--fork', 'sleep', `2000.${number}`])],
  [
    'its environment alone',
    (number: string) => spawn('sleep', ['2000'], { env: { ...process.env, HOME: `/${number}` } }),
  ],
  ['its folder alone', (_: string, dir: string) => spawn('env', ['-i', 'sleep', '2000'], { cwd: dir })],
])('a planted process is found by %s', async (_, plant) => {
  const number = String(100_000_000 + Math.floor(Math.random() * 900_000_000));
  const dir = mkdtempSync(join(tmpdir(), `baton-${number}-`));
  onTestFinished(() => {
    for (const { pid } of processesWith(number)) process.kill(pid, 'SIGKILL');
    rmSync(dir, { recursive: true });
  });

  plant(number, dir);

  await vi.waitFor(() => expect(processesWith(number)).toHaveLength(1), 5_000);
});
