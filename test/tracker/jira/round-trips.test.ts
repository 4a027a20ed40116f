import fc from 'fast-check';
import { expect, test } from 'vitest';
import { adfToMarkdown } from '../../../src/tracker/jira/adf-to-markdown.js';
import { markdownToAdf } from '../../../src/tracker/jira/markdown-to-adf.js';

const WORD = fc.stringMatching(/^[a-z]{1,8}$/);
const WORDS = fc.array(WORD, { minLength: 1, maxLength: 5 }).map((words) => words.join(' '));
const SPAN = fc.oneof(
  WORDS,
  WORDS.map((words) => `**${words}**`),
  WORDS.map((words) => `\`${words}\``),
  WORDS.map((words) => `[${words}](https://a.example/${words.replaceAll(' ', '/')})`),
  WORD.map((word) => `https://a.example/${word}`),
);
const LINE = fc.array(SPAN, { minLength: 1, maxLength: 4 }).map((spans) => spans.join(' '));
const BLOCK = fc.oneof(
  fc.array(LINE, { minLength: 1, maxLength: 3 }).map((lines) => lines.join('\n')),
  fc.tuple(fc.integer({ min: 1, max: 6 }), LINE).map(([level, line]) => `${'#'.repeat(level)} ${line}`),
  fc.array(LINE, { minLength: 1, maxLength: 4 }).map((lines) => lines.map((line) => `- ${line}`).join('\n')),
  fc
    .tuple(fc.integer({ min: 0, max: 500 }), fc.array(LINE, { minLength: 1, maxLength: 4 }))
    .map(([first, lines]) => lines.map((line, n) => `${first + n}. ${line}`).join('\n')),
  fc
    .array(fc.oneof(LINE, fc.constantFrom('', '  # no heading', '- no item', '| x |')), { minLength: 1, maxLength: 5 })
    .map((lines) => `\`\`\`sh\n${lines.join('\n')}\n\`\`\``),
  fc.constant('---'),
);

test('Markdown survives a round trip', () => {
  fc.assert(
    fc.property(fc.array(BLOCK, { minLength: 1, maxLength: 6 }), (blocks) => {
      const isList = (block: string) => (/^- /.test(block) ? 'bullets' : /^\d+\. /.test(block) ? 'numbers' : null);
      // Two lists of a kind that follow each other are one to every reader of Markdown, not to Jira.
      fc.pre(blocks.every((block, n) => isList(block) === null || isList(block) !== isList(blocks[n - 1] ?? '')));
      const markdown = blocks.join('\n\n');

      expect(adfToMarkdown(markdownToAdf(markdown))).toBe(markdown);
    }),
    { numRuns: 500 },
  );
});

test('a converted document stays the same in a second round trip', () => {
  fc.assert(
    fc.property(fc.array(BLOCK, { maxLength: 6 }), (blocks) => {
      const document = markdownToAdf(blocks.join('\n\n'));

      expect(markdownToAdf(adfToMarkdown(document))).toEqual(document);
    }),
    { numRuns: 500 },
  );
});

test('a nested list survives a round trip', () => {
  const markdown = '- a\n\n  1. b\n  2. c\n- d';

  const document = markdownToAdf('- a\n  1. b\n  2. c\n- d');

  expect(adfToMarkdown(document)).toBe(markdown);
});
