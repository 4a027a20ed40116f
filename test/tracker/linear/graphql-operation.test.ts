import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { operationsIn } from '../../../src/tracker/linear/tool.js';

const TEXTS = [
  '"mutation { a }"',
  '"\\""',
  '"\\\\"',
  '"""a "quoted" } mutation { word"""',
  '"""\\""" } mutation { x"""',
  '""""""',
  '""',
  '"""\n# no comment """',
];
const COMMENTS = ['# mutation { a }\n', '# """\n', '#"\r', '# }\r\n', '\uFEFF', ',', ' ', '\t'];

describe('the operations of a document', () => {
  test.each<[string, readonly string[]]>([
    ['{ a }', ['query']],
    ['query { a }', ['query']],
    ['query Q($a: In = {b: "}", c: [{}]}) @d(x: {y: 1}) { a(b: {c: "{"}) { d } }', ['query']],
    ['mutation M { a }', ['mutation']],
    ['subscription { a }', ['subscription']],
    ['# mutation { a }\n{ a }', ['query']],
    ['# a comment that hides nothing\rmutation { a }', ['mutation']],
    ['#\u2028mutation { a }\n{ a }', ['query']],
    ['{ a(b: "\\" } mutation { c") }', ['query']],
    ['{ a(b: """\\""" } mutation { c""") }', ['query']],
    ['{ mutation { mutation } }', ['query']],
    ['query mutation { a }', ['query']],
    ['fragment mutation on M { a } query { ...mutation }', ['query']],
    ['fragment F on M { a } mutation { ...F }', ['mutation']],
    ['{ a } mutation { b }', ['query', 'mutation']],
    ['query A { a } query B { b }', ['query', 'query']],
    ['\uFEFF,,mutation,{,a,},', ['mutation']],
    ['fragment F on M { a }', []],
  ])('%j', async (document, kinds) => {
    expect(await operationsIn(document)).toEqual(kinds);
  });

  test.each([
    ...[
      '',
      '{}',
      'query Q',
      '{ a',
      '{ a ) }',
      '} { a }',
      '{ a(b: ] }',
      'query',
      'mutation M',
      '{ a(b: "x) }',
      '{ a(b: "x\ny") }',
      '"""',
    ],
    ...['type A { b: C }', 'extend type A { b: C }', 'mut { a }', 'MUTATION { a }', '42', '{ a } ?', '\u0000{ a }'],
    ...['{ a }; mutation { b }', '{ a } "x" y', '{ a(b: """\\""") }'],
  ])('%j cannot be parsed and is refused', async (document) => {
    expect(await operationsIn(document)).toEqual(expect.any(String));
  });

  test('operations are found even when strings, comments and names contain keywords', async () => {
    const filler = fc.constantFrom('', ...COMMENTS, ...COMMENTS.map((one) => `${one} `));
    const value = fc.constantFrom('1', 'true', '$v', '{a: 1}', '[{b: {}}]', 'mutation', '-1.5e3', ...TEXTS);
    const field = fc
      .tuple(
        fc.constantFrom('a', 'mutation', 'query', 'x: subscription', '...F', '... on M { b }'),
        value,
        fc.boolean(),
      )
      .map(([name, text, hasArgument]) => (hasArgument && /^\w+$/.test(name) ? `${name}(b: ${text})` : name));
    const selection = fc.array(field, { minLength: 1, maxLength: 3 }).map((fields) => `{ ${fields.join(' ')} }`);
    const head = fc.constantFrom<[string, string[]]>(
      ['', ['query']],
      ['query', ['query']],
      ['query Q', ['query']],
      ['mutation', ['mutation']],
      ['mutation query', ['mutation']],
      ['subscription S', ['subscription']],
      ['fragment F on M', []],
      ['fragment query on Q', []],
      ['query ($v: In = {a: "}"})', ['query']],
      ['mutation M @d(x: "{")', ['mutation']],
      ['query Q($v: [In!]! = [{}]) @d(x: {y: {}})', ['query']],
    );
    const definition = fc
      .tuple(filler, head, filler, selection, filler)
      .map(([before, [words, kinds], between, body, after]) => ({
        text: [before, words, between, body, after].join(' '),
        kinds,
      }));

    await fc.assert(
      fc.asyncProperty(fc.array(definition, { minLength: 1, maxLength: 4 }), async (definitions) => {
        const document = definitions.map(({ text }) => text).join('');

        expect(await operationsIn(document)).toEqual(definitions.flatMap(({ kinds }) => kinds));
      }),
      { numRuns: 1_000 },
    );
  });

  test('no random token sequence throws, or hides the operation it starts with', async () => {
    const piece = fc.constantFrom(
      ...['{', '}', '(', ')', '[', ']', ':', '$', '@', '!', '...', '"', '"""', '\\', '#', '\n', '\r', ' '],
      ...['query', 'mutation', 'fragment', 'on', 'a', '1', ...TEXTS, ...COMMENTS],
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 24 }), async (pieces) => {
        const kinds = await operationsIn(`mutation { a } ${pieces.join('')}`);

        if (typeof kinds !== 'string') expect(kinds[0]).toBe('mutation');
      }),
      { numRuns: 3_000 },
    );
  });

  test.each([
    ['a long text', `{ a(b: "${'x'.repeat(190_000)}") }`],
    ['a long block', `{ a(b: """${'x"'.repeat(95_000)} """) }`],
    ['a block that does not end', `{ a(b: """${'\\'.repeat(190_000)}`],
    ['comments', `${'#\n'.repeat(95_000)}{ a }`],
    ['depth', `${'{a'.repeat(60_000)}${'}'.repeat(60_000)}`],
  ])('%s takes less than a second', async (_what, document) => {
    const before = performance.now();

    await operationsIn(document);

    expect(performance.now() - before).toBeLessThan(1_000);
  });
});
