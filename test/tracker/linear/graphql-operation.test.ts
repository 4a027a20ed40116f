import fc from 'fast-check';
import { Kind, parse } from 'graphql';
import { describe, expect, test } from 'vitest';
import { operationsIn } from '../../../src/tracker/linear/tool.js';

/** What the language's own parser finds; `null`: it is no document to it. */
function truth(document: string): readonly string[] | null {
  try {
    const { definitions } = parse(document);
    return definitions.flatMap((each) => (each.kind === Kind.OPERATION_DEFINITION ? [each.operation] : []));
  } catch {
    return null;
  }
}

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
    ['', []],
  ])('%j', (document, kinds) => {
    expect(operationsIn(document)).toEqual(kinds);
  });

  test.each([
    ...['{ a', '{ a ) }', '} { a }', '{ a(b: ] }', 'query', 'mutation M', '{ a(b: "x) }', '{ a(b: "x\ny") }', '"""'],
    ...['type A { b: C }', 'extend type A { b: C }', 'mut { a }', 'MUTATION { a }', '42', '{ a } ?', '\u0000{ a }'],
    ...['{ a }; mutation { b }', '{ a } "x" y', '{ a(b: """\\""") }'],
  ])('%j is not understood, and so refused', (document) => {
    expect(operationsIn(document)).toEqual(expect.any(String));
  });

  test('whatever is valid GraphQL is read as its own parser reads it, wherever words hide', () => {
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
    const head = fc.constantFrom(
      ...[
        '',
        'query',
        'query Q',
        'mutation',
        'mutation query',
        'subscription S',
        'fragment F on M',
        'fragment query on Q',
      ],
      ...['query ($v: In = {a: "}"})', 'mutation M @d(x: "{")', 'query Q($v: [In!]! = [{}]) @d(x: {y: {}})'],
    );
    const definition = fc.tuple(filler, head, filler, selection, filler).map((pieces) => pieces.join(' '));
    const documents = fc.array(definition, { minLength: 1, maxLength: 4 }).map((all) => all.join(''));

    let understood = 0;
    fc.assert(
      fc.property(documents, (document) => {
        const expected = truth(document);
        if (expected === null) return;
        understood++;
        expect(operationsIn(document)).toEqual(expected);
      }),
      { numRuns: 1_000 },
    );
    expect(understood).toBeGreaterThan(500);
  });

  test('no heap of pieces is read as less than what its own parser finds in it', () => {
    const piece = fc.constantFrom(
      ...['{', '}', '(', ')', '[', ']', ':', '$', '@', '!', '...', '"', '"""', '\\', '#', '\n', '\r', ' '],
      ...['query', 'mutation', 'fragment', 'on', 'a', '1', ...TEXTS, ...COMMENTS],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 24 }), (pieces) => {
        const document = `{ a } ${pieces.join('')}`;
        const [expected, found] = [truth(document), operationsIn(document)];
        if (expected !== null && typeof found !== 'string') expect(found).toEqual(expected);
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
  ])('%s takes no time to speak of', (_what, document) => {
    const before = performance.now();

    operationsIn(document);

    expect(performance.now() - before).toBeLessThan(1_000);
  });
});
