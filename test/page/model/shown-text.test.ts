import { describe, expect, test } from 'vitest';
import { diffFiles, lineKind } from '../../../src/page/model/diff-lines.js';
import { isSameRoute, issueHref, parseRoute } from '../../../src/page/model/route.js';
import { linkAddress, sentenceParts, shownLine, shownLines } from '../../../src/page/model/shown-text.js';

describe('text that may be shown', () => {
  test('SEC-17 bidirectional and invisible characters are shown as escapes', () => {
    expect(shownLine('a\u202eb \u001b[31m\n c')).toBe('a\\u202eb \\u001b[31m c');
    expect(shownLines('a\tb\r\n\u2066c')).toBe('a\tb\n\\u2066c');
  });

  test.each([
    ['https://tracker.example/A-1', 'https://tracker.example/A-1'],
    ['HTTP://tracker.example', 'http://tracker.example/'],
  ])('%j is a link', (url, href) => {
    expect(linkAddress(url)).toBe(href);
  });

  test.each([
    null,
    '',
    'javascript:alert(1)',
    ' https://a.example',
    '\u0001javascript:alert(1)',
    'data:text/html,x',
    'file:///x',
    '//a.example',
    'A-1',
    'http://',
    'https://[',
  ])('SEC-25 %j is no link', (url) => {
    expect(linkAddress(url)).toBeNull();
  });

  test('times and code of a sentence are parts of their own', () => {
    expect(sentenceParts('ran `npm test`; again at 2026-11-18T12:00:00.000Z.')).toEqual([
      { kind: 'words', text: 'ran ' },
      { kind: 'code', text: 'npm test' },
      { kind: 'words', text: '; again at ' },
      { kind: 'time', text: '2026-11-18T12:00:00.000Z' },
      { kind: 'words', text: '.' },
    ]);
    expect(sentenceParts('a ` b')).toEqual([{ kind: 'words', text: 'a ` b' }]);
    expect(sentenceParts('')).toEqual([]);
  });
});

describe('the part of the address behind #', () => {
  test.each(['A-1', 'owner/repo#12', 'a b?c&d=e', '../..', '%', 'ü'])('leads to %j and back', (identifier) => {
    expect(parseRoute(issueHref(identifier))).toEqual({ name: 'issue', identifier, runId: null });
    expect(parseRoute(issueHref(identifier, 'run?1'))).toEqual({ name: 'issue', identifier, runId: 'run?1' });
  });

  test.each(['', '#', '#/', '#/issue/', '#/issue/%E0%A4%A', '#/elsewhere', '#token=x'])('%j is the board', (hash) => {
    expect(parseRoute(hash)).toEqual({ name: 'board' });
  });

  test('another run is another place', () => {
    expect(isSameRoute(parseRoute('#/issue/A'), parseRoute('#/issue/A'))).toBe(true);
    expect(isSameRoute(parseRoute('#/issue/A'), parseRoute('#/issue/A?run=1'))).toBe(false);
  });
});

describe('a diff', () => {
  const DIFF = `diff --git a/old.ts b/new.ts
similarity index 90%
index 1..2 100644
--- a/old.ts
+++ b/new.ts
@@ -1,3 +1,3 @@ function x() {
 same
--- not a file name
+++ nor this
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-bye
`;

  test('is split by file, and a changed line that looks like a file name stays a line', () => {
    const files = diffFiles(DIFF);

    expect(files.map(({ path, added, removed }) => [path, added, removed])).toEqual([
      ['new.ts', 1, 1],
      ['gone.txt', 0, 1],
    ]);
    expect(files[0]?.lines.map(({ kind }) => kind)).toEqual(['meta', 'hunk', 'same', 'removed', 'added']);
    expect(files[1]?.lines[0]).toEqual({ kind: 'meta', text: 'deleted file mode 100644' });
  });

  test('without git headers is one file, and an empty diff is harmless', () => {
    expect(diffFiles('--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b').map(({ path }) => path)).toEqual(['x']);
    expect(diffFiles('')).toEqual([{ path: 'changes', added: 0, removed: 0, lines: [{ kind: 'meta', text: '' }] }]);
  });

  test('the kind of a line depends on its prefix', () => {
    expect(['+a', '-a', '@@ x', ' a', ''].map(lineKind)).toEqual(['added', 'removed', 'hunk', 'same', 'same']);
  });
});
