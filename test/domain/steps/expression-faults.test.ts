import { describe, expect, test } from 'vitest';
import type { Json } from '../../../src/domain/json.js';
import { holds, parseExpression, tokensOf } from '../../../src/domain/steps/expression.js';
import { nested } from './json-arbitraries.js';

const SCOPE: { readonly [root: string]: Json } = {
  issue: { title: 'It\'s a "lamp"\nC:\\x', state: 'Todo', labels: ['bug'] },
  steps: { check: { output: { exit_code: 0, isGood: true } }, skipped: { output: null } },
  run: { number: 1 },
  item: { a: 1, b: [null] },
};

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
