import { describe, expect, test } from 'vitest';
import { errorOf, NEVER, open } from './program-fixture.js';

const SOON = { timeout_ms: 300 };

describe('a program that stays', () => {
  test('is started with the first request and answers all requests', async () => {
    const { tracker, log, living } = open('stays');
    expect(living()).toBe(0);

    const first = await tracker.issuesByStates(['Todo'], NEVER);
    const second = await tracker.issuesByIds(['2'], NEVER);
    const third = await tracker.issuesByStates(['Done'], NEVER);

    expect([first, second, third].map(({ issues }) => issues.map(({ id }) => id))).toEqual([['1'], ['2'], ['2']]);
    expect(log()).toEqual(['start', 'issues_by_states', 'describe', 'issues_by_ids', 'issues_by_states']);
    expect(living()).toBe(1);
  });

  test('gets concurrent requests one by one', async () => {
    const { tracker, log } = open('stays');

    const asked = Array.from({ length: 40 }, (_, n) =>
      n % 2 === 0
        ? tracker.issuesByIds(['1'], new AbortController().signal)
        : tracker.issuesByStates(['Done'], new AbortController().signal),
    );
    const found = (await Promise.all(asked)).map(({ issues }) => issues[0]?.id);

    expect(found).toEqual(Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? '1' : '2')));
    expect(log().filter((line) => line === 'start')).toHaveLength(1);
  });

  test('ends with the tracker, which then sends no more requests', async () => {
    const { tracker, living } = open('stays');
    await tracker.issuesByStates(['Todo'], NEVER);

    await tracker.close();

    expect(living()).toBe(0);
    expect(await errorOf(tracker.issuesByStates(['Todo'], NEVER))).toMatchObject({ code: 'tracker_request' });
    expect(living()).toBe(0);
  });

  test('is not started for empty reads', async () => {
    const { tracker, log } = open('stays');

    await tracker.issuesByStates([], NEVER);
    await tracker.issuesByIds([], NEVER);

    expect(log()).toEqual([]);
  });
});

describe('a program that exits after each answer', () => {
  test.each([[[]], [['late']]])('is started for each request: %j', async (args) => {
    const { tracker, log, living } = open('exits-after-each', { args });

    const found = [];
    for (let n = 0; n < 4; n++) found.push(await tracker.issuesByStates(['Todo'], NEVER));
    const both = await Promise.all([tracker.issuesByIds(['1'], NEVER), tracker.issuesByIds(['2'], NEVER)]);
    await tracker.close();

    expect([...found, ...both].map(({ issues }) => issues[0]?.id)).toEqual(['1', '1', '1', '1', '1', '2']);
    expect(log().filter((line) => line === 'start')).toHaveLength(7);
    expect(living()).toBe(0);
  });

  test('never gets the same change twice', async () => {
    const { tracker, log } = open('exits-after-each', { args: ['late'] });

    const refused = await errorOf(tracker.update('1', { comment: 'Hi', state: 'Done' }, NEVER));

    // The first process was asked to describe itself, and may be on its way out.
    expect(refused).toMatchObject({ code: 'tracker_refused' });
    expect(log()).toEqual(['start', 'describe', 'start', 'comment']);
  });

  test('may omit the last line end', async () => {
    const { tracker } = open('no-newline');

    expect((await tracker.issuesByStates(['Todo'], NEVER)).issues).toHaveLength(1);
  });
});

describe('a program that ends between two requests', () => {
  test('is started again for the next request', async () => {
    const { tracker, log, living } = open('writes-unasked');
    await tracker.issuesByStates(['Todo'], NEVER);

    // It writes without a request, so it is stopped.
    await expect.poll(living).toBe(0);
    const { issues } = await tracker.issuesByStates(['Todo'], NEVER);

    expect(issues).toHaveLength(1);
    expect(log().filter((line) => line === 'start')).toHaveLength(2);
  });
});

describe('a failed request ends its process', () => {
  test.each([
    ['dies-mid-answer', [], 'tracker_request', 'exited with code 3 in the middle of its answer'],
    ['never-reads', [], 'tracker_request', 'did not answer within 0.3 s'],
    ['hangs', ['issues_by_states', 'stubborn'], 'tracker_request', 'did not answer within 0.3 s'],
    ['closes-stdin', ['stdout'], 'tracker_request', 'closed its stdout before it had answered'],
    ['garbage', ['hello'], 'tracker_response', 'wrote a line that is not JSON: "hello"'],
    ['garbage', ['[1]'], 'tracker_response', 'not a JSON object: "[1]"'],
    ['garbage', ['{"id":ID}'], 'tracker_response', 'neither an object as its `result` nor an `error`'],
    ['garbage', ['{"id":ID,"result":[]}'], 'tracker_response', 'neither an object'],
    ['garbage', ['{"id":99,"result":{"issues":[]}}'], 'tracker_response', 'answered request 1 with the id 99'],
    ['garbage', ['{"id":"ID","result":{"issues":[]}}'], 'tracker_response', 'with the id "1"'],
    ['garbage', ['{"id":{"a":1},"result":{"issues":[]}}'], 'tracker_response', 'with an id that is not a number'],
    ['garbage', ['{"result":{"issues":[]}}'], 'tracker_response', 'without the id of the request (1)'],
    ['garbage', ['7b226964ff7d', 'hex'], 'tracker_response', 'not UTF-8'],
    ['huge-line', [], 'tracker_response', 'a line of more than 33554432 bytes'],
  ])('%s %j is %s', async (name, args, code, words) => {
    const provider = words.includes('within') ? SOON : {};
    const { tracker, living } = open(name, { args, provider });

    const error = await errorOf(tracker.issuesByStates(['Todo'], NEVER));

    expect(error.code).toBe(code);
    expect(error.message).toContain('The tracker program failed at issues_by_states: it ');
    expect(error.message).toContain(words);
    await expect.poll(living, { timeout: 5_000 }).toBe(0);
  });

  test('the error quotes its last output', async () => {
    const { tracker } = open('dies-mid-answer');

    const { message } = await errorOf(tracker.issuesByStates(['Todo'], NEVER));

    expect(message).toContain('"{"id":1,"result":{"iss"');
    expect(message).toContain('The end of its stderr: something broke');
  });

  test('a missing command is an error', async () => {
    const { tracker } = open('stays', { provider: { command: 'no-such-tracker-program' } });

    const { code, message } = await errorOf(tracker.issuesByStates(['Todo'], NEVER));

    expect(code).toBe('tracker_request');
    expect(message).toMatch(/exited with code 127 before it had answered.*stderr: .*no-such-tracker-program/);
  });

  test('a variable that is too large is named in the error', async () => {
    const { tracker } = open('stays', { provider: { env: { BIG: 'x'.repeat(200_000) } } });

    const { code, message } = await errorOf(tracker.issuesByStates(['Todo'], NEVER));

    expect(code).toBe('tracker_request');
    expect(message).toContain('could not be started: The variable BIG has 200000 bytes');
  });

  test('a program that closes its stdin fails at once', async () => {
    const { tracker } = open('closes-stdin');
    // More than a pipe takes.
    const ids = Array.from({ length: 50_000 }, (_, n) => `some-id-${n}`);

    const { code, message } = await errorOf(tracker.issuesByIds(ids, NEVER));

    expect(code).toBe('tracker_request');
    expect(message).toContain('closed its stdin before it had answered');
  });

  test('the next request gets a new process, and a late answer is ignored', async () => {
    const { tracker, log } = open('answers-late', { provider: { timeout_ms: 700 } });

    const errors = [
      await errorOf(tracker.issuesByStates(['Todo'], NEVER)),
      await errorOf(tracker.issuesByStates(['Done'], NEVER)),
    ];

    for (const error of errors) expect(error.message).toContain('did not answer within');
    expect(log()).toEqual(['start', 'issues_by_states', 'start', 'issues_by_states']);
  });

  test('a repeated answer is ignored', async () => {
    const { tracker, log } = open('answers-twice');

    const answers = [
      await tracker.issuesByStates(['Todo'], NEVER),
      await tracker.issuesByStates(['Done'], NEVER),
      await tracker.issuesByIds(['1'], NEVER),
    ];

    expect(answers.map(({ issues }) => issues.map(({ id }) => id))).toEqual([['1'], ['2'], ['1']]);
    expect(log().filter((line) => line === 'start')).toHaveLength(1);
  });

  test('a process that answers without reading the request gets no other request', async () => {
    const { tracker, log } = open('never-reads', { args: ['answers'] });
    const ids = Array.from({ length: 50_000 }, (_, n) => `some-id-${n}`);

    const { problems } = await tracker.issuesByIds(ids, NEVER);

    expect(problems).toEqual([expect.stringContaining('answered request 2 with the id 1')]);
    expect(log()).toEqual(['start', 'start']);
  });
});
