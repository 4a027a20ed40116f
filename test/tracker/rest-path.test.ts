import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseRestPath, writeRestPath } from '../../src/tracker/raw-tool.js';

/** Whole characters and halves of them. */
const HALVES = fc.constantFrom('a', '/', '?', '\ud83d', '\ude04', '😄');

test('a plain path is taken apart', () => {
  expect(parseRestPath('/issues/12/labels/?a=b')).toEqual({ segments: ['issues', '12', 'labels'], query: '?a=b' });
  expect(parseRestPath('/labels/in%20progress')).toEqual({ segments: ['labels', 'in progress'], query: '' });
});

test.each([
  ...[
    'issues',
    '//evil.example/x',
    'https://evil.example/x',
    '/a/../b',
    '/a/./b',
    '/a//b',
    '/a/%2e%2e/b',
    '/%252e%252e/x',
  ],
  ...['/a\\b', '/a/%5c..', '/a#b', '/a b', '/a/%00', '/a/%zz', `/${'x'.repeat(3_000)}`],
  ...['/\ud800', '/a?b=\udc00', '/a/%ed%a0%80'],
])('SEC-22 what could lead elsewhere is refused: %s', (path) => {
  expect(typeof parseRestPath(path)).toBe('string');
});

test('SEC-22 whatever is written, what is sent has no dots, and an encoded slash stays one part', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: HALVES })), (text) => {
      const parsed = parseRestPath(`/${text}`);
      if (typeof parsed === 'string') return;
      const sent = new URL(`https://host/base${writeRestPath(parsed.segments)}`);
      expect(sent.origin).toBe('https://host');
      expect(sent.pathname.startsWith('/base')).toBe(true);
      expect(sent.pathname.split('/')).toHaveLength(2 + parsed.segments.length);
    }),
  );
});
