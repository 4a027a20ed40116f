import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { detectContainment } from '../../../runner/contain/detect-containment.js';
import type { Check, CheckResult } from '../../../src/cli/conformance/checks.js';
import type { TrackerBench } from '../../../src/cli/conformance/tracker-bench.js';
import { CHANGE_CHECKS } from '../../../src/cli/conformance/tracker-change-checks.js';
import { checkTrackerProgram } from '../../../src/cli/conformance/tracker-checks.js';
import { READ_CHECKS } from '../../../src/cli/conformance/tracker-read-checks.js';
import { startTrackerProgram } from '../../../src/daemon/tracker.js';
import { livingWith, realClock } from '../../runner/contain/workbench.js';
import { commandOf } from '../../tracker/command/program-fixture.js';
import { type World, world } from '../cli-fixture.js';

interface TestOptions {
  readonly checks?: readonly Check<TrackerBench>[];
  readonly writeId?: string;
  readonly limitMs?: number;
  readonly io?: World;
}

/** The changes that a program was asked to make: number, method, state. */
const changesIn = ({ dir }: World) => readFileSync(join(dir, 'changes'), 'utf8').trimEnd().split('\n');

/** The results of all checks that the program does not pass. */
async function findings(
  script: string,
  { checks = READ_CHECKS, writeId, limitMs = 10_000, io = world() }: TestOptions = {},
) {
  const { dir, env } = io;
  const config = { runtime: { env: 'allowlist', envAllow: [] }, hooks: { envAllow: [] } } as const;
  const containment = await detectContainment({ isolation: 'none', hide: [], clock: realClock });
  const start = async () => {
    const place = { workflow: { dir, config, secretNames: [] }, env, containment };
    return {
      process: await startTrackerProgram({ script: `${script} ${dir}`, env: {} }, place),
      living: async () => 0,
    };
  };
  const options = { start, limitMs, states: ['Todo', 'Done'], writeId: writeId ?? null, mask: (text: string) => text };
  const results: CheckResult[] = [];
  const suite = checkTrackerProgram({ ...options, signal: new AbortController().signal }, checks);
  for await (const result of suite) results.push(result);
  expect(livingWith(dir)).toEqual([]);
  return results.filter(({ mark }) => mark !== 'passed');
}

describe('one fault is one failed check', () => {
  test('a good program passes all checks', async () => {
    const checks = [...READ_CHECKS, ...CHANGE_CHECKS];

    expect(await findings(commandOf('faulty', 'none'), { checks, writeId: '1' })).toEqual([]);
  });

  test.each([
    ['compares states with their case', 'ignores_case', 'it found no issue in "TODO", but some in "Todo"'],
    ['lists half its states', 'describe', 'it did not list the state "Todo", in which X-1 is'],
    ['describes nonsense', 'describe', 'it described `states` or `methods` that are not a list of texts'],
    ['expects numbers as ids', 'by_ids', 'it did not find 1, which it had sent before'],
    ['reports missing ids as unknown', 'missing_ids', 'it named it in `unknown`'],
    ['finds missing ids', 'missing_ids', 'it sent X-2, which was not requested'],
    ['sends all for no ids', 'no_ids', 'it sent 2'],
    ['has invalid comments', 'comments', 'it sent a comment whose body is not a text: {"text":"hm"}'],
    ['omits a title', 'list', 'it sent X-2 without title'],
    ['sends an issue twice', 'list', 'it sent the id 1 twice'],
    ['answers any method', 'unknown_method', 'it answered something else'],
    [
      'has invalid fields',
      'optional_fields',
      'it sent invalid fields, which count as absent: priority of X-1 is not a whole number: "high"; ' +
        'url of X-1 is not a web address: "x"; labels of X-1 is not a list of texts: "a,b"; and 1 more',
    ],
  ])('a program that %s', async (fault, name, reason) => {
    const found = await findings(commandOf('faulty', fault));

    expect(found).toEqual([expect.objectContaining({ mark: 'failed', name, reason })]);
    expect(found[0]?.action).not.toBeNull();
  });

  test.each([
    ['does not write comments', 'comment', 'it reported that it had commented, but the comment is not there'],
    ['does not move', 'move', 'it reported that it had moved 1 to "Done", but it is in "Todo"'],
    ['moves only once', 'move', 'it could not move it back from "Done"'],
    ['comments on missing issues', 'change_missing', 'it did not'],
  ])('a program that %s, with --write', async (fault, name, reason) => {
    const found = await findings(commandOf('faulty', fault), { checks: CHANGE_CHECKS, writeId: '1' });

    expect(found).toEqual([expect.objectContaining({ mark: 'failed', name, reason })]);
  });

  test('a change is not sent again to a program that dies at it', async () => {
    const io = world();
    const checks = [...READ_CHECKS, ...CHANGE_CHECKS];

    const found = await findings(commandOf('faulty', 'dies at changes unless it is new'), { checks, writeId: '1', io });

    const reason = 'it exited with code 1 before it had answered';
    expect(found.map((each) => [each.name, each.reason])).toEqual([
      ['comment', reason],
      ['move', reason],
    ]);
    const numbers = changesIn(io).map((line) => line.split(' ')[0]);
    expect(numbers).toEqual([...new Set(numbers)]);
  });

  test('an issue that was moved to a wrong state is moved back', async () => {
    const io = world();

    const [found] = await findings(commandOf('faulty', 'moves elsewhere'), { checks: CHANGE_CHECKS, writeId: '1', io });

    expect(found?.reason).toBe('it reported that it had moved 1 to "Done", but it is in "Doing"');
    expect(found?.action).toBe('Move it before you answer.');
    expect(changesIn(io)).toEqual(expect.arrayContaining([expect.stringMatching(/move Todo$/)]));
  });

  test('the user is asked to move an issue back when the program cannot', async () => {
    const [found] = await findings(commandOf('faulty', 'moves only once'), { checks: CHANGE_CHECKS, writeId: '1' });

    expect(found?.action).toMatch(/ Move 1 back to "Todo" by hand\.$/);
  });

  test('a tracker that allows no move is not faulty', async () => {
    const found = await findings(commandOf('faulty', 'refuses moves'), { checks: CHANGE_CHECKS, writeId: '1' });

    expect(found).toEqual([expect.objectContaining({ mark: 'info', reason: 'it refused every other state: Done' })]);
  });

  test('the issue to change must exist', async () => {
    const found = await findings(commandOf('faulty', 'none'), { checks: CHANGE_CHECKS, writeId: '9' });

    expect(found.map(({ mark, reason }) => [mark, reason])).toEqual(Array(2).fill(['failed', 'it does not find 9']));
  });

  test('a program that counts requests itself fails at the second request', async () => {
    const [first] = await findings(commandOf('faulty', 'counts requests'));

    expect(first?.reason).toBe('it answered request 8 with the id 2');
  });

  test('silence at an unknown method fails one check and does not affect the others', async () => {
    const found = await findings(commandOf('faulty', 'is silent at unknown methods'), { limitMs: 500 });

    expect(found).toEqual([
      expect.objectContaining({ name: 'unknown_method', reason: 'it did not answer within 0.5 s' }),
    ]);
  });
});

describe('a program without a single answer fails one check', () => {
  test.each([
    ['garbage', ['hello'], 'it wrote a line that is not JSON', 'hello'],
    ['garbage', ['{"id":"ID","result":{}}'], 'it answered request 1 with the id "1"', '{"id":"1","result":{}}'],
    ['garbage', ['7b226964ff7d', 'hex'], 'it wrote a line that is not UTF-8', '{"id\ufffd}'],
    [
      'dies-mid-answer',
      [],
      'it exited with code 3 in the middle of its answer; the end of its stderr: something',
      '{"id":1',
    ],
    ['hangs', ['issues_by_states'], 'it did not answer within 0.5 s', null],
  ])('%s %j', async (name, args, reason, received) => {
    const found = await findings(commandOf(name, ...args), { limitMs: 500 });

    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject({ mark: 'failed', reason: expect.stringContaining(reason) });
    expect(found[0]?.action).toMatch(/ Then try again: nothing else was checked\.$/);
    expect(found[0]?.evidence?.received?.slice(0, received?.length) ?? null).toBe(received);
  });

  test('a command that does not exist', async () => {
    const [found] = await findings('no-such-tracker-program');

    expect(found?.reason).toMatch(
      /^it exited with code 127 before it had answered; the end of its stderr: .*not found/,
    );
  });

  test('a folder that does not exist', async () => {
    const [found] = await findings('cd /no/such/folder && x');

    expect(found?.reason).toContain('exited with code 1 before it had answered');
  });
});
