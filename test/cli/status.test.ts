import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stateShape } from '../../src/api/schemas.js';
import { askingWorkflow, demoWorkflow, type LiveDaemon, liveDaemon, untilToldTo } from './client/live-daemon.js';
import { type Place, place } from './command.js';

/** Two issues. The first runs until the test writes `go`. */
function board(settings = 'agent: { max_concurrent_agents: 1 }', whenOver?: Parameters<typeof place>[0]): Place {
  const here = place(whenOver);
  demoWorkflow(here, settings);
  here.issue(1, 'Say hello', untilToldTo(here));
  here.issue(2, 'Say more', '- write `more.txt`: more');
  return here;
}

describe('baton status', () => {
  test('shows running, queued and finished issues of a running daemon; exit 0', async () => {
    const here = board();
    const daemon = await liveDaemon(here);
    await daemon.state(({ running }) => running[0]?.turn_count === 1);

    const busy = await here.baton('status');
    const json = await here.baton('status', '--json');
    here.write('go', '');
    await daemon.state(({ done }) => done.length === 2);
    const idle = await here.baton('status', '--workflow', 'WORKFLOW.md');

    expect(busy).toMatchObject({ code: 0, stderr: '' });
    expect(busy.stdout).toMatch(
      /^\/.*WORKFLOW\.md\n1 running · 1 next\npid \d+, up \d+ s · 1 of 1 slots taken · .* tokens today · tracker read \d+ s ago\n\nRunning \(1\)\n {2}TASK-1 {2}Say hello .* of 10M tokens\n {10}turn 1.* ago.*\n\nNext \(1\): no free slot: agent\.max_concurrent_agents is 1\n {2}TASK-2 {2}Say more\n$/,
    );
    expect(stateShape.parse(JSON.parse(json.stdout)).running[0]).toMatchObject({ issue_identifier: 'TASK-1' });
    expect(idle.stdout).toMatch(/\nNothing happens: no issue of the tracker is in an active state/);
    expect(idle.stdout).toContain('\nDone since yesterday (2)\n');
    for (const title of ['TASK-1  ✓ Say hello ', 'TASK-2  ✓ Say more ']) expect(idle.stdout).toContain(`\n  ${title}`);
  });

  test('puts a question first, with the command that answers it, which names the daemon where that is needed', async () => {
    const here = place();
    askingWorkflow(here);
    here.issue(1, 'Delete the index', 'x');
    const daemon = await liveDaemon(here, '--state-dir', 'my state');
    await daemon.state(({ asking }) => asking.length === 1);

    const without = await here.baton('status');
    const { code, stdout } = await here.baton('status', '--state-dir', 'my state');

    expect(without.code).toBe(1);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /\n\nNeeds you \(1\)\n {2}TASK-1 {2}Delete the index +asked \d+ s ago, parked in (1 h|59 min)\n( {10}│ .*\n)+ {10}baton answer TASK-1 --accept --state-dir 'my state' {2}\(or --decline\)\n/,
    );
    expect(stdout).toMatch(/^\/.*\n1 needs you · 1 asking\n/);
    expect(stdout).toContain('rm -rf index');
    expect(stdout).toMatch(/Nothing happens: TASK-1 cannot go on until a person answers\./);
  });

  test('without a daemon shows the stored state and how to start it; exit 1', async () => {
    const here = board();
    const daemon = await liveDaemon(here);
    await daemon.state(({ running }) => running[0]?.phase === 'agent');
    await daemon.kill();

    const stored = await here.baton('status');
    rmSync(join(here.dir, 'WORKFLOW.md'));
    const none = await here.baton('status');

    expect(stored).toMatchObject({ code: 1, stderr: '' });
    expect(stored.stdout).toMatch(
      /^\/.*WORKFLOW\.md\nNo daemon is running; this is what was stored at \d\d:\d\d\.\nTo start it: baton\n\nInterrupted \(1\): they continue when the daemon is started\n {2}TASK-1 {2}Say hello +run 1\n$/,
    );
    expect(none).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^No daemon of yours is running, and there is no WORKFLOW\.md in this folder\.\n/),
    });
    expect(await here.baton('status', '--watch')).toMatchObject({ code: 2, stdout: '' });
  });

  test('without a daemon and stored state it exits with 1; --json prints an error', async () => {
    const here = board();

    const told = await here.baton('status');
    const json = await here.baton('status', '--json');

    expect(told.code).toBe(1);
    expect(told.stdout).toContain('No daemon is running, and none has stored anything here.\n');
    expect(json).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^baton: daemon_not_running: /) });
  });

  test.each([[['nope.md']], [['--workflow', 'nope.md', '--watch']]])(
    'of a workflow that does not exist says that; exit 2: %j',
    async (args) => {
      expect(await place().baton('status', ...args)).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringMatching(
          /^baton: daemon_not_running: there is no \/.*nope\.md, and no daemon is running for it/,
        ),
      });
    },
  );

  test('SEC-17 a hostile title is shown and not obeyed, and an invalid WORKFLOW.md is reported', async () => {
    const here = place();
    demoWorkflow(here);
    here.issue(1, '"\\e[2J\\u009b31m\\u202eevil\\nRunning (7)"', untilToldTo(here));
    const daemon = await liveDaemon(here);
    await daemon.state(({ running }) => running.length === 1);

    const { stdout } = await here.baton('status');
    const json = await here.baton('status', '--json');
    here.write('WORKFLOW.md', '---\n: [\n---\n');
    await daemon.state(({ workflow }) => workflow.error !== null);
    const faulty = await here.baton('status');

    expect(stdout).toContain('\\u001b[2J\\u009b31m\\u202eevil Running (7)');
    expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(json.stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(faulty.code).toBe(0);
    expect(faulty.stdout).toMatch(/\nThe file is invalid, so the previous .*\s\(workflow_parse_error\):\n {2}WORKFLOW/);
  });
});

describe('one daemon of several', () => {
  const here = board('agent: { max_concurrent_agents: 1 }', afterAll);
  let daemon: LiveDaemon;
  beforeAll(async () => {
    const there = here.read('WORKFLOW.md').replace('interval_ms: 300', 'interval_ms: 3600000');
    here.write('sub/WORKFLOW.md', there.replace('kind: local', 'kind: local, provider: { path: ../backlog }'));
    rmSync(join(here.dir, 'WORKFLOW.md'));
    daemon = await liveDaemon(here, 'sub/WORKFLOW.md', '--state-dir', 'elsewhere');
    await daemon.state(({ running, poll }) => running.length === 1 && !poll.in_flight);
  });

  test('is listed outside of a workflow folder, in whatever state directory; exit 0', async () => {
    const { code, stdout } = await here.baton('status');
    const json = await here.baton('status', '--json');

    expect(code).toBe(0);
    expect(stdout).toMatch(/^\/.*sub\/WORKFLOW\.md\n {2}1 running · 1 next · pid \d+, up \d+ s\n/);
    expect(JSON.parse(json.stdout)).toMatchObject([
      { workflow: join(here.dir, 'sub/WORKFLOW.md'), state: { counts: { running: 1 } }, error: null },
    ]);
  });

  test('reads the tracker now when it is asked to', async () => {
    const { poll } = await daemon.state();

    const { code, stdout } = await here.baton('refresh', '--workflow', 'sub/WORKFLOW.md', '--state-dir', 'elsewhere');

    expect({ code, stdout }).toEqual({ code: 0, stdout: 'The daemon reads the tracker now.\n' });
    await daemon.state((view) => view.poll.last !== poll.last);
  });
});

test('baton refresh without a daemon exits with 2', async () => {
  const here = board();

  expect(await here.baton('refresh')).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(
      /^baton: daemon_not_running: no daemon is running for .*WORKFLOW\.md .* To start one: baton;/,
    ),
  });
});
