import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { message } from '../../../src/cli/control/message.js';
import { place } from '../command.js';
import { daemonIn, issue, person, project, received, untilStored, workflowText } from './working-daemon.js';

describe('baton stop and retry', () => {
  test('end a run and begin another, and say what comes of it', async () => {
    const here = project('hangs', ['on']);
    issue(here, 1);
    const daemon = await daemonIn(here);
    await daemon.said('session_started');

    const stopped = await here.baton('stop', 'TASK-1');
    await daemon.said('issue parked');
    const again = await here.baton('stop', 'task-1');
    const explained = await here.baton('explain', 'TASK-1');
    const retried = await here.baton('retry', 'TASK-1');
    await daemon.line(({ msg, run_number }) => msg === 'run started' && run_number === 2);
    const running = await here.baton('retry', 'TASK-1');

    expect(stopped).toMatchObject({ code: 0, stderr: '' });
    expect(stopped.stdout).toBe(
      'The run of TASK-1 is being stopped; then it is parked until `baton retry TASK-1` or a change of the issue.\n',
    );
    expect(again).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^baton: already_stopped: /) });
    expect(explained.stdout).toMatch(/✗ not_parked\s+parked as stopped_by_operator: .*\n\s+→ `baton retry TASK-1`\n/);
    expect(retried).toMatchObject({ code: 0, stdout: expect.stringContaining('TASK-1 is due now') });
    expect(running).toMatchObject({ code: 1, stderr: expect.stringMatching(/^baton: already_running: /) });
    expect(await daemon.stop()).toBe(0);
  });

  test('of an issue that has not been started keeps it from being started', async () => {
    const here = project('hangs', ['on'], 'agent: { max_concurrent_agents: 1 }');
    issue(here, 1);
    issue(here, 2);
    const daemon = await daemonIn(here);
    await daemon.line(({ msg, issue_id }) => msg === 'run started' && issue_id === 'TASK-1');

    const second = await here.baton('stop', 'TASK-2');

    expect(second).toMatchObject({ code: 0, stdout: expect.stringContaining('TASK-2 is not started until') });
    expect((await here.baton('explain', 'TASK-2')).stdout).toContain('parked as stopped_by_operator');
  });
});

describe('baton pause and resume', () => {
  test('nothing new is started in between, also after kill -9 and a restart', async () => {
    const here = project('hangs', ['on']);
    const first = await daemonIn(here);
    const paused = await here.baton('pause');
    await untilStored(here, /"pausedSinceMs": \d/);
    await first.kill();
    issue(here, 1);

    const second = await daemonIn(here);
    await second.line(({ msg, detail }) => msg === 'nothing to start' && /^Paused/.test(String(detail)));
    const explained = await here.baton('explain', 'TASK-1');
    const resumed = await here.baton('resume');
    await second.said('run started');

    expect(paused).toMatchObject({ code: 0, stderr: '' });
    expect(explained.stdout).toMatch(/one rule keeps it[\s\S]*✗ not_paused\s+paused since .*\n\s+→ `baton resume`\n/);
    expect(resumed.code).toBe(0);
    expect(second.lines.map(({ msg }) => msg)).toContain('resumed');
  });
});

describe('baton message', () => {
  test('steers the turn of a running agent, with words or from standard input', async () => {
    const here = project('hangs', ['on']);
    issue(here, 1);
    const daemon = await daemonIn(here);
    await daemon.said('session_started');

    const said = await here.baton('message', 'TASK-1', 'mind', 'the gap');
    const io = person(here);
    io.stdin.end('and the\nplatform\n');
    const piped = await message({ issue: 'TASK-1', words: ['-'], target: {} }, io);
    await here.baton('stop', 'TASK-1');
    await daemon.said('issue parked');
    const late = await here.baton('message', 'TASK-1', 'hello?');

    expect(said).toMatchObject({ code: 0, stdout: 'It is told to the agent of TASK-1.\n' });
    const steers = received(here).filter(({ method }) => method === 'turn/steer');
    expect(steers.map(({ params }) => params.input[0].text)).toEqual(['mind the gap', 'and the\nplatform']);
    expect(piped).toBe(0);
    expect(late).toMatchObject({ code: 1, stderr: expect.stringMatching(/^baton: not_running: /) });
  });

  test('that says nothing is a mistake', async () => {
    const here = project('hangs');

    // Standard input is empty here.
    expect(await here.baton('message', 'TASK-1', '-')).toMatchObject({
      code: 2,
      stderr: 'baton: there is nothing to say\n',
    });
    expect((await here.baton('message', 'TASK-1')).code).toBe(2);
    expect((await here.baton('message', 'TASK-1', 'x'.repeat(20_001))).stderr).toContain('longer than 20000');
  });
});

describe('an issue that is not there', () => {
  test.each([['stop'], ['retry'], ['message', 'x'], ['answer', '--accept'], ['explain']])(
    'baton %s says so, with the one that was meant',
    async (command, ...more) => {
      const here = project('hangs', ['on']);
      issue(here, 12);
      const daemon = await daemonIn(here);
      await daemon.said('run started');

      const result = await here.baton(command, 'TSAK-12', ...more);

      expect(result).toMatchObject({ code: 1, stdout: '' });
      expect(result.stderr).toMatch(/TSAK-12.*Did you mean TASK-12\?\n$/s);
    },
  );
});

describe('without a daemon', () => {
  test.each([['stop', 'TASK-1'], ['retry', 'TASK-1'], ['answer'], ['message', 'TASK-1', 'x'], ['pause'], ['resume']])(
    'baton %s says that none is running, and how to start one',
    async (...words) => {
      const here = project('hangs');

      const { code, stderr } = await here.baton(...words);

      expect(code).toBe(2);
      expect(stderr).toMatch(/^baton: daemon_not_running: .*To start one: baton/);
    },
  );
});

describe('another folder', () => {
  test('a daemon is found by its workflow or by its state directory', async () => {
    const here = place();
    here.write('flows/other.md', workflowText('false'));
    const daemon = await daemonIn(here, 'flows/other.md', '--state-dir', 'kept');

    const byBoth = await here.baton('pause', '--workflow', 'flows/other.md', '--state-dir', 'kept');
    const byState = await here.baton('resume', '--state-dir', join(here.dir, 'kept'));
    const byWorkflow = await here.baton('pause', '--workflow', 'flows/other.md');

    expect([byBoth.code, byState.code]).toEqual([0, 0]);
    expect(byWorkflow).toMatchObject({ code: 2, stderr: expect.stringContaining('daemon_not_running') });
    expect(await daemon.stop()).toBe(0);
  });
});
