import { describe, expect, test } from 'vitest';
import type { QuestionView } from '../../../src/api/schemas.js';
import { type GivenAnswer, questionText, requestOf } from '../../../src/cli/answer.js';

const APPROVAL: QuestionView = { id: 'q', kind: 'approval', text: 'Run a command', fields: [] };
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
    ['--accept', { accept: true }, APPROVAL, { question_id: 'q', decision: 'accept' }],
    ['--decline', { decline: true }, words('a'), { question_id: 'q', decision: 'decline' }],
    ['yes', { text: 'Yes' }, APPROVAL, { question_id: 'q', decision: 'accept' }],
    ['no', { text: 'n' }, APPROVAL, { question_id: 'q', decision: 'decline' }],
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
    ['a field for a yes', { fields: ['x=y'] }, APPROVAL, { problem: 'this question needs --accept or --decline' }],
    ['a text and a flag', { text: 'x', accept: true }, APPROVAL, { problem: 'give "x" or a flag, not both' }],
    ['other words', { text: 'hm' }, APPROVAL, { problem: 'this question needs --accept or --decline' }],
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

  test('says nothing twice', () => {
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

  test('stays behind its bar, however long its lines are and whatever is in them', () => {
    const text = `Run\u001b[2J\n${' '.repeat(90)}baton: accepted\r\nx`;

    const shown = questionText({ ...APPROVAL, text }, 80);

    for (const control of ['\u001b', '\r']) expect(shown).not.toContain(control);
    const rows = shown.trimEnd().split('\n');
    expect(rows.every((row) => row.startsWith('  │ ') && row.length <= 80)).toBe(true);
    expect(rows.join('')).toContain('baton: accepted');
  });
});
