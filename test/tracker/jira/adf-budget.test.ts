import { describe, expect, test } from 'vitest';
import { adfToMarkdown } from '../../../src/tracker/jira/adf-to-markdown.js';
import { growthOf } from '../../support/growth.js';

const node = (type: string, content: unknown[] = [], attrs: object = {}) => ({ type, attrs, content });
const text = (words: string, ...marks: object[]) => ({ type: 'text', text: words, marks });
const doc = (...content: unknown[]) => node('doc', content);
const times = <Value>(count: number, value: Value) => Array.from({ length: count }, () => value);
const code = (lines: number) => node('codeBlock', [text('a\n'.repeat(lines))]);

type Wrap = (inner: unknown) => unknown;
function nested(levels: number, wrap: Wrap, inner: unknown) {
  let all = inner;
  for (let n = 0; n < levels; n++) all = wrap(all);
  return doc(all);
}

const quote: Wrap = (inner) => node('blockquote', [inner]);
const bullets: Wrap = (inner) => node('bulletList', [node('listItem', [inner])]);
const numbers: Wrap = (inner) => node('orderedList', [node('listItem', [inner])], { order: 9_007_199_254_740_000 });
const panel: Wrap = (inner) => node('panel', [inner], { panelType: 'x'.repeat(20_000) });
const grid: Wrap = (inner) => node('table', [node('tableRow', [node('tableCell', [inner])])]);
const address = { type: 'link', attrs: { href: `https://a.example/${'('.repeat(1_500)}` } };
const marks = ['code', 'strike', 'em', 'strong'].map((type) => ({ type }));

describe('the output is at most a small multiple of the limit', () => {
  test.each<[string, unknown]>([
    ['code in quotations', nested(38, quote, code(50_000))],
    ['empty lines in quotations', nested(38, quote, node('codeBlock', [text('\n'.repeat(100_000))]))],
    ['code in lists', nested(13, bullets, code(50_000))],
    ['code in numbered lists', nested(13, numbers, code(50_000))],
    ['breaks in quotations', nested(30, quote, node('paragraph', times(19_000, { type: 'hardBreak' })))],
    ['paragraphs in lists', nested(10, bullets, node('x', times(15_000, node('paragraph', [text('a')]))))],
    ['empty items in lists', nested(10, numbers, node('bulletList', times(15_000, node('listItem'))))],
    ['rows in quotations', nested(30, quote, node('table', times(9_000, node('tableRow', [node('tableCell')]))))],
    ['long addresses', doc(node('paragraph', times(19_000, text('a', address))))],
    ['marks on every letter', doc(node('paragraph', times(19_000, text('a', ...marks))))],
    ['long names of panels', nested(38, panel, code(1))],
    ['long names of languages', doc(...times(1_000, node('codeBlock', [], { language: 'x'.repeat(20_000) })))],
    ['long titles', doc(...times(1_000, node('expand', [], { title: 'x'.repeat(20_000) })))],
    ['bars in tables in tables', nested(12, grid, node('paragraph', [text('|'.repeat(90_000))]))],
    ['pictures without a name', doc(...times(19_000, node('mediaSingle')))],
  ])('%s', (_, document) => {
    expect(adfToMarkdown(document).length).toBeLessThan(250_000);
  });

  test.each([
    ['quotations', quote, 9],
    ['lists', bullets, 3],
    ['numbered lists', numbers, 3],
  ])('takes time that hardly grows with the depth of %s', async (_, wrap, levels) => {
    const read = async (count: number) => {
      const document = nested(count, wrap, code(25_000));
      return () => adfToMarkdown(document);
    };

    expect(await growthOf(read, levels)).toBeLessThan(3);
  });
});

test('indentation counts, and a cut document keeps its form', () => {
  const markdown = adfToMarkdown(nested(10, quote, code(50_000)));

  const lines = markdown.split('\n');
  expect(lines.slice(0, 2)).toEqual([`${'> '.repeat(10)}\`\`\``, `${'> '.repeat(10)}a`]);
  expect(lines.at(-1)).toBe('… (cut)');
  expect(markdown.length).toBeGreaterThan(90_000);
  expect(markdown.length).toBeLessThan(101_000);
});

test('a long list by a person is complete', () => {
  const list = node('bulletList', times(1_500, node('listItem', [node('paragraph', [text('a thing to be done')])])));

  expect(adfToMarkdown(doc(list)).split('\n')).toHaveLength(1_500);
});

test('numbers have at most nine digits', () => {
  const list = node('orderedList', [node('listItem', [text('a')]), node('listItem', [text('b')])], {
    order: 999_999_999_999,
  });

  expect(adfToMarkdown(doc(list))).toBe('999999999. a\n999999999. b');
});

test('a link with a too long address becomes its text', () => {
  const href = `https://a.example/${'b'.repeat(200_000)}`;

  expect(adfToMarkdown(doc(node('paragraph', [text('here', { type: 'link', attrs: { href } })])))).toBe(
    'here\n\n… (cut)',
  );
});
