import fc from 'fast-check';
import type { Json } from '../../../src/domain/json.js';

/** Texts that look like tokens, shell syntax, quotes or JavaScript internals. */
export const nastyText: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 3 }),
      fc.constantFrom('$', '$$', '{', '}', '${', '$${', '\\', '"', "'", '\n', '\t', ' ', '.', '[0]', 'issue', 'HOME'),
      fc.constantFrom(
        '${issue.title}',
        '$${issue.title}',
        '${ item }',
        '${HOME}',
        '${steps',
        '__proto__',
        'and',
        'not',
      ),
    ),
    { maxLength: 12 },
  )
  .map((pieces) => pieces.join(''));

const name = fc.constantFrom('a', 'b-c', 'd_1', 'title', 'length', 'constructor', '__proto__', 'toString', '0');
const number = fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }));
export const scalar: fc.Arbitrary<Json> = fc.oneof(fc.constant(null), fc.boolean(), number, nastyText);

/** Arbitrary JSON. Keys that are special in JavaScript are own properties, as `JSON.parse` returns them. */
export const json: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }),
    mapOf(fc.oneof(name, nastyText), tie('value')),
  ),
})).value;

/** Maps whose keys are all valid in a path. */
export const nameableMap = mapOf(name, json);

function mapOf(key: fc.Arbitrary<string>, value: fc.Arbitrary<Json>): fc.Arbitrary<{ readonly [key: string]: Json }> {
  return fc.array(fc.tuple(key, value), { maxLength: 4 }).map((entries) => Object.fromEntries(entries));
}

export function nested(levels: number, inner: Json): Json {
  let value = inner;
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

export function deepFrozen<T extends Json>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const item of Object.values(value)) deepFrozen(item as Json);
  return Object.freeze(value);
}
