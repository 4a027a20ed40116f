import { describe, expect, test } from 'vitest';
import type { Json } from '../../../src/domain/json.js';
import { parseText, renderText, renderValue, SCOPE_ROOTS, tokensIn } from '../../../src/domain/steps/tokens.js';
import { dataFailure as failure } from './data-failure.js';
import { nested } from './json-arbitraries.js';

const SCOPE: { readonly [root: string]: Json } = {
  issue: { id: 'i1', title: 'Fix the lamp', labels: ['bug', 'api'], description: null, blocked_by: [{ id: 'i2' }] },
  attempt: null,
  inputs: { topic: 'lamps', count: 3, isOn: false, map: { a: [1, null] } },
  steps: { plan: { output: { text: 'first' } }, 'b-c': { output: null } },
  item: 7,
};

describe('S4-05', () => {
  test('tokens are rendered at every position in the texts of a step', () => {
    const step = {
      prompt: 'On ${inputs.topic}: ${steps.plan.output.text}',
      args: [{ id: '${issue.id}' }, 1, null, true],
    };

    expect(renderValue(step, SCOPE)).toEqual({ prompt: 'On lamps: first', args: [{ id: 'i1' }, 1, null, true] });
  });

  test.each<[string, Json]>([
    ['${inputs.count}', 3],
    ['${inputs.isOn}', false],
    ['${inputs.map}', { a: [1, null] }],
    ['${issue.labels}', ['bug', 'api']],
    ['${issue.description}', null],
    ['${attempt}', null],
    ['${item}', 7],
    ['${ issue.title }', 'Fix the lamp'],
    ['${\n  issue.title\n}', 'Fix the lamp'],
  ])('%j keeps the type of its value', (text, value) => {
    expect(renderValue(text, SCOPE)).toEqual(value);
  });

  test.each([
    ['${inputs.count} lamps', '3 lamps'],
    [' ${inputs.count}', ' 3'],
    ['on: ${inputs.isOn}', 'on: false'],
    ['map ${inputs.map}', 'map {"a":[1,null]}'],
    ['${issue.labels}${issue.labels}', '["bug","api"]["bug","api"]'],
    ['none: ${issue.description}.', 'none: .'],
  ])('%j inside other text is converted to text', (text, value) => {
    expect(renderValue(text, SCOPE)).toBe(value);
    expect(renderText(text, SCOPE)).toBe(value);
  });

  test('where only text is allowed, a value that is one token is converted to text too', () => {
    expect(renderText('${inputs.map}', SCOPE)).toBe('{"a":[1,null]}');
    expect(renderText('${inputs.count}', SCOPE)).toBe('3');
    expect(renderText('${attempt}', SCOPE)).toBe('');
  });

  test.each<[string, Json]>([
    ['${issue.labels[1]}', 'api'],
    ['${issue.labels.1}', 'api'],
    ['${issue.blocked_by[0].id}', 'i2'],
    ['${inputs.map.a[0]}', 1],
  ])('%s selects an item of a list', (text, value) => {
    expect(renderValue(text, SCOPE)).toBe(value);
  });

  test('keys of maps are not rendered', () => {
    expect(renderValue({ '${item}': '${item}' }, SCOPE)).toEqual({ '${item}': 7 });
    expect(tokensIn({ '${item}': 'x' })).toEqual([]);
  });
});

describe('an unresolvable token fails, and the error lists the available names', () => {
  test.each([
    ['${issue.titel}', '${issue.titel}: issue has no titel; did you mean title?'],
    ['${steps.deploy.output}', '${steps.deploy.output}: steps has no deploy; there is plan, b-c'],
    [
      '${steps.b-c.output.x}',
      '${steps.b-c.output.x}: steps.b-c.output is null (a skipped step has no output), so it has no x',
    ],
    ['${issue.title.x}', '${issue.title.x}: issue.title is no map, so it has no x'],
    ['${issue.labels[2]}', '${issue.labels[2]}: issue.labels is a list of 2, so it has no 2'],
    ['${state.plan}', '${state.plan} is not known here; there is issue, attempt, inputs, steps, item'],
  ])('%s', (text, message) => {
    expect(failure(() => renderValue(text, SCOPE))).toBe(message);
    expect(failure(() => renderText(`in ${text} text`, SCOPE))).toBe(message);
  });

  test.each([
    '${issue.__proto__}',
    '${issue.constructor}',
    '${issue.toString}',
    '${issue.title.length}',
    '${issue.labels.length}',
    '${issue.labels.map}',
    '${issue.labels[00]}',
    '${issue.hasOwnProperty}',
    '${steps.__proto__.polluted}',
  ])('SEC-14 %s is not data', (text) => {
    expect(failure(() => renderValue(text, SCOPE))).toContain('has no');
  });

  test('a key named __proto__ is an ordinary key', () => {
    const value = JSON.parse('{"__proto__":{"x":"${item}"}}') as Json;

    const rendered = renderValue(value, SCOPE);

    expect(JSON.stringify(rendered)).toBe('{"__proto__":{"x":7}}');
    expect(Object.getPrototypeOf(rendered)).toBe(Object.prototype);
    expect(renderValue('${item.__proto__.x}', { item: rendered })).toBe(7);
  });

  test('long hostile keys are truncated in messages and not compared', () => {
    const keys = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`${'k'.repeat(n % 200)}${n}`, n]));

    const message = failure(() =>
      renderText('${item.nothing_like_it}', { item: { ['x'.repeat(100_000)]: 1, ...keys } }),
    );

    expect(message.length).toBeLessThan(1_000);
  });
});

describe('text that is not a token is not changed', () => {
  test.each([
    '${HOME}',
    '${1}',
    '${}',
    '${',
    '$',
    '{}',
    '$issue.title',
    '${issues.title}',
    '${Issue.title}',
    '${#item}',
    '${HOME:-x}',
    'a } ${ b',
    '${a{b}c}',
    '${HOME',
    '${{ issue.title }}',
    '{{ issue.title }}',
  ])('%s', (text) => {
    expect(renderValue(text, SCOPE)).toBe(text);
    expect(tokensIn(text)).toEqual([]);
  });

  test.each([
    ['$${issue.title}', '${issue.title}'],
    ['$${HOME}', '${HOME}'],
    ['$${', '${'],
    ['$$${item}', '$${item}'],
    ['$${item}${item}', '${item}7'],
    ['$$', '$$'],
  ])('%s is a literal %s', (text, literal) => {
    expect(renderValue(text, SCOPE)).toBe(literal);
  });

  test('a token inside other braces is rendered', () => {
    expect(renderText('${HOME:-${issue.title}}', SCOPE)).toBe('${HOME:-Fix the lamp}');
    expect(renderText('${HOME ${item}', SCOPE)).toBe('${HOME 7');
    expect(renderText('${HOME:-$${item}}', SCOPE)).toBe('${HOME:-${item}}');
    expect(renderText('{"n":${item}}', SCOPE)).toBe('{"n":7}');
  });
});

test.each([
  '${issue.title',
  '${issue.title\nand more',
  '${issue.ti{tle}',
  '${issue.${item}}',
  '${issue.title ${item}',
  '${issue..title}',
  '${issue.title.}',
  '${.issue}${issue.}',
  '${issue title}',
  '${issue.la\nbels}',
  '${issue[title]}',
  '${issue.labels[-1]}',
  '${issue.labels[0}',
  '${issue:-x}',
  '${item + 1}',
  '${issue.title | upcase}',
])('%j begins like a token and cannot be parsed: it fails and shows the escape', (text) => {
  expect(failure(() => parseText(text))).toMatch(/cannot be read: .*; a literal \$\{ is written \$\$\{$/);
  expect(failure(() => tokensIn([{ text }]))).toContain('cannot be read');
  expect(failure(() => renderValue({ text }, SCOPE))).toContain('cannot be read');
});

test('the roots of a text are listed in order', () => {
  const text = SCOPE_ROOTS.map((root) => `\${${root}.x[0]}`).join(' and ');

  expect(tokensIn({ a: [text] }).map((token) => token.path)).toEqual(SCOPE_ROOTS.map((root) => [root, 'x', '0']));
  expect(parseText('a${item}b')).toEqual(['a', { path: ['item'], text: '${item}' }, 'b']);
});

const SMALL_SCOPE = { issue: { title: 'Fix the lamp' }, item: 7 };

describe('SEC-14 text and data of any size cause at most an error', () => {
  test.each([
    ['openings', '${'.repeat(100_000)],
    ['dollars', '$'.repeat(100_000)],
    ['escapes', '$${'.repeat(100_000)],
    ['spaces', `\${${' '.repeat(100_000)}`],
    ['unclosed tokens with spaces', '${   \n'.repeat(50_000)],
    ['roots', '${issues'.repeat(100_000)],
    ['braces', '{'.repeat(100_000)],
  ])('100,000 %s are text', (_, text) => {
    expect(renderText(text, SMALL_SCOPE)).toBe(text.replaceAll('$${', '${'));
  });

  test.each([
    ['names', `\${issue${'.a'.repeat(100_000)}}`],
    ['path segments', `\${issue${'.a'.repeat(100_000)}`],
    ['indices', `\${issue${'[0]'.repeat(100_000)}!}`],
    ['letters', `\${issue.${'a'.repeat(100_000)}}`],
    ['spaces', `\${issue${' '.repeat(100_000)}x}`],
  ])('a token of 100,000 %s fails with a short message', (_, text) => {
    expect(failure(() => renderText(text, SMALL_SCOPE)).length).toBeLessThan(400);
  });

  test('100,000 tokens are rendered', () => {
    expect(renderText('${item}'.repeat(100_000), SMALL_SCOPE)).toBe('7'.repeat(100_000));
    expect(tokensIn(new Array<string>(100_000).fill('${item}'))).toHaveLength(100_000);
  });

  test('a step or data that is nested 10,000 deep is rejected', () => {
    const deep = nested(10_000, '${item}');

    for (const act of [
      () => renderValue(deep, SMALL_SCOPE),
      () => tokensIn(deep),
      () => renderValue('${item}', { item: deep }),
      () => renderText('a${item}', { item: deep }),
    ])
      expect(failure(act)).toContain('nested more than 200 levels deep');
  });

  test('200 levels of nesting are accepted', () => {
    expect(renderValue(nested(200, '${item}'), SMALL_SCOPE)).toEqual(nested(200, 7));
    expect(renderText('${item}', { item: nested(200, 7) })).toBe(JSON.stringify(nested(200, 7)));
    expect(failure(() => renderText('${item}', { item: nested(201, 7) }))).toContain('200');
    expect(failure(() => renderValue(nested(201, 7), SMALL_SCOPE))).toContain('200');
  });

  test('a rendered text of over ten million characters is rejected', () => {
    const item = 'x'.repeat(1_000_000);

    expect(renderText('${item}'.repeat(10), { item })).toHaveLength(10_000_000);
    expect(failure(() => renderText('${item}'.repeat(100_000), { item }))).toContain('10000000 characters');
  });
});
