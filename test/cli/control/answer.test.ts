import { describe, expect, test } from 'vitest';
import type { Place } from '../command.js';
import { daemonIn, issue, project, received, untilStored, type WorkingDaemon } from './working-daemon.js';

const APPROVAL = ['item/commandExecution/requestApproval', '{"command":"make deploy","reason":"it is tested"}'];
const INPUT = [
  'item/tool/requestUserInput',
  JSON.stringify({
    questions: [
      { id: 'colour', header: 'Paint', question: 'Which colour?', options: [{ label: 'red' }, { label: 'blue' }] },
      { id: 'size', header: '', question: 'Which size?', options: [] },
    ],
  }),
];
const ONE_BLANK = ['item/tool/requestUserInput', '{"questions":[{"id":"name","question":"Which name?"}]}'];

/** TASK-1 has a run, and its agent asks. */
async function asking(
  question: readonly string[],
  agent = 'max_turns: 1',
): Promise<{ here: Place; daemon: WorkingDaemon }> {
  const here = project('asks', question, `agent: { ${agent} }`);
  issue(here, 1);
  const daemon = await daemonIn(here);
  await daemon.said('run asks a person');
  return { here, daemon };
}

/** The replies of people that the agent got in its turns. */
const replies = (here: Place) =>
  received(here).flatMap(({ result }) => (result?.decision || result?.answers ? [result] : []));

const texts = (here: Place) =>
  received(here)
    .filter(({ method }) => method === 'turn/start')
    .map(({ params }) => params.input[0].text);

const resumed = (here: Place) =>
  received(here).flatMap(({ method, params }) => (method === 'thread/resume' ? [params.threadId] : []));

const secondRun = (daemon: WorkingDaemon) =>
  daemon.line(({ msg, reason }) => msg === 'run started' && reason === 'answer');
/** Its turn has begun: the agent has got its text. */
const secondTurn = (daemon: WorkingDaemon, runId: unknown) =>
  daemon.line(({ msg, run_id }) => msg === 'session_started' && run_id === runId);

describe('an approval that an agent asks for', () => {
  test('is answered while it runs: the agent gets it in its turn', async () => {
    const { here, daemon } = await asking(APPROVAL);

    const answered = await here.baton('answer', 'TASK-1', '--accept');
    await daemon.said('run ended');

    expect(answered).toEqual({ code: 0, stdout: 'The agent of TASK-1 has your answer.\n', stderr: '' });
    expect(replies(here)).toEqual([{ decision: 'accept' }]);
    expect(resumed(here)).toEqual([]);
  });

  test.each([['--decline'], ['no']])('is declined with %s, and the run goes on', async (how) => {
    const { here, daemon } = await asking(APPROVAL);

    expect((await here.baton('answer', 'TASK-1', how)).code).toBe(0);

    const { outcome } = await daemon.said('run ended');
    expect(outcome).toBe('success');
    expect(replies(here)).toEqual([{ decision: 'decline' }]);
  });

  test('is answered after it was parked: a new run goes on on the same thread', async () => {
    const { here, daemon } = await asking(APPROVAL, 'max_turns: 1, input_timeout_ms: 100');
    await daemon.line(({ msg, reason }) => msg === 'issue parked' && reason === 'input_required');

    const answered = await here.baton('answer', 'TASK-1', '--accept');
    const { run_id: runId } = await secondRun(daemon);
    await secondTurn(daemon, runId);

    expect(answered).toMatchObject({ code: 0, stdout: 'TASK-1 goes on with your answer, on the same thread.\n' });
    expect(resumed(here)).toEqual(['thread-1']);
    expect(texts(here)[1]).toMatch(
      /^You asked a person:\nRun a command\nCommand: make deploy\n[\s\S]*The answer: yes\. Go ahead/,
    );
  });

  test('is answered after kill -9 and a restart: it goes on on the same thread', async () => {
    const { here, daemon } = await asking(APPROVAL);
    // One that is not stored yet is asked again instead.
    await expect
      .poll(async () => (await here.baton('state', 'export')).stdout, { timeout: 10_000 })
      .toContain('deploy');
    await daemon.kill();

    const next = await daemonIn(here);
    await next.line(({ msg, reason }) => msg === 'issue parked' && reason === 'input_required');
    const asked = await here.baton('answer');
    const answered = await here.baton('answer', 'TASK-1', '--accept');
    const { run_id: runId } = await secondRun(next);
    await secondTurn(next, runId);

    expect(asked.stdout).toContain('Command: make deploy');
    expect(answered.code).toBe(0);
    expect(resumed(here)).toEqual(['thread-1']);
    expect(texts(here)[1]).toMatch(/The answer: yes/);
  });

  test('is answered after it was parked, kill -9, a restart and a pause: the answer is not lost', async () => {
    const { here, daemon } = await asking(APPROVAL, 'max_turns: 1, input_timeout_ms: 100');
    await daemon.said('issue parked');
    await here.baton('pause');
    const answered = await here.baton('answer', 'TASK-1', '--decline');
    await untilStored(here, /"reason": "answer"/);
    await daemon.kill();

    const next = await daemonIn(here);
    await here.baton('resume');
    const { run_id: runId } = await secondRun(next);
    await secondTurn(next, runId);

    expect(answered.code).toBe(0);
    expect(texts(here)[1]).toMatch(/The answer: no\. Do not do this/);
  });

  test('is declined by itself where the workflow says so, and the run goes on', async () => {
    const { here, daemon } = await asking(APPROVAL, 'max_turns: 1, input_timeout_ms: 100, on_input_timeout: decline');

    const { outcome } = await daemon.said('run ended');

    expect(outcome).toBe('success');
    expect(replies(here)[0]).toEqual({ decision: 'decline' });
    expect(daemon.lines.map(({ msg }) => msg)).toContain('nobody answered in time, declined');
  });

  test('cannot be answered with words', async () => {
    const { here } = await asking(APPROVAL);

    expect(await here.baton('answer', 'TASK-1', 'perhaps')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--accept or --decline'),
    });
    expect(await here.baton('answer', 'TASK-1', '--field', 'x=y')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/INVALID_REQUEST.*accept or decline/),
    });
    expect((await here.baton('answer', 'TASK-1', '--accept', '--decline')).code).toBe(2);
  });
});

describe('words that an agent asks for', () => {
  test('are given field by field', async () => {
    const { here, daemon } = await asking(INPUT);

    const incomplete = await here.baton('answer', 'TASK-1', '--field', 'colour=red');
    const wrong = await here.baton('answer', 'TASK-1', '--field', 'colour');
    const answered = await here.baton('answer', 'TASK-1', '--field', 'colour=dark = red', '--field', 'size=');
    await daemon.said('run ended');

    expect(incomplete).toMatchObject({ code: 1, stderr: expect.stringContaining('Not answered: size') });
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('id=value') });
    expect(answered.code).toBe(0);
    expect(replies(here)).toEqual([{ answers: { colour: { answers: ['dark = red'] }, size: { answers: [''] } } }]);
  });

  test('are one argument where there is one blank', async () => {
    const { here, daemon } = await asking(ONE_BLANK);

    expect((await here.baton('answer', 'TASK-1', 'Ada Lovelace')).code).toBe(0);

    await daemon.said('run ended');
    expect(replies(here)).toEqual([{ answers: { name: { answers: ['Ada Lovelace'] } } }]);
  });

  test('can be declined, and are told to an agent that was parked', async () => {
    const { here, daemon } = await asking(ONE_BLANK, 'max_turns: 1, input_timeout_ms: 100');
    await daemon.said('issue parked');

    await here.baton('answer', 'TASK-1', '--decline');
    const { run_id: runId } = await secondRun(daemon);
    await secondTurn(daemon, runId);

    expect(texts(here)[1]).toMatch(/Which name\?[\s\S]*The answer: none\. Decide for yourself/);
  });
});

describe('baton answer', () => {
  test('without an issue lists what is asked, running or parked; without an answer it shows the question and exits 2', async () => {
    const { here } = await asking(INPUT);

    const listed = await here.baton('answer');
    const shown = await here.baton('answer', 'TASK-1');

    const question =
      'TASK-1  Title 1\n  │ Paint\n  │ Which colour?\n  │ Which size?\n  │ colour: Which colour? (red | blue)\n  │ size: Which size?\n';
    expect(listed).toEqual({ code: 0, stdout: `${question}  baton answer TASK-1\n`, stderr: '' });
    expect(shown).toEqual({
      code: 2,
      stdout: question,
      stderr: 'baton: give an answer: --field colour=… --field size=…, or --decline\n',
    });
  });

  test('says when nothing is asked, or not that', async () => {
    const { here, daemon } = await asking(APPROVAL);
    const other = await here.baton('answer', 'TASK-1', '--accept', '--question', 'q9');
    await here.baton('stop', 'TASK-1');
    await daemon.said('issue parked');

    expect(other).toMatchObject({ code: 1, stderr: expect.stringMatching(/no question q9 is open; open: \S+-q1\n/) });
    expect(await here.baton('answer', 'TASK-1', '--accept')).toMatchObject({
      code: 1,
      stderr: 'baton: nothing is asked about TASK-1\n',
    });
    expect(await here.baton('answer')).toMatchObject({ code: 0, stdout: 'Nothing is asked.\n' });
  });
});
