import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type InertOptions, inertText } from '../../src/domain/inert-text.js';
import { growthOf } from '../support/growth.js';

/** The text with every break shown, so that a test can see it. */
const shown = (text: string, options?: InertOptions) => inertText(text, options).replaceAll('\u200b', '·');

describe('SEC-37 a text mentions nobody', () => {
  test.each([
    ['@octocat', '@·octocat'],
    ['thanks @org/team!', 'thanks @·org/team!'],
    ['(@a), **@b**, _@c_, "@d", \\@e, é@f', '(@·a), **@·b**, _@·c_, "@·d", \\@·e, é@·f'],
    ['&#64;octocat &#x40;octocat &commat;octocat', '&#64;·octocat &#x40;·octocat &commat;·octocat'],
    ['@&#111;ctocat', '@·&#111;ctocat'],
    ['cc [~accountid:5b10] and [~ann]', 'cc [·~accountid:5b10] and [·~ann]'],
    ['https://linear.app/acme/profiles/ann', 'https://linear.app/acme/profiles/·ann'],
    ['https://www.npmjs.com/package/@scope/name', 'https://www.npmjs.com/package/%40scope/name'],
  ])('%s', (text, inert) => {
    expect(shown(text)).toBe(inert);
  });

  test.each([
    ['a mail address', 'write to ann.b+c@example.org'],
    ['a code span', 'use `@Override` and `@scope/name`'],
    ['a code block', 'so:\n\n```java\n@Override\nvoid x() {}\n```\n\nand\n\n~~~\n@decorator\n~~~\n'],
    ['an @ alone', 'a @ b, @, @.'],
    ['ordinary text', 'Fixed the login. See src/a.ts:12 and /usr/local/bin/x or /app.js. 50% off!'],
  ])('%s stays as it is', (_, text) => {
    expect(inertText(text)).toBe(text);
  });

  test.each([
    ['a span that begins in the line before', 'x ` y\n`@octocat` z'],
    ['a fence that is not closed', 'a\n\n```\n@octocat\n'],
    ['a fence in an indented fence', ' ```\n\n```\n@octocat\n```\n'],
    ['a fence in a comment of HTML', '<!--\n\n```\n-->\n@octocat\n\n```\n'],
    ['a fence in an element that is no Markdown', '<pre>\n\n```\n</pre>@octocat\n\n```\n'],
    ['a fence after front matter', '---\n\n```\n---\n@octocat\n```\n'],
    ['spans in the cells of a table', '| a | b |\n|--|--|\n| ` | @octocat ` |'],
    ['an attribute of HTML', '<a title="`">@octocat</a>`'],
    ['an escaped backtick', '\\`@octocat`'],
    ['runs of different lengths', '``a` @octocat `'],
    ['a line end that only some parsers know', '```\r\r```\r@octocat\r```'],
    ['a fence in a list', '- ```\n  a\n\n```\n@octocat\n```'],
  ])('what may look like code and is none is text: %s', (_, text) => {
    expect(shown(text)).toContain('@·octocat');
  });

  test('where the tracker may not show Markdown, code is text', () => {
    expect(shown('`@octocat`', { isMarkdown: false })).toBe('`@·octocat`');
  });
});

describe('SEC-37 a text commands no bot', () => {
  test.each([
    ['/ok-to-test', '/·ok-to-test'],
    [
      'done\n/approve\n  /label ~bug\n> /close\n- /assign @ann',
      'done\n/·approve\n  /·label ~bug\n> /·close\n- /·assign @·ann',
    ],
    ['please /retest, or /merge', 'please /·retest, or /·merge'],
    ['```\n/close\n```', '```\n/·close\n```'],
    ['`@dependabot merge` and x@dependabot rebase', '`@·dependabot merge` and x@·dependabot rebase'],
    ['bors r+', 'b·ors r+'],
    ['OK to test', 'O·K to test'],
    ['retest this please', 'r·etest this please'],
  ])('%s', (text, inert) => {
    expect(shown(text)).toBe(inert);
  });
});

describe('SEC-37 a text closes no issue but its own', () => {
  test.each([
    ['Fixes #13', 'F·ixes #13'],
    ['closes: acme/other#12', 'c·loses: acme/other#12'],
    ['resolve https://github.com/acme/x/issues/12', 'r·esolve https://github.com/acme/x/issues/12'],
    ['Closes #12, #13 and #14', 'C·loses #12, #13 and #14'],
    ['Implements ENG-7', 'I·mplements ENG-7'],
    ['Closes !4', 'C·loses !4'],
    ['Fixes #12', 'Fixes #12'],
    ['Closes gh-12', 'Closes gh-12'],
    ['Fixed 12 tests; see #13', 'Fixed 12 tests; see #13'],
  ])('%s', (text, inert) => {
    expect(shown(text, { ownIssue: 'GH-12' })).toBe(inert);
  });

  test('without an own issue, none', () => {
    expect(shown('Fixes #12')).toBe('F·ixes #12');
    expect(shown('fixes ENG-12', { ownIssue: 'ENG-12' })).toBe('fixes ENG-12');
  });
});

/** Pieces that mean something to a parser, in any order. */
const hostileText = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        ...['@octocat', '@dependabot merge', '/approve', 'fixes #1', '`', '``', '```', '~~~', '\n', '\n\n'],
      ),
      fc.constantFrom(
        ...[' ', '> ', '- ', '| ', '<!--', '-->', '<pre>', '\\', '\r', '\t', '    ', '&#64;x', '@', '/', '---'],
      ),
      fc.string({ maxLength: 5 }),
    ),
    { maxLength: 30 },
  )
  .map((parts) => parts.join(''));

describe('any text', () => {
  test('stays the same but for breaks and encoded addresses, and a second time changes nothing', () => {
    fc.assert(
      fc.property(hostileText, fc.boolean(), (text, isMarkdown) => {
        const inert = inertText(text, { isMarkdown });

        expect(inert.replaceAll('\u200b', '').replaceAll('%40', '@')).toBe(
          text.replaceAll('\u200b', '').replaceAll('%40', '@'),
        );
        expect(inertText(inert, { isMarkdown })).toBe(inert);
      }),
      { numRuns: 2_000 },
    );
  });

  test('has no live command, and outside of code no live mention', () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        expect(inertText(text)).not.toMatch(/@dependabot|^\s*\/approve(?![\w/-]|\.\w)|(?<!\w)fixes #1/m);
        expect(inertText(text, { isMarkdown: false })).not.toMatch(/(?<![A-Za-z0-9])@octocat/);
        if (!/[`~]/.test(text)) expect(inertText(text)).not.toMatch(/(?<![A-Za-z0-9])@octocat/);
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([
    '@',
    '/a',
    '> ',
    'fixes ',
    'fixes #1 ',
    'fixes:https://',
    'a/',
    '`',
    '```\n',
    '&#64',
    '\n',
    '- ',
    'https://x/',
    ' ',
  ])('megabytes of %j take a time that grows with their length', async (part) => {
    const growth = await growthOf(async (size) => {
      const text = part.repeat(size / part.length);
      return () => inertText(text);
    }, 40_000);

    expect(growth).toBeLessThan(9);
  });
});
