import { describe, expect, test } from 'vitest';
import { adfToMarkdown } from '../../../src/tracker/jira/adf-to-markdown.js';

const doc = (...content: unknown[]) => ({ version: 1, type: 'doc', content });
const node = (type: string, content: unknown[] = [], attrs: object = {}) => ({ type, attrs, content });
const text = (words: string, ...marks: object[]) => ({ type: 'text', text: words, marks });
const p = (...content: unknown[]) =>
  node(
    'paragraph',
    content.map((each) => (typeof each === 'string' ? text(each) : each)),
  );
const item = (...content: unknown[]) => node('listItem', content);

describe('blocks', () => {
  test.each<[string, unknown, string]>([
    ['paragraphs', doc(p('a'), p('b', 'c')), 'a\n\nbc'],
    ['a heading', doc(node('heading', [text('T')], { level: 3 })), '### T'],
    ['a heading of an odd level', doc(node('heading', [text('T')], { level: 99 })), '###### T'],
    ['bullets', doc(node('bulletList', [item(p('a')), item(p('b'))])), '- a\n- b'],
    [
      'numbers from where they begin',
      doc(node('orderedList', [item(p('a')), item(p('b'))], { order: 4 })),
      '4. a\n5. b',
    ],
    ['a list in a list', doc(node('bulletList', [item(p('a'), node('orderedList', [item(p('b'))]))])), '- a\n\n  1. b'],
    [
      'tasks',
      doc(
        node('taskList', [
          node('taskItem', [text('a')], { state: 'DONE' }),
          node('taskItem', [text('b')], { state: 'TODO' }),
        ]),
      ),
      '- [x] a\n- [ ] b',
    ],
    ['code', doc(node('codeBlock', [text('a\nb')], { language: 'ts' })), '```ts\na\nb\n```'],
    ['code with fences in it', doc(node('codeBlock', [text('```')])), '``````\n```\n``````'],
    ['code in a language that is none', doc(node('codeBlock', [text('a')], { language: '`\n# x' })), '```#x\na\n```'],
    ['a quotation', doc(node('blockquote', [p('a'), p('b')])), '> a\n>\n> b'],
    ['a panel', doc(node('panel', [p('a')], { panelType: 'warning' })), '> **warning**\n> a'],
    ['what can be opened', doc(node('expand', [p('a')], { title: 'More' })), '**More**\n\na'],
    ['a rule', doc(p('a'), node('rule'), p('b')), 'a\n\n---\n\nb'],
    ['a picture', doc(node('mediaSingle', [node('media', [], { alt: 'A plan' })])), '[attachment: A plan]'],
    ['a file without a name', doc(node('mediaGroup', [node('media')])), '[attachment]'],
    ['columns', doc(node('layoutSection', [node('layoutColumn', [p('a')]), node('layoutColumn', [p('b')])])), 'a\n\nb'],
    [
      'a table',
      doc(
        node('table', [
          node('tableRow', [node('tableHeader', [p('H')]), node('tableHeader', [p('I')])]),
          node('tableRow', [node('tableCell', [p('a|b')]), node('tableCell', [p('c'), p('d')])]),
        ]),
      ),
      '| H | I |\n| --- | --- |\n| a\\|b | c d |',
    ],
  ])('%s', (_, document, markdown) => {
    expect(adfToMarkdown(document)).toBe(markdown);
  });
});

describe('inline nodes', () => {
  const strong = { type: 'strong' };
  const link = (href: unknown) => ({ type: 'link', attrs: { href } });

  test.each<[string, unknown, string]>([
    [
      'strong, emphasised and struck text',
      p(text('a', strong), text(' b ', { type: 'em' }), text('c', { type: 'strike' })),
      '**a** *b* ~~c~~',
    ],
    ['code', p(text('x', { type: 'code' })), '`x`'],
    ['code with backticks', p(text('a`b', { type: 'code' })), '`` a`b ``'],
    ['a link', p(text('docs', link('https://a.example/b'))), '[docs](https://a.example/b)'],
    ['a link that is its own text', p(text('https://a.example', link('https://a.example'))), 'https://a.example'],
    [
      'a link with parentheses and blanks',
      p(text('x', link('https://a.example/(b) c'))),
      '[x](https://a.example/%28b%29%20c)',
    ],
    ['a break', p('a', { type: 'hardBreak' }, 'b'), 'a\nb'],
    ['a mention', p(node('mention', [], { id: '5', text: '@Ann' }), node('mention', [], { id: '6' })), '@Ann@6'],
    [
      'an emoji',
      p(node('emoji', [], { shortName: ':smile:', text: '😄' }), node('emoji', [], { shortName: ':x:' })),
      '😄:x:',
    ],
    ['a card', p(node('inlineCard', [], { url: 'https://a.example' })), 'https://a.example'],
    ['a status', p(node('status', [], { text: 'DONE' })), '[DONE]'],
    ['a day', p(node('date', [], { timestamp: '1767225600000' })), '2026-01-01'],
    ['a day that is none', p('a', node('date', [], { timestamp: 'x' })), 'a'],
  ])('%s', (_, paragraph, markdown) => {
    expect(adfToMarkdown(doc(paragraph))).toBe(markdown);
  });

  test.each([
    'javascript:alert(1)',
    ' JavaScript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    '',
    7,
    null,
  ])('a link with another scheme becomes its text: %j', (href) => {
    expect(adfToMarkdown(doc(p(text('click', link(href)))))).toBe('click');
  });

  test('an address cannot end its link', () => {
    const markdown = adfToMarkdown(doc(p(text('x', link('https://a.example/)[y](https://evil.example/ <b>')))));

    expect(markdown).toBe('[x](https://a.example/%29[y]%28https://evil.example/%20%3Cb%3E)');
  });
});

describe('unknown nodes', () => {
  test('become their text', () => {
    const document = doc(
      node('futureBlock', [p('a')]),
      node('futureInline', [text('b')]),
      node('x', [], { text: 'c' }),
    );

    expect(adfToMarkdown(document)).toBe('a\n\nbc');
  });

  test.each([
    undefined,
    null,
    7,
    true,
    [],
    {},
    { type: 'doc' },
    { type: 5, content: 'x' },
    { content: [null, 7, [], 'a'] },
  ])('or nothing: %j', (value) => {
    expect(adfToMarkdown(value)).toBe('');
  });

  test('a plain text is returned unchanged', () => {
    expect(adfToMarkdown('h1. *Wiki*')).toBe('h1. *Wiki*');
  });
});

describe('limits', () => {
  const nested = (type: string, levels: number, inner: unknown) => {
    let all = inner;
    for (let n = 0; n < levels; n++) all = { type, attrs: {}, content: [all] };
    return doc(all);
  };

  test.each([
    'bulletList',
    'listItem',
    'blockquote',
    'panel',
    'table',
    'tableRow',
    'expand',
    'paragraph',
    'doc',
    'mediaSingle',
    'unknown',
  ])('nested 100,000 deep: %s', (type) => {
    const markdown = adfToMarkdown(nested(type, 100_000, p('core')));

    expect(markdown.length).toBeLessThan(10_000);
  });

  test('the text of a slightly too deep node is kept', () => {
    expect(adfToMarkdown(nested('blockquote', 500, p('core')))).toContain('core');
  });

  test('a long text is cut with a mark, and without half a character', () => {
    const markdown = adfToMarkdown(doc(p(`x${'😄'.repeat(200_000)}`)));

    expect(markdown.length).toBeLessThan(100_100);
    expect(markdown).toMatch(/😄\n\n… \(cut\)$/);
    expect(markdown).not.toMatch(/\p{Cs}/u);
  });

  const many = 200_000;
  const times = <Value>(value: Value) => Array.from({ length: many }, () => value);
  test.each<[string, unknown]>([
    ['paragraphs', node('doc', times(p('a')))],
    ['texts', doc(node('paragraph', times(text('a'))))],
    ['rows', doc(node('table', times({})))],
    ['cells', doc(node('table', [node('tableRow', times(node('tableCell', [p('|')])))]))],
    ['items', doc(node('bulletList', times(item(p('a')))))],
    ['marks', doc(p({ type: 'text', text: 'a', marks: times({ type: 'em' }) }))],
    ['backticks', doc(p(text('` '.repeat(many), { type: 'code' })), node('codeBlock', [text('`'.repeat(many))]))],
    ['lines of a quotation', nested('blockquote', 35, p(text('a\n'.repeat(many))))],
    ['attachments', doc(node('mediaGroup', times(node('media'))))],
    ['pieces of code', doc(node('codeBlock', times(text('a'))))],
  ])('a document of 200,000 %s takes linear time', (_, document) => {
    const began = performance.now();

    const markdown = adfToMarkdown(document);

    expect(performance.now() - began).toBeLessThan(4_000);
    expect(markdown.length).toBeLessThan(5_000_000);
  });
});
