import { expect, test } from 'vitest';
import { validateSchema } from '../../../../runner/executors/http/json-schema.js';
import type { Json } from '../../../../src/domain/json.js';

const kindOf = (schema: Json, value: Json) => validateSchema(schema, value).kind;

test.each<[Json, Json[], Json[]]>([
  [true, [null, 1], []],
  [false, [], [null, 1]],
  [{}, [null, 1], []],
  [{ type: 'string' }, ['', 'a'], [1, null]],
  [{ type: ['integer', 'null'] }, [1, 1.0, null], [1.5, '1']],
  [{ type: 'number' }, [1, 1.5], ['1', true]],
  [{ type: 'boolean' }, [true], [0]],
  [{ type: 'array' }, [[]], [{}]],
  [{ type: 'object' }, [{}], [[], null]],
  [{ type: 'string', nullable: true }, ['a', null], [1]],
  [{ enum: ['a', { b: [1] }] }, ['a', { b: [1] }], ['b', { b: [2] }, { b: [1], c: 1 }]],
  [{ const: null }, [null], [0, false]],
  [{ minimum: 1, maximum: 3 }, [1, 3, 'x'], [0, 4]],
  [{ exclusiveMinimum: 1, exclusiveMaximum: 3 }, [2], [1, 3]],
  [{ minLength: 2, maxLength: 2 }, ['ab', '🙂🙂', 5], ['a', 'abc', '🙂']],
  [{ minItems: 1, maxItems: 2 }, [[1], {}], [[], [1, 2, 3]]],
  [{ minProperties: 1, maxProperties: 1 }, [{ a: 1 }, []], [{}, { a: 1, b: 2 }]],
  [{ required: ['a'] }, [{ a: null }, 'x'], [{}, { b: 1 }]],
  [{ required: ['constructor'] }, [{ constructor: 1 }], [{}]],
  [{ properties: { a: { type: 'string' } } }, [{ a: 'x' }, { b: 1 }, {}], [{ a: 1 }]],
  [{ properties: { a: true }, additionalProperties: false }, [{ a: 1 }, {}], [{ b: 1 }, { toString: 1 }]],
  [{ additionalProperties: { type: 'number' } }, [{ a: 1 }], [{ a: 'x' }]],
  [{ items: { type: 'number' } }, [[1], [], 'x'], [[1, 'x']]],
  [{ allOf: [{ minimum: 1 }, { maximum: 2 }] }, [1], [3]],
  [{ anyOf: [{ type: 'string' }, { minimum: 5 }] }, ['x', 6], [1]],
  [{ oneOf: [{ minimum: 1 }, { minimum: 5 }] }, [2], [0, 6]],
  [{ not: { type: 'string' } }, [1], ['x']],
  [{ title: 't', description: 'd', format: 'date', default: 1, 'x-own': {} }, [1, 'no date'], []],
])('S4-45 %j accepts valid values only', (schema, good, bad) => {
  for (const value of good) expect([value, kindOf(schema, value)]).toEqual([value, 'fits']);
  for (const value of bad) expect([value, kindOf(schema, value)]).toEqual([value, 'differs']);
});

test('S4-45 references within the document are followed, recursive ones as deep as the value', () => {
  const tree = {
    $id: 'https://example.invalid/tree',
    $ref: '#/$defs/node',
    $defs: {
      node: { type: 'object', properties: { 'a/b~': { $ref: '#/$defs/node' }, leaf: { $ref: '#/$defs/l%20f' } } },
      'l f': { type: 'string' },
    },
  };

  expect(kindOf(tree, { 'a/b~': { 'a/b~': { leaf: 'x' } } })).toBe('fits');
  expect(validateSchema(tree, { 'a/b~': { 'a/b~': { leaf: 1 } } })).toEqual({
    kind: 'differs',
    at: '/a/b~/a/b~/leaf',
    why: 'must be string',
  });
  expect(kindOf({ type: 'array', items: { $ref: '#' } }, [[], [[]]])).toBe('fits');
  expect(kindOf({ allOf: [{ $ref: '#/$defs/a~1b' }], $defs: { 'a/b': { type: 'null' } } }, 1)).toBe('differs');
});

test.each<[string, Json, Json]>([
  ['a pattern', { pattern: '(a+)+$' }, 'a'.repeat(50)],
  [
    'a keyword that changes the meaning of another',
    { additionalProperties: false, patternProperties: { a: true } },
    { a: 1 },
  ],
  ['a keyword below a not', { not: { pattern: 'x' } }, 'y'],
  ['a keyword called constructor', { constructor: 1 }, 1],
  ['a keyword called __proto__', JSON.parse('{"__proto__": {"type": "string"}}'), 1],
  ['items for each position', { items: [{ type: 'string' }] }, ['a']],
  ['limits of an older draft', { minimum: 1, exclusiveMinimum: true }, 2],
  ['a type that does not exist', { type: 'date' }, 'x'],
  ['a schema that is a list', [], 1],
  ['a schema that is a text', 'string', 1],
  ['no schema', null, 1],
  ['required that is no list', { required: 'a' }, {}],
  ['a name that is no text', { required: [1] }, {}],
  ['properties that are a list', { properties: [] }, {}],
  ['another document', { $ref: 'https://example.invalid/x' }, 1],
  ['an anchor', { $ref: '#there' }, 1],
  ['a reference to nowhere', { $ref: '#/$defs/nothing' }, 1],
  ['a reference to __proto__', { $ref: '#/__proto__' }, 1],
  ['a reference that cannot be read', { $ref: '#/%zz' }, 1],
  ['a document in the document', { properties: { a: { $id: 'other' } } }, { a: 1 }],
  ['a reference to itself', { $ref: '#' }, 1],
  ['a circle', { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }, 1],
  ['a circle that doubles', { allOf: [{ $ref: '#' }, { $ref: '#' }] }, 1],
  ['a doubling without a circle', doubling(60), 1],
  ['a long list of alternatives for a long list', { items: { enum: numbers(5_000) } }, numbers(5_000)],
  ['many properties for many items', { items: { properties: named(5_000) } }, numbers(5_000).map(() => ({}))],
  ['a long text again and again', { allOf: numbers(5_000).map(() => ({ minLength: 1 })) }, 'x'.repeat(1_000_000)],
])('S4-45 an unsupported or too expensive schema is unclear, never a guess: %s', (_, schema, value) => {
  expect(kindOf(schema, value)).toBe('unclear');
});

test('S4-45 parts of the schema that the value does not touch do not have to be supported', () => {
  const schema = { properties: { a: { pattern: 'x' } }, required: ['b'] };

  expect(kindOf(schema, { b: 1 })).toBe('fits');
  expect(kindOf(schema, { c: 1 })).toBe('differs');
  expect(kindOf(schema, { a: 'x', b: 1 })).toBe('unclear');
});

test('S4-45 a value as deep as an answer may be is checked', () => {
  let value: Json = 'leaf';
  for (let depth = 0; depth < 195; depth++) value = [value];

  expect(kindOf({ anyOf: [{ type: 'string' }, { type: 'array', items: { $ref: '#' } }] }, value)).toBe('fits');
});

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, at) => -1 - at);
}

function named(count: number): { [name: string]: Json } {
  return Object.fromEntries(numbers(count).map((at) => [`p${at}`, true]));
}

/** Each definition asks the next one twice. */
function doubling(levels: number): Json {
  const defs = Object.fromEntries(
    numbers(levels).map((_, at) => [`d${at}`, { allOf: [1, 2].map(() => ({ $ref: `#/$defs/d${at + 1}` })) }]),
  );
  return { $ref: '#/$defs/d0', $defs: { ...defs, [`d${levels}`]: true } };
}
