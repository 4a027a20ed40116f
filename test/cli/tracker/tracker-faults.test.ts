import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { detectContainment } from '../../../runner/contain/detect-containment.js';
import { CHANGE_CHECKS } from '../../../src/cli/tracker/change-checks.js';
import { READ_CHECKS } from '../../../src/cli/tracker/read-checks.js';
import { type CheckResult, runChecks } from '../../../src/cli/tracker/run-checks.js';
import type { Check } from '../../../src/cli/tracker/test-bench.js';
import { startTrackerProgram } from '../../../src/daemon/tracker.js';
import { livingWith, realClock } from '../../runner/contain/workbench.js';
import { commandOf } from '../../tracker/command/program-fixture.js';
import { type World, world } from '../cli-fixture.js';

interface Asked {
  readonly checks?: readonly Check[];
  readonly writeId?: string;
  readonly limitMs?: number;
  readonly io?: World;
}

/** The changes that a program was asked for: number, method, state. */
const changesIn = ({ dir }: World) => readFileSync(join(dir, 'changes'), 'utf8').trimEnd().split('\n');

/** What the checks say about a program, without those that they pass. */
async function findings(script: string, { checks = READ_CHECKS, writeId, limitMs = 10_000, io = world() }: Asked = {}) {
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
  const suite = runChecks({ ...options, signal: new AbortController().signal }, checks);
  for await (const result of suite) results.push(result);
  expect(livingWith(dir)).toEqual([]);
  return results.filter(({ mark }) => mark !== 'passed');
}

describe('one fault is one failed check', () => {
  test('a good program has none', async () => {
    expect(
      await findings(commandOf('faulty', 'none'), { checks: [...READ_CHECKS, ...CHANGE_CHECKS], writeId: '1' }),
    ).toEqual([]);
  });

  test.each([
    ['knows no letters', 'knows a state by its letters', 'it found no issue in "TODO", but some in "Todo"'],
    ['tells half its states', 'describes its states', 'it did not tell the state "Todo", in which X-1 is'],
    ['describes nonsense', 'describes its states', 'it described something as `states` or `methods` that is no list'],
    ['counts ids', 'finds issues by their ids', 'it did not find 1, which it had sent before'],
    ['is never sure', 'leaves an id out', 'it named it in `unknown`'],
    ['finds what is not there', 'leaves an id out', 'it sent X-2, which nobody asked for'],
    ['sends all for no ids', 'answers no ids with no issues', 'it sent 2'],
    ['has odd comments', 'answers `comments`', 'it sent a comment without a text as its body: {"text":"hm"}'],
    ['forgets a title', 'answers issues_by_states', 'it sent X-2 without title'],
    ['sends one twice', 'answers issues_by_states', 'it sent the id 1 twice'],
    ['answers anything', 'answers `unsupported`', 'it answered something else'],
  ])('%s', async (fault, law, why) => {
    const found = await findings(commandOf('faulty', fault));

    expect(found).toEqual([expect.objectContaining({ mark: 'failed', law: expect.stringContaining(law) })]);
    expect(found[0]?.why).toContain(why);
    expect(found[0]?.action).not.toBeNull();
  });

  test('has odd fields', async () => {
    const [found] = await findings(commandOf('faulty', 'has odd fields'));

    expect(found?.why).toBe(
      'it sent what counts as absent: priority of X-1 is no whole number: "high"; ' +
        'url of X-1 is no address of the web: "x"; labels of X-1 is no list of texts: "a,b"; and 1 more',
    );
  });

  test.each([
    ['forgets comments', 'comments on an issue', 'it said that it had commented, but the comment is not there'],
    ['moves nothing', 'moves an issue', 'it said that it had moved 1 to "Done", but it is in "Todo"'],
    ['goes one way', 'moves an issue', 'it could not move it back from "Done"'],
    ['comments anywhere', 'refuses to change an issue that does not exist', 'it did not'],
  ])('%s, when it may write', async (fault, law, why) => {
    const found = await findings(commandOf('faulty', fault), { checks: CHANGE_CHECKS, writeId: '1' });

    expect(found).toEqual([expect.objectContaining({ mark: 'failed', law: expect.stringContaining(law), why })]);
  });

  test('one that dies at a change is not asked for it once more, and found out', async () => {
    const io = world();
    const checks = [...READ_CHECKS, ...CHANGE_CHECKS];

    const found = await findings(commandOf('faulty', 'dies at changes unless it is new'), { checks, writeId: '1', io });

    const why = 'it exited with code 1 before it had answered';
    expect(found.map((each) => [each.law, each.why])).toEqual([
      ['comments on an issue', why],
      ['moves an issue to another state, and back', why],
    ]);
    const numbers = changesIn(io).map((line) => line.split(' ')[0]);
    expect(numbers).toEqual([...new Set(numbers)]);
  });

  test('an issue that went elsewhere is moved back all the same', async () => {
    const io = world();

    const [found] = await findings(commandOf('faulty', 'moves elsewhere'), { checks: CHANGE_CHECKS, writeId: '1', io });

    expect(found?.why).toBe('it said that it had moved 1 to "Done", but it is in "Doing"');
    expect(found?.action).toBe('Move it before you answer.');
    expect(changesIn(io)).toEqual(expect.arrayContaining([expect.stringMatching(/move Todo$/)]));
  });

  test('an issue that cannot be moved back is left to a person', async () => {
    const [found] = await findings(commandOf('faulty', 'goes one way'), { checks: CHANGE_CHECKS, writeId: '1' });

    expect(found?.action).toMatch(/ Move 1 back to "Todo" by hand\.$/);
  });

  test('a tracker that lets issues go nowhere is told, and no fault', async () => {
    const found = await findings(commandOf('faulty', 'refuses moves'), { checks: CHANGE_CHECKS, writeId: '1' });

    expect(found).toEqual([expect.objectContaining({ mark: 'told', why: 'it refused every other state: Done' })]);
  });

  test('an issue that may be changed must be there', async () => {
    const found = await findings(commandOf('faulty', 'none'), { checks: CHANGE_CHECKS, writeId: '9' });

    expect(found.map(({ mark, why }) => [mark, why])).toEqual(Array(2).fill(['failed', 'it does not find 9']));
  });

  test('one that counts requests for itself is caught at the second', async () => {
    const [first] = await findings(commandOf('faulty', 'counts requests'));

    expect(first?.why).toBe('it answered with the id 2 when it was asked question 8');
  });

  test('silence at an unknown method is one, and does not spoil what comes after it', async () => {
    const [silence, ...others] = await findings(commandOf('faulty', 'is silent at what it does not know'), {
      limitMs: 500,
    });

    expect(silence).toMatchObject({
      law: expect.stringContaining('unsupported'),
      why: 'it did not answer within 0.5 s',
    });
    expect(others).toEqual([]);
  });
});

describe('with what says nothing good the suite ends at once', () => {
  test.each([
    ['garbage', ['hello'], 'it wrote a line that is not JSON', 'hello'],
    ['garbage', ['{"id":"ID","result":{}}'], 'it answered with the id "1" when it was asked', '{"id":"1","result":{}}'],
    ['garbage', ['7b226964ff7d', 'hex'], 'it wrote a line that is not UTF-8', '{"id\ufffd}'],
    [
      'dies-mid-answer',
      [],
      'it exited with code 3 in the middle of its answer; the end of its stderr: something',
      '{"id":1',
    ],
    ['hangs', ['issues_by_states'], 'it did not answer within 0.5 s', null],
  ])('%s %j', async (name, args, why, came) => {
    const found = await findings(commandOf(name, ...args), { limitMs: 500 });

    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject({ mark: 'failed', why: expect.stringContaining(why) });
    expect(found[0]?.action).toMatch(/ Then try again: nothing else was checked\.$/);
    expect(found[0]?.came?.slice(0, came?.length) ?? null).toBe(came);
  });

  test('a command that is not there', async () => {
    const [found] = await findings('no-such-tracker-program');

    expect(found?.why).toMatch(/^it exited with code 127 before it had answered; the end of its stderr: .*not found/);
  });

  test('a folder that is not there', async () => {
    const [found] = await findings('cd /no/such/folder && x');

    expect(found?.why).toContain('exited with code 1 before it had answered');
  });
});
