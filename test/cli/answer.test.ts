import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { QuestionView } from '../../src/api/schemas.js';
import { answer, type GivenAnswer, questionText, requestOf } from '../../src/cli/answer.js';
import type { Place } from './command.js';
import { askingProject, asks, daemonIn, received, told, untilStored, type WorkingDaemon } from './working-daemon.js';

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

const NOTHING: GivenAnswer = { text: undefined, accept: false, decline: false, fields: [] };

function give(here: Place, id: number | undefined, given: Partial<GivenAnswer>, question?: string) {
  const issue = id === undefined ? undefined : `TASK-${id}`;
  return told(here, (io) => answer({ issue, given: { ...NOTHING, ...given }, question, target: {} }, io));
}

/** The replies of people that the agent got in its turns. */
const replies = (here: Place, id: number) =>
  received(here, `TASK-${id}`).flatMap(({ result }) => (result?.decision || result?.answers ? [result] : []));

const texts = (here: Place, id: number) =>
  received(here, `TASK-${id}`)
    .filter(({ method }) => method === 'turn/start')
    .map(({ params }) => params.input[0].text);

const resumed = (here: Place, id: number) =>
  received(here, `TASK-${id}`).flatMap(({ method, params }) => (method === 'thread/resume' ? [params.threadId] : []));

/** The run that an answer began has its turn: the agent has got its text. */
async function secondTurn(daemon: WorkingDaemon, id: number): Promise<void> {
  const { run_id: runId } = await daemon.line(
    (one) => one.msg === 'run started' && one.reason === 'answer' && one.issue_identifier === `TASK-${id}`,
  );
  await daemon.line(({ msg, run_id }) => msg === 'turn began' && run_id === runId);
}

const parked = (daemon: WorkingDaemon, id: number) =>
  daemon.line((one) => one.msg === 'issue parked' && one.issue_identifier === `TASK-${id}`);

describe('a question of a running agent', () => {
  const here = askingProject('agent: { max_turns: 1 }', afterAll);
  let daemon: WorkingDaemon;
  beforeAll(async () => {
    for (const id of [1, 2, 3]) asks(here, id, APPROVAL);
    for (const id of [4, 5]) asks(here, id, INPUT);
    asks(here, 6, ONE_BLANK);
    daemon = await daemonIn(here);
    await Promise.all([1, 2, 3, 4, 5, 6].map((id) => daemon.said('run asks a person', id)));
  });

  test('an approval is given, and the agent receives it in its current turn', async () => {
    const answered = await here.baton('answer', 'TASK-1', '--accept');
    await daemon.said('run ended', 1);

    expect(answered).toEqual({ code: 0, stdout: 'The agent of TASK-1 has your answer.\n', stderr: '' });
    expect(replies(here, 1)).toEqual([{ decision: 'accept' }]);
    expect(resumed(here, 1)).toEqual([]);
  });

  test('an approval is declined, and the run continues', async () => {
    expect((await give(here, 2, { text: 'no' })).code).toBe(0);

    const { outcome } = await daemon.said('run ended', 2);
    expect(outcome).toBe('success');
    expect(replies(here, 2)).toEqual([{ decision: 'decline' }]);
  });

  test('an answer that does not fit exits with 2 and names the flags to use', async () => {
    expect(await give(here, 3, { text: 'perhaps' })).toMatchObject({
      code: 2,
      stderr: 'baton: this question needs --accept or --decline\n',
    });
    expect(await give(here, 4, { accept: true })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/needs words.*--field colour=… --field size=…, or --decline\n$/),
    });
    expect(await give(here, 4, { fields: ['colour=red'] })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/not answered: size; give --field colour=… --field size=…/),
    });
    expect((await give(here, 4, { fields: ['colour=red', 'size='] })).stderr).toContain('size is empty');
    expect((await here.baton('answer', 'TASK-3', '--accept', '--decline')).code).toBe(2);
    expect(replies(here, 4)).toEqual([]);
  });

  test('an answer without an issue is a usage error', async () => {
    const whose = { code: 2, stdout: '', stderr: expect.stringContaining('name the issue to answer') };

    expect(await here.baton('answer', '--accept')).toMatchObject(whose);
    expect(await give(here, undefined, {}, 'q1')).toMatchObject(whose);
  });

  test('text is given field by field', async () => {
    const answered = await give(here, 4, { fields: ['colour=dark = red', 'size=L'] });
    await daemon.said('run ended', 4);

    expect(answered.code).toBe(0);
    expect(replies(here, 4)).toEqual([{ answers: { colour: { answers: ['dark = red'] }, size: { answers: ['L'] } } }]);
  });

  test('text is the rest of the line when one field is free', async () => {
    expect((await here.baton('answer', 'TASK-6', 'Ada', 'Lovelace')).code).toBe(0);

    await daemon.said('run ended', 6);
    expect(replies(here, 6)[0]).toEqual({ answers: { name: { answers: ['Ada Lovelace'] } } });
  });

  test('is listed without an issue; without an answer it is shown, exit 2', async () => {
    const listed = await give(here, undefined, {});
    const shown = await give(here, 5, {});

    const question = 'TASK-5  Title 5\n  │ Paint\n  │ colour: Which colour? (red | blue)\n  │ size: Which size?\n';
    expect(listed).toMatchObject({ code: 0, stderr: '' });
    expect(listed.stdout).toContain(`${question}  baton answer TASK-5\n`);
    expect(shown).toEqual({
      code: 2,
      stdout: question,
      stderr: 'baton: give an answer: --field colour=… --field size=…, or --decline\n',
    });
  });

  test('is closed when the run is stopped', async () => {
    const other = await give(here, 3, { accept: true }, 'q9');
    await here.baton('stop', 'TASK-3');
    await parked(daemon, 3);

    expect(other).toMatchObject({ code: 1, stderr: expect.stringMatching(/no question q9 is open; open: \S+-q1\n/) });
    expect(await give(here, 3, { accept: true })).toMatchObject({
      code: 1,
      stderr: 'baton: no question about TASK-3 is open\n',
    });
  });
});

describe('a question of a parked issue', () => {
  const here = askingProject('agent: { max_turns: 1, input_timeout_ms: 100 }', afterAll);
  let daemon: WorkingDaemon;
  beforeAll(async () => {
    asks(here, 1, APPROVAL);
    asks(here, 2, ONE_BLANK);
    daemon = await daemonIn(here);
    await Promise.all([1, 2].map((id) => parked(daemon, id)));
  });

  test('is answered: a new run continues on the same thread', async () => {
    const answered = await give(here, 1, { accept: true });
    await secondTurn(daemon, 1);

    expect(answered).toMatchObject({ code: 0, stdout: 'TASK-1 goes on with your answer, on the same thread.\n' });
    expect(resumed(here, 1)).toEqual(['thread-1']);
    expect(texts(here, 1)[1]).toMatch(
      /^You asked a person:\nRun a command\nCommand: make deploy\n[\s\S]*The answer: yes\. Go ahead/,
    );
  });

  test('is declined, and the agent receives the decision', async () => {
    await give(here, 2, { decline: true });
    await secondTurn(daemon, 2);

    expect(texts(here, 2)[1]).toMatch(/Which name\?[\s\S]*The answer: none\. Decide for yourself/);
  });
});

test('neither a question nor its answer is lost by kill -9, a pause and a restart', async () => {
  const here = askingProject('agent: { max_turns: 1 }');
  for (const id of [1, 2]) asks(here, id, APPROVAL);
  const first = await daemonIn(here);
  await Promise.all([1, 2].map((id) => first.said('run asks a person', id)));
  // One that is not stored yet is asked again instead.
  await untilStored(here, /(?:"questions": \[\s*\{[\s\S]*?){2}/);
  await first.kill();

  const second = await daemonIn(here);
  await Promise.all([1, 2].map((id) => parked(second, id)));
  const asked = await give(here, undefined, {});
  await give(here, 1, { accept: true });
  await secondTurn(second, 1);
  await here.baton('pause');
  const answered = await give(here, 2, { decline: true });
  await untilStored(here, /"reason": "answer"/);
  await second.kill();
  const third = await daemonIn(here);
  await here.baton('resume');
  await secondTurn(third, 2);

  expect(asked.stdout).toContain('Command: make deploy');
  expect(answered.code).toBe(0);
  expect(resumed(here, 1)).toEqual(['thread-1']);
  expect(texts(here, 1)[1]).toMatch(/The answer: yes/);
  expect(texts(here, 2).at(-1)).toMatch(/The answer: no\. Do not do this/);
});

test('an unanswered question is declined if the workflow says so, and the run continues', async () => {
  const here = askingProject('agent: { max_turns: 1, input_timeout_ms: 100, on_input_timeout: decline }');
  asks(here, 1, APPROVAL);
  const daemon = await daemonIn(here);

  const { outcome } = await daemon.said('run ended');

  expect(outcome).toBe('success');
  expect(replies(here, 1)[0]).toEqual({ decision: 'decline' });
  expect(daemon.lines.map(({ msg }) => msg)).toContain('no answer in time, declined');
});

const APPROVAL_QUESTION: QuestionView = { id: 'q', kind: 'approval', text: 'Run a command', fields: [] };
const words = (...ids: string[]): QuestionView => ({
  id: 'q',
  kind: 'input',
  text: 'Tell me',
  fields: ids.map((id) => ({ id, label: `${id}?`, options: [] })),
});
const given = (part: Partial<GivenAnswer>): GivenAnswer => ({
  text: undefined,
  accept: false,
  decline: false,
  fields: [],
  ...part,
});

describe('an answer on the command line', () => {
  test.each<[string, Partial<GivenAnswer>, QuestionView, object]>([
    ['--accept', { accept: true }, APPROVAL_QUESTION, { question_id: 'q', decision: 'accept' }],
    ['--decline', { decline: true }, words('a'), { question_id: 'q', decision: 'decline' }],
    ['yes', { text: 'Yes' }, APPROVAL_QUESTION, { question_id: 'q', decision: 'accept' }],
    ['no', { text: 'n' }, APPROVAL_QUESTION, { question_id: 'q', decision: 'decline' }],
    ['one text', { text: 'no' }, words('a'), { question_id: 'q', values: { a: 'no' } }],
    ['fields', { fields: ['a=1=2', 'b=3'] }, words('a', 'b'), { question_id: 'q', values: { a: '1=2', b: '3' } }],
    ['--accept where there are no blanks', { accept: true }, words(), { question_id: 'q', values: {} }],
    ['no text', { text: ' ' }, words('a'), { problem: 'a is empty; give an answer or --decline' }],
    ['an empty field', { fields: ['a='] }, words('a'), { problem: 'a is empty; give an answer or --decline' }],
    [
      'a field too few',
      { fields: ['a=1'] },
      words('a', 'b'),
      { problem: 'not answered: b; give --field a=… --field b=…, or --decline' },
    ],
    [
      'a field too many',
      { fields: ['c=1'] },
      words('a'),
      { problem: 'there is no field c; this question needs the answer in words, --field a=…, or --decline' },
    ],
    [
      '--accept for words',
      { accept: true },
      words('a'),
      { problem: 'this question needs words, not a yes: the answer in words, --field a=…, or --decline' },
    ],
    [
      'a field for a yes',
      { fields: ['x=y'] },
      APPROVAL_QUESTION,
      { problem: 'this question needs --accept or --decline' },
    ],
    ['a text and a flag', { text: 'x', accept: true }, APPROVAL_QUESTION, { problem: 'give "x" or a flag, not both' }],
    ['other words', { text: 'hm' }, APPROVAL_QUESTION, { problem: 'this question needs --accept or --decline' }],
    ['a text for two', { text: 'x' }, words('a', 'b'), { problem: expect.stringContaining('has 2 fields') }],
    ['a field without a name', { fields: ['=x'] }, words('a'), { problem: '--field must be id=value, not "=x"' }],
    ['a field twice', { fields: ['a=1', 'a=2'] }, words('a'), { problem: 'the field a is given twice' }],
  ])('%s', (_, part, question, expected) => {
    expect(requestOf(given(part), question)).toEqual(expected);
  });

  test('may name a field as every object does', () => {
    expect(requestOf(given({ fields: ['__proto__=x'] }), words('__proto__'))).toEqual({
      question_id: 'q',
      values: Object.fromEntries([['__proto__', 'x']]),
    });
  });
});

describe('a question on a terminal', () => {
  const field = (id: string, label: string, options: string[] = []) => ({ id, label, options });

  test('repeats no text', () => {
    const one = { ...words(), text: 'Version\nWhich version?', fields: [field('version', 'Which version?')] };
    const two = {
      ...words(),
      text: 'Paint\nWhich colour?\nWhich size?',
      fields: [field('colour', 'Which colour?', ['red', 'blue']), field('size', 'Which size?')],
    };
    const other = { ...words(), text: 'The server asks', fields: [field('name', 'Your name', ['Ada'])] };

    expect(questionText(one, 80)).toBe('  │ Version\n  │ Which version?\n');
    expect(questionText(two, 80)).toBe('  │ Paint\n  │ colour: Which colour? (red | blue)\n  │ size: Which size?\n');
    expect(questionText(other, 80)).toBe('  │ The server asks\n  │ Your name (Ada)\n');
  });

  test('has its bar on every line, however long the lines are and whatever they contain', () => {
    const text = `Run\u001b[2J\n${' '.repeat(90)}baton: accepted\r\nx`;

    const shown = questionText({ ...APPROVAL_QUESTION, text }, 80);

    for (const control of ['\u001b', '\r']) expect(shown).not.toContain(control);
    const rows = shown.trimEnd().split('\n');
    expect(rows.every((row) => row.startsWith('  │ ') && row.length <= 80)).toBe(true);
    expect(rows.join('')).toContain('baton: accepted');
  });
});
