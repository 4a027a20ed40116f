import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { adfToMarkdown } from '../../../src/tracker/jira/adf-to-markdown.js';
import { markdownToAdf } from '../../../src/tracker/jira/markdown-to-adf.js';
import { growthOf } from '../../support/growth.js';
import { wrongInAdf } from '../../support/trackers/fake-jira-adf.js';

const text = (words: string, ...marks: object[]) => ({
  type: 'text',
  text: words,
  ...(marks.length > 0 ? { marks } : {}),
});
const strong = { type: 'strong' };
const code = { type: 'code' };
const link = (href: string) => ({ type: 'link', attrs: { href } });
const p = (...content: object[]) => ({ type: 'paragraph', content });
const br = { type: 'hardBreak' };

test.each<[string, object[]]>([
  ['a\nb\n\nc', [p(text('a'), br, text('b')), p(text('c'))]],
  ['## Title #1', [{ type: 'heading', attrs: { level: 2 }, content: [text('Title #1')] }]],
  ['#hash', [p(text('#hash'))]],
  ['---', [{ type: 'rule' }]],
  [
    '```ts\na\n\n# b\n```\nc',
    [{ type: 'codeBlock', attrs: { language: 'ts' }, content: [text('a\n\n# b')] }, p(text('c'))],
  ],
  ['~~~\n```\n~~~', [{ type: 'codeBlock', content: [text('```')] }]],
  ['```\nnever closed', [{ type: 'codeBlock', content: [text('never closed')] }]],
  ['```\n```', [{ type: 'codeBlock', content: [] }]],
  ['**a** `b` c', [p(text('a', strong), text(' '), text('b', code), text(' c'))]],
  ['**`a`**', [p(text('a', code))]],
  ['2 * 3 ** 4 **', [p(text('2 * 3 ** 4 **'))]],
  ['``a`b``', [p(text('a`b', code))]],
  ['`open', [p(text('`open'))]],
  ['[docs](https://a.example/x_(y))', [p(text('docs', link('https://a.example/x_(y)')))]],
  ['**[a](https://a.example)**', [p(text('a', strong, link('https://a.example')))]],
  ['see https://a.example/b.', [p(text('see '), text('https://a.example/b', link('https://a.example/b')), text('.'))]],
  ['(https://a.example)', [p(text('('), text('https://a.example', link('https://a.example')), text(')'))]],
  ['', [p()]],
  [' \n\n', [p()]],
])('%j', (markdown, content) => {
  expect(markdownToAdf(markdown)).toEqual({ version: 1, type: 'doc', content });
});

test('lists are nested, and items have several lines', () => {
  const { content } = markdownToAdf('- a\n  more\n  1. b\n  2. c\n- d\n\n3) e');

  expect(content).toMatchObject([
    {
      type: 'bulletList',
      content: [
        { content: [p(text('a'), br, text('more')), { type: 'orderedList', attrs: { order: 1 }, content: [{}, {}] }] },
        { content: [p(text('d'))] },
      ],
    },
    { type: 'orderedList', attrs: { order: 3 }, content: [{ content: [p(text('e'))] }] },
  ]);
});

describe('links', () => {
  test.each([
    'javascript:alert(1)',
    'JAVASCRIPT:x',
    'data:text/html,x',
    'file:///etc/passwd',
    '/relative',
    'https://',
    '<b>',
  ])('with other schemes stay text: %s', (href) => {
    const written = JSON.stringify(markdownToAdf(`[click](${href})`));

    expect(written).not.toContain('"link"');
    expect(written).toContain('click');
  });
});

const PIECES = fc.constantFrom(
  ...[
    '`',
    '``',
    '```',
    '~~~',
    '**',
    '*',
    '_',
    '[',
    ']',
    '](',
    ')',
    '(',
    'https://a.example',
    '\n',
    '\n\n',
    ' ',
    '    ',
  ],
  ...[
    '- ',
    '  - ',
    '1. ',
    '# ',
    '> ',
    '|',
    '---',
    'x',
    '\u0000',
    '\ud800',
    '\u2028',
    '\uffff',
    '\t',
    '\r\n',
    '😄',
    'javascript:x',
  ],
);
const MARKDOWN = fc.oneof(
  fc.array(PIECES, { maxLength: 60 }).map((parts) => parts.join('')),
  fc.string({ unit: 'binary', maxLength: 200 }),
);

test('any text becomes a valid document', () => {
  fc.assert(
    fc.property(MARKDOWN, (markdown) => {
      expect(wrongInAdf(markdownToAdf(markdown))).toBeNull();
    }),
    { numRuns: 1_000 },
  );
});

test('no letter of a comment is lost', () => {
  const letters = (value: string) => value.replace(/[^a-z]/g, '');
  const plain = fc.array(
    fc.constantFrom('ab', ' c ', '\n', '\n\n', '- d', '# e', '**f**', '`g`', '> h', '| i |', '1. j'),
  );

  fc.assert(
    fc.property(plain, (parts) => {
      const markdown = parts.join('');
      // Behind a fence stands the name of a language, which may be none.
      fc.pre(!/`{3}/.test(markdown));
      expect(letters(adfToMarkdown(markdownToAdf(markdown)))).toBe(letters(markdown));
    }),
    { numRuns: 500 },
  );
});

describe('time', () => {
  const PIECES_OF_MEANING = [
    ...[
      '](',
      '*',
      '**',
      '`',
      '` `` ',
      'h',
      'https://',
      'https://!',
      '- ',
      '  - a\n',
      '# ',
      '---',
      '```',
      '~',
      '> ',
      '1. ',
    ],
    ...['\n', '```\n', '- a\n', '\u0000', '(', ' '],
  ];
  test.each<[string, string]>([
    ...PIECES_OF_MEANING.map((piece): [string, string] => [piece, piece.repeat(Math.ceil(100_000 / piece.length))]),
    ...['[', '![', '[a](', '[a](b', '** '].map((piece): [string, string] => [piece, piece.repeat(150_000)]),
    ['tildes before a backtick', `${'~'.repeat(300_000)}\``],
    ['blanks behind a fence', `~~~${' '.repeat(300_000)}\``],
    ['code in strong text', `**${'`a` '.repeat(70_000)}x**`],
    ['an address of marks', `https://a${'!'.repeat(300_000)}x`],
  ])('is linear in the length: %j', (_, markdown) => {
    const began = performance.now();

    const document = markdownToAdf(markdown);

    expect(performance.now() - began).toBeLessThan(3_000);
    expect(document.content.length).toBeGreaterThan(0);
  });

  test.each<[string, (count: number) => string]>([
    ['addresses that are none', (count) => 'http://%'.repeat(count / 8)],
    ['marks behind what is no address', (count) => `http://%${':'.repeat(count)}a`],
    ['both', (count) => `${'http://%'.repeat(count / 16)}${':'.repeat(count / 2)}a`],
  ])('is linear in the length of lines of %s', async (_, line) => {
    const write = async (count: number) => {
      const markdown = `${line(count)}\n`.repeat(40);
      return () => markdownToAdf(markdown);
    };

    expect(await growthOf(write, 480)).toBeLessThan(10);
  });
});
