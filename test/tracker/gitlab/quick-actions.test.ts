import { describe, expect, test } from 'vitest';
import { holdsQuickAction, withoutQuickActions } from '../../../src/tracker/gitlab/write.js';

/** What GitLab's own reader finds: it drops `\r`, then looks for lines that begin with a command. */
function commandsIn(text: string): readonly string[] {
  return text
    .replaceAll('\r', '')
    .split('\n')
    .flatMap((line) => /^\/(?:close|move|label|merge)(?: .*)?$/i.exec(line.trimEnd()) ?? []);
}

const COMMANDS = [
  ...['/close', 'Done.\n/close', 'Done.\r\n/close\r\n', '/CLOSE', '/close  ', '/move acme/core', '/label ~"a b"'],
  ...['/\rclose', '\r/close', '/clo\rse', 'x\n\r/\r\rclose', '/close\r', '\n\n/merge', 'a\n/close\n/move b/c'],
];

describe('a command in a comment does nothing', () => {
  test.each(COMMANDS)('%j', (text) => {
    expect(commandsIn(text)).not.toEqual([]);

    expect(commandsIn(withoutQuickActions(text))).toEqual([]);
  });

  test.each(['  /close', '\t/close', 'a\u2028/close'])(
    'nor what a more lenient reader might take for one: %j',
    (text) => {
      expect(withoutQuickActions(text)).toContain('\\/close');
    },
  );
});

test.each(['See /etc/hosts.', '/etc/hosts', 'a / b', '/', 'and/or', '`/close`', '> /close', 'https://x.example/close'])(
  'what is no command stays as it is: %j',
  (text) => {
    expect(withoutQuickActions(text)).toBe(text);
    expect(holdsQuickAction(text)).toBe(false);
  },
);

test.each(COMMANDS)('a command is found in %j, however deep it lies', (text) => {
  expect(holdsQuickAction(text)).toBe(true);
  expect(holdsQuickAction({ body: [{ text }] })).toBe(true);
});

test.each([null, undefined, 7, true, {}, []])('there is none in %j', (value) => {
  expect(holdsQuickAction(value)).toBe(false);
});
