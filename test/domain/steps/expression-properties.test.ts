import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BatonError } from '../../../src/domain/errors.js';
import type { Json } from '../../../src/domain/json.js';
import { holds, parseExpression } from '../../../src/domain/steps/expression.js';
import { json, nastyText, scalar } from './json-arbitraries.js';

type Tree =
  | { readonly is: 'value'; readonly value: Json; readonly written: string }
  | { readonly is: 'missing' }
  | { readonly is: 'not'; readonly of: Tree }
  | { readonly is: 'and' | 'or'; readonly left: Tree; readonly right: Tree }
  | { readonly is: 'compare'; readonly operator: string; readonly left: Tree; readonly right: Tree };

test('S1-42 an expression generated from a tree evaluates to the value of the tree', () => {
  fc.assert(
    fc.property(trees().sound, gaps, (tree, spaces) => {
      const { text, scope } = written(tree, spaces);
      fc.pre(text.length <= 2_000);

      expect(holds(text, scope)).toBe(meaning(tree));
    }),
    { numRuns: 500 },
  );
});

test('an expression generated from a tree fails exactly when the tree fails: no error is false, and short-circuited parts raise none', () => {
  fc.assert(
    fc.property(trees().wild, gaps, (tree, spaces) => {
      const { text, scope } = written(tree, spaces);
      fc.pre(text.length <= 2_000);
      const wanted = attempt(() => asBoolean(meaning(tree)));

      const found = attempt(() => holds(text, scope));

      expect(found).toBe(wanted);
    }),
    { numRuns: 1_000 },
  );
});

test('any text is an expression or an error with a code', () => {
  const words = fc.constantFrom('and', 'or', 'not', '(', ')', '==', '<', ' ', '1', 'true', '${item}', "'a'", '"');
  fc.assert(
    fc.property(fc.array(fc.oneof(words, nastyText), { maxLength: 10 }), (pieces) => {
      try {
        parseExpression(pieces.join(''));
      } catch (error) {
        expect(error).toBeInstanceOf(BatonError);
        expect((error as BatonError).code).toMatch(/^(?:expression_error|step_data_error)$/);
      }
    }),
    { numRuns: 1_000 },
  );
});

test('data is compared, never parsed as an expression', () => {
  fc.assert(
    fc.property(nastyText, json, (title, item) => {
      expect(holds('${issue.title} == ${issue.title}', { issue: { title } })).toBe(true);
      expect(() => holds('${issue.title}', { issue: { title } })).toThrow('is text');
      expect(holds('${item} == ${iteration}', { item, iteration: structuredClone(item) as Json })).toBe(true);
    }),
  );
});

const gaps = fc.array(fc.constantFrom(' ', '\n', '\t', '  ', ' \r\n '), { minLength: 1, maxLength: 5 });

/** `sound` trees are true or false; `wild` trees have missing values or values of the wrong type. */
function trees(): { sound: fc.Arbitrary<Tree>; wild: fc.Arbitrary<Tree> } {
  const value = (of: fc.Arbitrary<Json>): fc.Arbitrary<Tree> =>
    fc
      .tuple(of, fc.constantFrom("'", '"', 'token'))
      .map(([it, style]) => ({ is: 'value', value: it, written: literal(it, style) }));
  const compare = (operator: fc.Arbitrary<string>, side: fc.Arbitrary<Tree>): fc.Arbitrary<Tree> =>
    fc.record({ is: fc.constant('compare' as const), operator, left: side, right: side });
  const equality = fc.constantFrom('==', '!=');
  const order = fc.constantFrom('<', '<=', '>', '>=');
  const small = fc.constantFrom<Json>(0, 1, -1, '', 'a', 'b', null, true, false);

  const both = (side: fc.Arbitrary<Tree>): fc.Arbitrary<Tree> =>
    fc.record({ is: fc.constantFrom('and' as const, 'or' as const), left: side, right: side });
  const negated = (side: fc.Arbitrary<Tree>): fc.Arbitrary<Tree> =>
    fc.record({ is: fc.constant('not' as const), of: side });

  return fc.letrec<{ sound: Tree; wild: Tree }>((tie) => ({
    sound: fc.oneof(
      { depthSize: 'medium', maxDepth: 6 },
      value(fc.boolean()),
      compare(equality, value(fc.oneof(small, scalar, json))),
      compare(order, value(fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true })))),
      compare(order, value(nastyText)),
      compare(equality, tie('sound')),
      negated(tie('sound')),
      both(tie('sound')),
      both(tie('sound')),
    ),
    wild: fc.oneof(
      { depthSize: 'medium', maxDepth: 6 },
      value(fc.boolean()),
      value(small),
      fc.constant<Tree>({ is: 'missing' }),
      compare(fc.oneof(equality, order), tie('wild')),
      negated(tie('wild')),
      both(tie('wild')),
      both(tie('sound')),
    ),
  }));
}

/** Maps and lists have no literals, so they are always data. */
function literal(value: Json, style: string): string {
  if (style === 'token' || (typeof value === 'object' && value !== null)) return 'token';
  if (typeof value !== 'string') return JSON.stringify(value);
  const escaped = value.replaceAll('\\', '\\\\').replaceAll(style, `\\${style}`);
  return style + escaped.split('${').join('$${').replaceAll('\n', '\\n') + style;
}

/** Writes only the parentheses that the order of precedence requires. */
function written(tree: Tree, spaces: readonly string[]): { text: string; scope: { inputs: { [name: string]: Json } } } {
  const inputs: { [name: string]: Json } = {};
  const pieces = (part: Tree, least: number): string[] => {
    const level = { or: 1, and: 2, not: 3, compare: 4, value: 5, missing: 5 }[part.is];
    if (level < least) return ['(', ...pieces(part, 1), ')'];
    if (part.is === 'missing') return ['${inputs.missing}'];
    if (part.is === 'not') return ['not', ...pieces(part.of, 3)];
    if (part.is === 'value') {
      if (part.written !== 'token') return [part.written];
      const name = `v${Object.keys(inputs).length}`;
      inputs[name] = part.value;
      return [`\${inputs.${name}}`];
    }
    const [word, side] = part.is === 'compare' ? [part.operator, 5] : [part.is, level];
    return [...pieces(part.left, side), word, ...pieces(part.right, Math.min(side + 1, 5))];
  };
  const text = pieces(tree, 1)
    .map((piece, index) => piece + spaces[index % spaces.length])
    .join('');
  return { text, scope: { inputs } };
}

function meaning(tree: Tree): Json {
  switch (tree.is) {
    case 'value':
      return tree.value;
    case 'missing':
      throw new Error('missing');
    case 'not':
      return !asBoolean(meaning(tree.of));
    case 'and':
      return asBoolean(meaning(tree.left)) ? asBoolean(meaning(tree.right)) : false;
    case 'or':
      return asBoolean(meaning(tree.left)) ? true : asBoolean(meaning(tree.right));
    case 'compare':
      return compared(tree.operator, meaning(tree.left), meaning(tree.right));
  }
}

function compared(operator: string, left: Json, right: Json): boolean {
  const plain = (value: Json) => JSON.parse(JSON.stringify(value)) as unknown;
  const isSame = isDeepStrictEqual(plain(left), plain(right));
  if (operator === '==' || operator === '!=') return isSame === (operator === '==');
  if (typeof left !== typeof right || !['number', 'string'].includes(typeof left)) throw new Error('no order');
  const isLess = (left as number) < (right as number);
  return { '<': isLess, '<=': isLess || isSame, '>': !isLess && !isSame, '>=': !isLess }[operator] ?? false;
}

function asBoolean(value: Json): boolean {
  if (typeof value !== 'boolean') throw new Error('neither true nor false');
  return value;
}

function attempt(act: () => boolean): boolean | 'fault' {
  try {
    return act();
  } catch {
    return 'fault';
  }
}
