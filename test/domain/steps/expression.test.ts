import { describe, expect, test } from 'vitest';
import { BatonError } from '../../../src/domain/errors.js';
import type { Json } from '../../../src/domain/json.js';
import { holds, parseExpression, tokensOf } from '../../../src/domain/steps/expression.js';
import { deepFrozen } from './json-arbitraries.js';

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
