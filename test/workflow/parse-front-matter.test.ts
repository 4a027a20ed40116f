import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BatonError } from '../../src/domain/errors.js';
import { type FrontMatter, parseFrontMatter } from '../../src/workflow/parse-front-matter.js';

const parse = (text: string | Uint8Array): FrontMatter =>
  parseFrontMatter(typeof text === 'string' ? Buffer.from(text) : text, 'WORKFLOW.md');

function errorOf(text: string | Uint8Array): BatonError {
  try {
    parse(text);
  } catch (error) {
    if (error instanceof BatonError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

test('the settings are between the fences; the trimmed remainder is the body', () => {
  const parsed = parse('---\na: 1\nb: [x, true, null]\n---\n\n\n  Hello\nyou  \n\n');

  expect(parsed.values).toEqual({ a: 1, b: ['x', true, null] });
  expect(parsed.body).toBe('Hello\nyou');
  expect(parsed.bodyStartLine).toBe(7);
});

test('front matter is optional', () => {
  const parsed = parse('Just a prompt\n---\nwith a rule\n');

  expect(parsed).toMatchObject({
    values: {},
    body: 'Just a prompt\n---\nwith a rule',
    bodyStartLine: 1,
    isPresent: false,
  });
});

test('front matter that is empty or has only comments contains no settings', () => {
  expect(parse('---\n---\nHi').values).toEqual({});
  expect(parse('---\n# nothing\n\n---\nHi').values).toEqual({});
});

test('CRLF and a byte order mark do not change values or positions', () => {
  const unix = '---\nhooks:\n  before_run: |\n    a\n    b\nx: 1\n---\nOne\nTwo\n';
  const windows = `\uFEFF${unix.replaceAll('\n', '\r\n')}`;

  const [expected, actual] = [parse(unix), parse(windows)];

  expect(actual.values).toEqual(expected.values);
  expect(actual.body).toBe(expected.body);
  expect(actual.positions.valueAt(['hooks', 'before_run'])).toEqual({ line: 3, column: 15 });
  expect(actual.positions.keyAt(['x'])).toEqual({ line: 6, column: 1 });
});

test('a YAML error has the line and column in the file', () => {
  const error = errorOf('---\na: 1\nb: c: d\n---\n');

  expect(error.code).toBe('workflow_parse_error');
  expect(error.message).toMatch(/^WORKFLOW\.md:3:4 /);
});

test.each([
  ['text with a colon', 'a:\n  b: ${issue.title}: new', 'put text with `: `, `{` or `}` in quotes'],
  ['a token in a flow map', 'a: { when: ${steps.a.output.ok} == 1 }', 'put text with `: `, `{` or `}` in quotes'],
  ['wrong indentation', 'a:\n  - b: 1\n   c: 2', 'look at the indentation'],
  ['a tab', 'a:\n\tb: 1', 'use spaces'],
])('a YAML error names the probable cause: %s', (_, yaml, part) => {
  expect(errorOf(`---\n${yaml}\n---\n`).message).toContain(part);
});

test('a duplicate key is an error at its second occurrence', () => {
  expect(errorOf('---\na: 1\nb: 2\na: 3\n---\n').message).toContain('WORKFLOW.md:4:1 the key "a" occurs twice');
});

test.each([
  ['- a\n- b', 'a list'],
  ['just text', 'a single value'],
])('front matter that is not a map is workflow_front_matter_not_a_map: %j', (yaml, what) => {
  const error = errorOf(`---\n${yaml}\n---\n`);

  expect(error.code).toBe('workflow_front_matter_not_a_map');
  expect(error.message).toContain(`the front matter is ${what}, not a map`);
});

test.each([
  ['truncated inside a character', Buffer.from('---\na: ü\n---\n').subarray(0, 8)],
  ['UTF-16', Buffer.from('\uFEFF---\n', 'utf16le')],
  ['cut inside the front matter', Buffer.from('---\ntracker:\n  kind: lo')],
  ['NUL bytes', Buffer.from('---\na: 1\n---\nHi\0\0\0')],
])('SEC-26 a half-written file is workflow_parse_error: %s', (_name, bytes) => {
  expect(errorOf(bytes).code).toBe('workflow_parse_error');
});

test('SEC-26 an alias bomb is rejected', () => {
  const levels = Array.from({ length: 9 }, (_, i) => `l${i + 1}: &l${i + 1} [${Array(9).fill(`*l${i}`).join(',')}]`);

  const error = errorOf(`---\nl0: &l0 [x,x,x,x,x,x,x,x,x]\n${levels.join('\n')}\n---\n`);

  expect(error.code).toBe('workflow_parse_error');
});

test('SEC-26 a few aliases of a large value are rejected by their expanded size', () => {
  const list = Array.from({ length: 5000 }, () => 'x').join(',');
  const aliases = Array.from({ length: 20 }, (_, i) => `b${i}: *a`).join('\n');

  expect(errorOf(`---\na: &a [${list}]\n${aliases}\n---\n`).message).toContain('more than 50000 values');
});

test('SEC-26 nesting that only aliases create is rejected', () => {
  const levels = Array.from({ length: 9 }, (_, i) => `l${i + 1}: &l${i + 1} ${'['.repeat(50)}*l${i}${']'.repeat(50)}`);

  expect(errorOf(`---\nl0: &l0 x\n${levels.join('\n')}\n---\n`).message).toContain('nested more than 64 levels');
});

test('SEC-26 a cycle of anchors is rejected', () => {
  expect(errorOf('---\na: &a\n  b: *a\n---\n').code).toBe('workflow_parse_error');
});

test('SEC-26 nesting that would overflow the stack of the YAML parser is rejected', () => {
  for (const opener of ['[', '{', '- ', '? ', ': ']) {
    expect(errorOf(`---\na:\n  ${opener.repeat(20_000)}\n---\n`).code).toBe('workflow_parse_error');
  }
});

test('SEC-26 front matter that is too long is rejected before it is parsed', () => {
  expect(errorOf(`---\n${'a: 1\n'.repeat(30_000)}---\n`).message).toContain('longer than 131072 characters');
});

test('thousands of keys load quickly and without an error', () => {
  const keys = Array.from({ length: 8000 }, (_, i) => `key${i}: ${i}`).join('\n');

  expect(Object.keys(parse(`---\n${keys}\n---\n`).values)).toHaveLength(8000);
});

test('anchors and aliases are supported', () => {
  expect(parse('---\na: &x [1, 2]\nb: *x\n---\n').values).toEqual({ a: [1, 2], b: [1, 2] });
});

test('a key named __proto__ is an ordinary key', () => {
  const { values } = parse('---\n__proto__: {polluted: true}\na: 1\n---\n');

  expect(Object.keys(values)).toEqual(['__proto__', 'a']);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});

test.each(['.nan', '.inf', '!!binary aGk=', '? {a: b}\n: c'])(
  'a YAML value without a JSON equivalent is rejected or read as text: %s',
  (yaml) => {
    const text = `---\na:\n  ${yaml.replace('\n', '\n  ')}\n---\n`;

    expect(() => JSON.stringify(parse(text).values)).not.toThrow(TypeError);
  },
);

test('SEC-20 the message of a YAML error contains no text of the file', () => {
  for (const yaml of ['a: [1, lin_api_canary', 'a: *lin_api_canary', '}lin_api_canary', 'a: "b" lin_api_canary']) {
    expect(errorOf(`---\n${yaml}\n---\n`).message).not.toContain('canary');
  }
});

test('for arbitrary bytes only BatonError is thrown, with positions inside the file', () => {
  const piece = fc.constantFrom(
    '---',
    '\n',
    '\r\n',
    'a',
    ': ',
    '- ',
    '[',
    ']',
    '{',
    '}',
    '&x',
    '*x',
    '"',
    "'",
    '|',
    '>',
    '  ',
    '\t',
    '#',
    '!',
    '?',
    '\uFEFF',
    '\0',
    '1',
    '...',
    '%',
    '<<: ',
  );
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(piece, { maxLength: 60 }).map((parts) => `---\n${parts.join('')}\n---\nbody`),
    fc.array(piece, { maxLength: 40 }).map((parts) => parts.join('')),
  );
  const bytes = fc.oneof(
    text.map((value) => Buffer.from(value)),
    fc.uint8Array(),
  );

  fc.assert(
    fc.property(bytes, (input) => {
      try {
        const { values, body, bodyStartLine } = parse(input);
        expect(JSON.parse(JSON.stringify(values))).toEqual(values);
        expect(bodyStartLine > 0).toBe(body !== '');
      } catch (error) {
        if (!(error instanceof BatonError)) throw error;
        expect(error.message).toContain('WORKFLOW.md');
      }
    }),
    { numRuns: 1500 },
  );
});
