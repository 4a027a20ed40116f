import { expect, test } from 'vitest';
import { wantsColour } from '../../src/cli/terminal.js';

test.each([
  [true, {}, true],
  [false, {}, false],
  [true, { NO_COLOR: '1' }, false],
  [true, { NO_COLOR: '' }, true],
  [true, { TERM: 'dumb' }, false],
])('colour on a terminal (%s) with %o: %s', (isTTY, env, wanted) => {
  expect(wantsColour({ stdout: { isTTY }, env })).toBe(wanted);
});
