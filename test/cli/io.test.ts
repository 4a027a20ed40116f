import { expect, test } from 'vitest';
import { invocation } from '../../src/cli/io.js';
import { shellWord } from '../../src/domain/shell-word.js';

test.each([
  ['/usr/local/bin/baton', 'baton'],
  ['/home/u/.npm/_npx/0a1b/node_modules/.bin/baton', 'npx batond'],
  ['/project/node_modules/.bin/baton', 'npx baton'],
  ['/project/dist/src/main.js', 'node dist/src/main.js'],
  ['/else where/main.js', "node '/else where/main.js'"],
])('called as %s, messages name the command %s', (script, said) => {
  expect(invocation(['/usr/bin/node', script], '/project')).toBe(said);
});

test('a quoted shell argument stays one argument, whatever it contains', () => {
  expect(shellWord("a'b $(x)")).toBe(`'a'\\''b $(x)'`);
});
