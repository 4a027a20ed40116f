import { openSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { type Place, place, processesIn } from './command.js';

function board(): Place {
  const here = place();
  here.workflow();
  here.issue(1, 'Say hello', '- write `hello.txt`: hello');
  return here;
}

describe('an output without a reader', () => {
  test('its work is finished when the reader goes away: no stack trace, no process, no fault', async () => {
    const here = board();

    const { child, ended } = here.start('--once');
    child.stdout?.destroy();
    const { code, stderr } = await ended;

    expect(stderr).not.toMatch(/EPIPE|fatal|\bat .*\(/);
    expect(here.read('backlog/tasks/task-1 - x.md')).toContain('status: Done');
    expect({ code, left: processesIn(here.dir) }).toEqual({ code: 0, left: [] });
  });

  test.skipIf(process.platform !== 'linux')('a full disk is reported as a failure', async () => {
    const here = board();

    const results = await Promise.all(
      [['--once'], ['check'], ['--dry-run']].map((args) => here.to(openSync('/dev/full', 'w'), ...args)),
    );

    for (const { code, stderr } of results) {
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('the output was lost: ENOSPC') });
      expect(stderr).not.toContain('fatal');
    }
  });
});
