import { expect, test } from 'vitest';
import { type BatonProcess, threadOf } from './baton-process.js';
import { textOf } from './mock-model.js';
import { moveIssue, say, unauthorized, usageLimit } from './mock-replies.js';
import { testBed } from './test-bed.js';
import { until } from './until.js';

const FIRST_BACKOFF_MS = 10_000;

test('HTTP 401 in a turn holds all issues; once the model accepts requests, a probe lifts the hold and the issue continues on its thread', async () => {
  const backoffMs = 3_000;
  const { board, model, start } = await testBed({ settings: `agent: { max_retry_backoff_ms: ${backoffMs} }` });
  model.script('TASK-1', say('The first half is done.'), unauthorized, moveIssue('Done'), say('All is done.'));
  model.script('TASK-2', moveIssue('Done'), say('Done too.'));
  board.add('TASK-1', 'Refused in its second turn');

  const baton = start();
  const held = await baton.line('holding: nothing new is started');
  model.refusal = () => unauthorized;
  board.add('TASK-2', 'Has to wait');
  await until('a probe that is refused too', 20_000, () => model.refused[0]);
  model.refusal = null;
  const lifted = await baton.line('hold lifted');
  for (const id of ['TASK-1', 'TASK-2']) await baton.line('workspace removed', { issue_identifier: id });
  await baton.stop();

  expect(held).toMatchObject({ level: 'error', code: 'agent_unauthorized' });
  expect(lifted).toMatchObject({ code: 'agent_unauthorized', why: 'a probe run succeeded' });
  expect(startOfRun(baton, 2)).toBeGreaterThanOrEqual(Date.parse(held.time) + backoffMs);
  expect(mostAtOnce(baton, lifted.time)).toBe(1);
  expectNobodyBlamed(baton);
  const sessions = baton.lines('turn began', { issue_identifier: 'TASK-1' });
  expect(sessions.length).toBeGreaterThan(2);
  expect(new Set(sessions.map(threadOf)).size).toBe(1);
  expect(model.requestsOf('TASK-1').at(-1)?.input.map(textOf).join()).toContain('The first half is done.');
  expect(['TASK-1', 'TASK-2'].map((id) => board.state(id))).toEqual(['Done', 'Done']);
});

test('a spent quota holds all issues until the reset time that codex received, and no longer', async () => {
  const { board, model, start } = await testBed();
  for (const id of ['TASK-1', 'TASK-2']) model.script(id, moveIssue('Done'), say('Done.'));
  let resetsAtS = 0;
  model.refusal = () => {
    resetsAtS = Math.ceil(Date.now() / 1_000) + 4;
    return usageLimit(resetsAtS);
  };
  board.add('TASK-1', 'Refused at first');

  const baton = start();
  const held = await baton.line('holding: nothing new is started');
  model.refusal = null;
  board.add('TASK-2', 'Has to wait');
  const lifted = await baton.line('hold lifted');
  for (const id of ['TASK-1', 'TASK-2']) await baton.line('workspace removed', { issue_identifier: id });
  await baton.stop();

  expect(held).toMatchObject({ level: 'error', code: 'agent_quota' });
  expect(lifted).toMatchObject({ code: 'agent_quota', why: 'a probe run succeeded' });
  expect(startOfRun(baton, 2)).toBeGreaterThanOrEqual(resetsAtS * 1_000);
  expect(startOfRun(baton, 2)).toBeLessThan(Date.parse(held.time) + FIRST_BACKOFF_MS);
  expect(mostAtOnce(baton, lifted.time)).toBe(1);
  expectNobodyBlamed(baton);
  expect(['TASK-1', 'TASK-2'].map((id) => board.state(id))).toEqual(['Done', 'Done']);
});

function startOfRun(baton: BatonProcess, number: number): number {
  return Date.parse(baton.lines('run started')[number - 1]?.time ?? '');
}

/** How many runs were alive at the same time, at most, until then. */
function mostAtOnce(baton: BatonProcess, time: string): number {
  let alive = 0;
  const counts = baton.lines().flatMap((line) => {
    if (line.time > time) return [];
    if (line.msg === 'run started') alive += 1;
    if (line.msg === 'run ended') alive -= 1;
    return [alive];
  });
  return Math.max(...counts);
}

/** An attempt is counted from the first failure that is the issue's own. */
function expectNobodyBlamed(baton: BatonProcess): void {
  expect(baton.lines('run failed, retrying')).toEqual([]);
  expect(baton.lines('run started').filter(({ attempt }) => attempt !== undefined)).toEqual([]);
}
