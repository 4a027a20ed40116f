import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stateShape } from '../../../src/status/shapes/state-shape.js';
import { askingWorkflow, demoWorkflow, liveDaemon, untilToldTo } from '../client/live-daemon.js';
import { type Place, place } from '../command.js';

/** Two issues, one of which is worked on until the test says `go`. */
function board(settings = 'agent: { max_concurrent_agents: 1 }'): Place {
  const here = place();
  demoWorkflow(here, settings);
  here.issue(1, 'Say hello', untilToldTo(here));
  here.issue(2, 'Say more', '- write `more.txt`: more');
  return here;
}

describe('baton status', () => {
  test('shows what a running daemon does, what comes next, and what is done; exit 0', async () => {
    const here = board();
    const daemon = await liveDaemon(here);
    await daemon.state(({ running }) => running[0]?.turn_count === 1);

    const busy = await here.baton('status');
    here.write('go', '');
    await daemon.state(({ done }) => done.length === 2);
    const idle = await here.baton('status');

    expect(busy).toMatchObject({ code: 0, stderr: '' });
    expect(busy.stdout).toMatch(
      /^\/.*WORKFLOW\.md\npid \d+, up \d+ s · 1 of 1 slots taken · .* tokens today · tracker read \d+ s ago\n\nRunning \(1\)\n {2}TASK-1 {2}Say hello .* of 10M tokens\n {10}turn 1: .* ago\n\nNext \(1\): no free slot: agent\.max_concurrent_agents is 1\n {2}TASK-2 {2}Say more\n$/,
    );
    expect(idle.stdout).toMatch(/\nNothing happens: No issue of the tracker is in an active state/);
    expect(idle.stdout).toContain('\nDone since yesterday (2)\n');
    for (const title of ['TASK-1  ✓ Say hello ', 'TASK-2  ✓ Say more ']) expect(idle.stdout).toContain(`\n  ${title}`);
  });

  test('puts a question first, with the command that answers it', async () => {
    const here = place();
    askingWorkflow(here);
    here.issue(1, 'Delete the index', 'x');
    const daemon = await liveDaemon(here);
    await daemon.state(({ asking }) => asking.length === 1);

    const { stdout } = await here.baton('status');

    expect(stdout).toMatch(
      /\n\nNeeds you \(1\)\n {2}TASK-1 {2}Delete the index +asked \d+ s ago, parked in 1 h\n( {10}│ .*\n)+ {10}.*main\.js answer TASK-1 --accept {2}\(or --decline\)\n/,
    );
    expect(stdout).toContain('rm -rf index');
    expect(stdout).toMatch(/Nothing happens: TASK-1 cannot go on until a person answers\./);
  });

  test('--json prints what the API answers', async () => {
    const here = board();
    const daemon = await liveDaemon(here);
    await daemon.state(({ running }) => running.length === 1);

    const { code, stdout } = await here.baton('status', '--json');

    expect(code).toBe(0);
    expect(stateShape.parse(JSON.parse(stdout)).running[0]).toMatchObject({ issue_identifier: 'TASK-1' });
  });

  test('without a daemon shows what was stored and how to start it; exit 1', async () => {
    const here = board();
    const daemon = await liveDaemon(here);
    await daemon.state(({ running }) => running[0]?.phase === 'agent');
    await daemon.kill();

    const { code, stdout, stderr } = await here.baton('status');

    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(stdout).toMatch(
      /^\/.*WORKFLOW\.md\nNo daemon is running; this is what was stored at \d\d:\d\d\.\nTo start it: node .*main\.js\n\nInterrupted \(1\): they go on when the daemon is started\n {2}TASK-1 {2}Say hello +run 1\n$/,
    );
  });

  test('without a daemon and with nothing stored says so; --json says it as an error', async () => {
    const here = board();

    const told = await here.baton('status');
    const json = await here.baton('status', '--json');

    expect(told.code).toBe(1);
    expect(told.stdout).toContain('No daemon is running, and none has stored anything here.\n');
    expect(json).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^baton: daemon_not_running: /) });
  });

  test('works while WORKFLOW.md is faulty, and says that it is', async () => {
    const here = board();
    const daemon = await liveDaemon(here);
    here.write('WORKFLOW.md', '---\n: [\n---\n');
    await daemon.state(({ workflow }) => workflow.error !== null);

    const { code, stdout } = await here.baton('status');

    expect(code).toBe(0);
    expect(stdout).toMatch(/\nThe file as it is now is not in effect, .*\(workflow_parse_error\)/);
  });

  test('finds a daemon by its state directory, and names it in the commands that it prints', async () => {
    const here = place();
    askingWorkflow(here);
    here.issue(1, 'Delete the index', 'x');
    const daemon = await liveDaemon(here, '--state-dir', 'my state');
    await daemon.state(({ asking }) => asking.length === 1);

    const without = await here.baton('status');
    const { code, stdout } = await here.baton('status', '--state-dir', 'my state');

    expect(without.code).toBe(1);
    expect(code).toBe(0);
    expect(stdout).toContain(" answer TASK-1 --accept --state-dir 'my state'  (or --decline)\n");
  });

  test('SEC-17 a hostile title is shown and not obeyed', async () => {
    const here = place();
    demoWorkflow(here);
    here.issue(1, '"\\e[2J\\u009b31m\\u202eevil\\nRunning (7)"', untilToldTo(here));
    const daemon = await liveDaemon(here);
    await daemon.state(({ running }) => running.length === 1);

    const { stdout } = await here.baton('status');
    const json = await here.baton('status', '--json');

    expect(stdout).toContain('\\u001b[2J\\u009b31m\\u202eevil Running (7)');
    expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(json.stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u);
  });
});

describe('baton status outside of a workflow folder', () => {
  test('lists every daemon of this user, in any state directory; exit 0', async () => {
    const here = board();
    here.write(
      'sub/WORKFLOW.md',
      here.read('WORKFLOW.md').replace('kind: local', 'kind: local, provider: { path: ../backlog }'),
    );
    rmSync(join(here.dir, 'WORKFLOW.md'));
    const daemon = await liveDaemon(here, 'sub/WORKFLOW.md', '--state-dir', 'elsewhere');
    await daemon.state(({ running }) => running.length === 1);

    const { code, stdout } = await here.baton('status');
    const json = await here.baton('status', '--json');

    expect(code).toBe(0);
    expect(stdout).toMatch(/^\/.*sub\/WORKFLOW\.md\n {2}1 running · nobody needs you · 1 next · pid \d+, up \d+ s\n/);
    expect(JSON.parse(json.stdout)).toMatchObject([
      { workflow: join(here.dir, 'sub/WORKFLOW.md'), state: { counts: { running: 1 } }, error: null },
    ]);
  });

  test('says that there is none, once a daemon has ended or was killed; exit 1', async () => {
    const here = board();
    await (await liveDaemon(here)).kill();
    rmSync(join(here.dir, 'WORKFLOW.md'));

    expect(await here.baton('status')).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^No daemon of yours is running, and there is no WORKFLOW\.md in this folder\.\n/),
    });
    expect(await here.baton('status', '--watch')).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('baton refresh', () => {
  test('lets the daemon read the tracker now', async () => {
    const here = place();
    demoWorkflow(here);
    here.issue(1, 'Done already', 'x', 'status: Done');
    here.write('WORKFLOW.md', here.read('WORKFLOW.md').replace('interval_ms: 300', 'interval_ms: 3600000'));
    const daemon = await liveDaemon(here);
    const { poll } = await daemon.state(({ poll }) => poll.health === 'ok' && !poll.in_flight);

    const { code, stdout } = await here.baton('refresh');

    expect({ code, stdout }).toEqual({ code: 0, stdout: 'The tracker is read now.\n' });
    await daemon.state((view) => view.poll.last !== poll.last);
  });

  test('without a daemon says so; exit 2', async () => {
    const here = board();

    expect(await here.baton('refresh')).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(
        /^baton: daemon_not_running: no daemon of .*WORKFLOW\.md runs .* To start one: baton;/,
      ),
    });
  });
});
