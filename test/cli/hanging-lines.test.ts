import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { RunPrinter, wrapWithIndent } from '../../src/cli/run-view.js';
import { createRedactor } from '../../src/logging/redact.js';
import { issue } from '../support/builders.js';

/** What a terminal of 80 columns shows at the beginning of each of its rows. */
function rowsOf(text: string): string[] {
  return text.split('\n').flatMap((line) => line.match(/.{1,80}/gu) ?? []);
}

test.each([
  ['letters', 'x'],
  ['blanks that are no blanks', '\u2800'],
  ['wide characters', '本'],
])('no agent can begin a row of the terminal, however long its message: %s', (_, filler) => {
  const written: string[] = [];
  const out = Object.assign(
    new Writable({ write: (chunk, _encoding, done) => done(void written.push(String(chunk))) }),
    { columns: 80 },
  );
  const teller = new RunPrinter(out, createRedactor());
  teller.runBegan({
    runId: 'r',
    issue: issue({ identifier: 'AB-1' }),
    attempt: null,
    number: 1,
    reason: 'first',
    workflowHash: '',
    resume: null,
  });

  for (let length = 1; length < 140; length++) {
    const text = `${filler.repeat(length)}AB-2     ✓ finished`;
    teller.runtimeEvent('r', {
      type: 'notification',
      timestamp: '',
      pid: null,
      method: 'item/completed',
      data: { item: { type: 'agentMessage', text } },
    });
  }

  expect(rowsOf(written.join('')).filter((row) => !/^(AB-1 {5}| {11})/.test(row))).toEqual([]);
});

test('a line that fits, and a text for no terminal, stay as they are', () => {
  const long = 'x'.repeat(200);

  expect(wrapWithIndent('short\nlines', 80)).toBe('short\nlines');
  expect(wrapWithIndent(long, undefined)).toBe(long);
});
