import { describe, expect, test } from 'vitest';
import { BatonError } from '../../../src/domain/errors.js';
import type { Json } from '../../../src/domain/json.js';
import { holds, parseExpression, tokensOf } from '../../../src/domain/steps/expression.js';
import { deepFrozen, nested } from './json-arbitraries.js';

const SCOPE: { readonly [root: string]: Json } = {
  issue: { title: 'It\'s a "lamp"\nC:\\x', state: 'Todo', labels: ['bug'] },
  steps: { check: { output: { exit_code: 0, isGood: true } }, skipped: { output: null } },
  run: { number: 1 },
  item: { a: 1, b: [null] },
};

describe('an expression is evaluated', () => {
  test.each([
    ['true', true],
    ['${steps.check.output.exit_code} == 0', true],
    ['${steps.check.output.isGood}', true],
    ["${issue.state} == 'Todo' and ${run.number} == 1", true],
    ['${steps.skipped.output} == null', true],
    ['not ${steps.check.output.isGood}', false],
    ['not not true', true],
    ['(((true)))', true],
    ['(1 == 1) == true', true],
    ['(1 == 2) == (2 == 1)', true],
  ])('%s: %s', (text, value) => {
    expect(holds(text, SCOPE)).toBe(value);
  });

  test.each([
    // `and` binds tighter than `or`
    ['true or false and false', true],
    ['(true or false) and false', false],
    ['false and true or true', true],
    ['false and (true or true)', false],
    // `not` binds tighter than both
    ['not true or true', true],
    ['not (true or true)', false],
    ['not false and false', false],
    ['not (false and false)', true],
    ['true and not false', true],
    // A comparison binds tighter than `not`
    ['not ${run.number} == 1', false],
    ['not ${run.number} == 2', true],
    ['not true == false', true],
    ['(not true) == false', true],
  ])('in order of precedence: %s is %s', (text, value) => {
    expect(holds(text, SCOPE)).toBe(value);
  });

  test.each([
    ["1 == '1'", false],
    ["1 != '1'", true],
    ["'' == null", false],
    ['0 == false', false],
    ["'true' == true", false],
    ['null == false', false],
    ['1 == 1.0', true],
    ['-0 == 0', true],
    ['1e2 == 100', true],
    ['2.5e-1 == 0.25', true],
    ["'a' == 'A'", false],
    ['${issue.labels} == \'["bug"]\'', false],
    ['${issue.labels} == ${issue.labels}', true],
    ['${issue} != ${item}', true],
  ])('by typed equality: %s is %s', (text, value) => {
    expect(holds(text, SCOPE)).toBe(value);
  });

  test.each<[Json, Json, boolean]>([
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, true],
    [{ a: 1 }, { a: 1, b: null }, false],
    [{ a: 1 }, { b: 1 }, false],
    [[1, 2], [2, 1], false],
    [[1], { 0: 1 }, false],
    [[], {}, false],
    [[], null, false],
    [{}, JSON.parse('{"__proto__":{}}') as Json, false],
    [JSON.parse('{"__proto__":1}') as Json, JSON.parse('{"__proto__":1}') as Json, true],
    [JSON.parse('{"__proto__":1}') as Json, { toString: 1 }, false],
    [JSON.parse('{"__proto__":{}}') as Json, { a: {} }, false],
  ])('maps and lists are equal by content: %j and %j', (left, right, same) => {
    const scope = { item: left, iteration: right };

    expect(holds('${item} == ${iteration}', scope)).toBe(same);
    expect(holds('${iteration} != ${item}', scope)).toBe(!same);
  });

  test.each([
    ['1 < 2', true],
    ['2 <= 2', true],
    ['10 > 9', true],
    ["'10' > '9'", false],
    ["'a' < 'b'", true],
    ["'b' >= 'b'", true],
    ['-1 < -0.5', true],
    ["'' < 'a'", true],
  ])('by order of numbers or of texts: %s is %s', (text, value) => {
    expect(holds(text, SCOPE)).toBe(value);
  });

  test('with any white space between its tokens', () => {
    expect(holds('\n\t not\n(\n1==2\r\n)\tand"a"==\'a\'\n', SCOPE)).toBe(true);
    expect(holds('${ run.number }==1 and(true)', SCOPE)).toBe(true);
  });

  test.each([
    [`'it\\'s' == "it's"`, true],
    [`"say \\"x\\"" == 'say "x"'`, true],
    ["'\\\\' == '\\n'", false],
    ["'a\\nb' == 'a\nb'", true],
    ["'\\t' == '\t'", true],
    [`\${issue.title} == "It's a \\"lamp\\"\\nC:\\\\x"`, true],
    ["'and' == 'or'", false],
    ["'${HOME}' == '${HOME}'", true],
    ["'$${item}' == '$$' ", false],
  ])('with quotes and escapes: %s is %s', (text, value) => {
    expect(holds(text, SCOPE)).toBe(value);
  });

  test('with $${ as the escape of a literal ${ in quotes', () => {
    expect(holds("${issue.title} == '$${item}'", { issue: { title: '${item}' } })).toBe(true);
  });
});

describe('the right side is not evaluated when the left side decides', () => {
  test.each([
    ['true or ${issue.nothing}', true],
    ["true or 'text'", true],
    ["false and 1 < 'a'", false],
    ['${steps.skipped.output} != null and ${steps.skipped.output.exit_code} == 0', false],
  ])('%s', (text, value) => {
    expect(holds(text, SCOPE)).toBe(value);
  });

  test('an unevaluated side must still parse', () => {
    expect(() => holds('true or (', SCOPE)).toThrow(BatonError);
    expect(() => holds('true or ${HOME}', SCOPE)).toThrow(BatonError);
  });
});

test('all tokens of an expression are found, including those that evaluation would skip', () => {
  const text = 'true or not (${issue.state} == "x" and ${steps.a.output} < 1) or ${item}';

  expect(tokensOf(parseExpression(text)).map((token) => token.text)).toEqual([
    '${issue.state}',
    '${steps.a.output}',
    '${item}',
  ]);
});

test('S1-42 evaluation is pure, so one evaluation before all retries is enough', () => {
  const scope = deepFrozen(structuredClone(SCOPE) as { [root: string]: Json });
  const text = 'not ${issue.labels} == ${item} and ${steps.check.output.exit_code} <= 0';

  expect([holds(text, scope), holds(text, scope)]).toEqual([true, true]);
  expect(scope).toEqual(SCOPE);
});

const fault = (code: 'expression_error' | 'step_data_error', text = '') =>
  expect.objectContaining({ code, message: expect.stringContaining(text) });

describe('an error in an expression is never false', () => {
  test.each([
    ['', 'is empty'],
    [' \n ', 'is empty'],
    ['1', 'needs true or false, but 1 is a number'],
    ["'true'", 'needs true or false, but "true" is text'],
    ['null', 'needs true or false, but null is null'],
    ['${item}', 'needs true or false, but ${item} is a map'],
    ['not ${issue.labels}', 'needs true or false, but ${issue.labels} is a list'],
    ['true and 0', 'needs true or false, but 0 is a number'],
    ["false or ''", 'needs true or false, but "" is text'],
    ["1 < 'a'", 'cannot put a number and text in order with <'],
    ['null >= 0', 'cannot put null and a number in order with >='],
    ['true > false', 'cannot put a boolean and a boolean in order with >'],
    ['${issue.labels} <= ${issue.labels}', 'cannot put a list and a list in order with <='],
    ['1 < 2 < 3', 'has < where and, or, a comparison or the end should be'],
    ['true == not false', 'has not where a value should be'],
    ['true and', 'has nothing where a value should be'],
    ['and true', 'has and where a value should be'],
    ['true false', 'has false where and, or, a comparison or the end should be'],
    ['(true', 'has nothing where ) should be'],
    ['true)', 'has ) where and, or, a comparison or the end should be'],
    ['()', 'has ) where a value should be'],
    ['1 = 1', 'cannot be read at "= 1"'],
    ['true && true', 'cannot be read at "&& true"'],
    ['!true', 'cannot be read at "!true"'],
    ['True', 'cannot be read at "True"'],
    ['true AND true', 'cannot be read at "AND true"'],
    ['trueand true', 'cannot be read at "trueand true"'],
    ['Todo == 1', 'cannot be read at "Todo == 1"'],
    ['size(1) == 1', 'cannot be read at "size(1) == 1"'],
    ['1 + 1 == 2', 'cannot be read at "+ 1 == 2"'],
    ['1and 1', 'cannot be read at "1and 1"'],
    ['1.2.3 == 1', 'cannot be read at "1.2.3 == 1"'],
    ['.5 == 1', 'cannot be read at ".5 == 1"'],
    ['0x10 == 16', 'cannot be read at "0x10 == 16"'],
    ['1e999 == 1', 'has a number that is too large'],
    [`${'9'.repeat(400)} == ${'8'.repeat(400)}`, 'has a number that is too large'],
    ["'a == 1", 'cannot be read at "\'a == 1"'],
    ["'a\\' == 1", 'cannot be read'],
    ["'\\d' == 1", 'has a backslash before "d"'],
    ["'\\${HOME}' == 1", 'has a backslash before "$"'],
    ["'${issue.title}' == 'x'", 'has ${issue.title} in quotes; write it without them'],
    ['${HOME} == 1', 'names ${HOME}; data begins with one of issue, attempt'],
    ['${} == 1', 'names ${}'],
    ['$${item} == 1', 'cannot be read at "$${item} == 1"'],
    ['${item', 'cannot be read at "${item"'],
    ['true \u{1f4a9}', 'cannot be read'],
    ['true\0', 'cannot be read'],
  ])('%j', (text, message) => {
    expect(() => holds(text, SCOPE)).toThrow(fault('expression_error', message));
  });

  test.each([
    '${issue.titel} == 1',
    '${steps.skipped.output.x} == 1',
    '${state} == 1',
    '${issue..x} == 1',
    "'${issue..x}' == 1",
  ])('%s fails with the error of its data', (text) => {
    expect(() => holds(text, SCOPE)).toThrow(fault('step_data_error'));
  });
});

describe('limits', () => {
  test('an expression of over 2,000 characters is rejected', () => {
    expect(holds('true'.padEnd(2_000), SCOPE)).toBe(true);
    expect(() => parseExpression('true'.padEnd(2_001))).toThrow(fault('expression_error', 'longer than 2000'));
    expect(() => parseExpression('('.repeat(1_000_000))).toThrow(fault('expression_error', 'longer than 2000'));
  });

  test.each([
    ['not', (levels: number) => `${'not '.repeat(levels)}true`],
    ['parentheses', (levels: number) => `${'('.repeat(levels)}true${')'.repeat(levels)}`],
    ['both', (levels: number) => `${'not ('.repeat(levels / 2)}false${')'.repeat(levels / 2)}`],
  ])('50 levels of %s are parsed, more are rejected', (_, write) => {
    expect(holds(write(50), SCOPE)).toBe(true);
    expect(() => parseExpression(write(52))).toThrow(fault('expression_error', 'nested more than 50 levels deep'));
  });

  test('the longest chains within the limit are evaluated', () => {
    const ands = `1==1${'and(1==1)'.repeat(221)}`.replaceAll('1and', '1 and');
    const ors = `''==1${"or''==1 ".repeat(249)}`.replaceAll('1or', '1 or');

    expect(holds(ands, SCOPE)).toBe(true);
    expect(holds(ors, SCOPE)).toBe(false);
    expect(tokensOf(parseExpression(`\${item}${'or${item}'.repeat(220)}`))).toHaveLength(221);
  });

  test.each([
    `'${'\\'.repeat(1_990)}`,
    `${' '.repeat(1_990)}?`,
    `\${${' '.repeat(1_990)}`,
    `${'1'.repeat(1_990)}x`,
    `'${'a\\'.repeat(990)}`,
  ])('unreadable text is rejected quickly (%#)', (text) => {
    expect(() => parseExpression(text)).toThrow(fault('expression_error'));
  });

  test('SEC-14 data that is nested 10,000 deep is an error', () => {
    const scope = { item: nested(10_000, 1), iteration: nested(10_000, 1) };

    expect(() => holds('${item} == ${iteration}', scope)).toThrow(fault('step_data_error', 'nested more than'));
  });

  test('a message shows only the beginning of a long expression', () => {
    expect(() => holds(`1 == ${'x'.repeat(1_900)}`, SCOPE)).toThrow(
      /^the expression "1 == x{92}…" cannot be read at "x{20}"$/,
    );
  });
});
