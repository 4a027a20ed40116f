import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Place, place, processesIn } from './command.js';

/** Three issues for the demo agent: one is fine, one fails, one waits for the first. */
function board(settings = ''): Place {
  const here = place();
  here.workflow(settings);
  here.issue(1, 'Say hello', '- write `hello.txt`: hello');
  here.issue(2, 'Break', '- run `exit 7`');
  here.issue(3, 'Say more', '- write `more.txt`: more', 'status: To Do\ndependencies: [TASK-1]');
  return here;
}

test('a file has the same path relative to the workspace in progress output and in the logs', async () => {
  const here = place();
  here.workflow();
  here.issue(1, 'Say hello', '- write `hello.txt`: hello\n- write `deep/er/more.txt`: more');

  const shown = await here.baton('run', '--issue', 'TASK-1');
  const logged = await here.baton('logs', 'TASK-1');

  for (const { stdout } of [shown, logged])
    expect(stdout.match(/added `[^`]*`/g)).toEqual(['added `hello.txt`', 'added `er/more.txt`']);
});

describe('baton --once', () => {
  test('gives every eligible issue one run, sums up, and exits 1 because one failed', async () => {
    const here = board();

    const { code, stdout, stderr } = await here.baton('--once');

    expect(stdout).toContain('TASK-1   ▶ Say hello');
    expect(stdout).toContain('TASK-1     called update_issue (state: Done)');
    expect(stdout).toContain('\n2 runs, 1 failed.\n');
    expect(stdout).toContain('\n  ✓ TASK-1\n');
    expect(stdout).toMatch(/\n {2}✗ TASK-2 {2}turn_failed: .*exit code 7/);
    expect(stdout.match(/▶/g)).toHaveLength(2);
    expect(here.read('backlog/tasks/task-1 - x.md')).toContain('status: Done');
    // Neither the workspace of the finished issue nor a process is left.
    expect(readdirSync(join(here.dir, 'workspaces')).filter((name) => name.startsWith('TASK'))).toEqual(['TASK-2']);
    expect(processesIn(here.dir)).toEqual([]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.not.stringContaining('error') });
  });

  test('runs newly eligible issues the next time, and remembers the failed issue', async () => {
    const here = board();
    await here.baton('--once');

    const { stdout } = await here.baton('--once');

    expect(stdout).toContain('TASK-3   ▶ Say more');
    expect(stdout).toContain('TASK-2   ▶ Break (run 2, retry)');
    expect(stdout).not.toContain('TASK-1');
  });

  test('exits with 0 when there is nothing to do', async () => {
    const here = place();
    here.workflow('agent: { max_turns: 1 }');
    here.issue(1, 'Done already', 'x', 'status: Done');

    expect(await here.baton('--once')).toMatchObject({
      code: 0,
      stdout: 'Nothing was started.\nNo issue is in state "To Do" or "In Progress".\n',
    });
  });

  test('a failed hook is printed once during the run and once in the summary, each on one line', async () => {
    const here = board("hooks: { before_run: 'echo first; echo second; exit 3' }");

    const { stdout } = await here.baton('run', '--issue', 'TASK-1');

    expect(stdout.match(/exited with code 3/g)).toHaveLength(2);
    expect(stdout).toMatch(/ {2}✗ TASK-1 {2}hook_failed: .*first second\n/);
  });

  test('a hook that fails after the run is printed, and the run succeeds', async () => {
    const here = board("hooks: { after_run: 'echo no push; exit 3' }");

    const { code, stdout } = await here.baton('run', '--issue', 'TASK-1');

    expect(stdout).toMatch(/TASK-1 {5}hook after_run exited with code 3: no push\n/);
    expect(code).toBe(0);
  });

  test('a parked issue is not started, and the summary lists it', async () => {
    const here = board('agent: { max_attempts: 1 }');
    await here.baton('--once');

    const { stdout } = await here.baton('--once');

    expect(stdout).toContain('– TASK-2  not started: parked as too_many_failures');
  });

  test('with --log-file the log is in the file, and the screen is unchanged', async () => {
    const here = place();
    here.workflow();
    here.issue(1, 'Say hello', '- write `hello.txt`: hello');

    const { stderr } = await here.baton('--once', '--log-file', 'baton.log');

    expect(here.read('baton.log')).toContain('"msg":"run ended"');
    expect(stderr).not.toContain('run ended');
  });

  test('continues when the reader of its output is gone', async () => {
    const here = place();
    here.workflow();
    here.issue(1, 'Say hello', '- write `hello.txt`: hello');
    const { child, ended } = here.start('--once');
    child.stdout?.once('data', () => child.stdout?.destroy());

    expect(await ended).toMatchObject({ code: 0, stderr: expect.not.stringContaining('EPIPE') });
    expect(here.read('backlog/tasks/task-1 - x.md')).toContain('status: Done');
  });

  test('exits 1 when the tracker cannot be read', async () => {
    const here = place();
    here.workflow();

    const { code, stdout } = await here.baton('--once');

    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringMatching(/cannot be read.*backlog/s) });
  });

  test('exits 1 on a hold with the remedy: no agent installed', async () => {
    const here = place();
    here.workflow();
    here.write('WORKFLOW.md', here.read('WORKFLOW.md').replace(/codex: .*/, 'codex: { command: no-such-agent }'));
    here.issue(1, 'A', 'x');

    const { code, stdout } = await here.baton('--once');

    expect(code).toBe(1);
    expect(stdout).toMatch(/on hold \(codex_not_found.*no-such-agent.*[Ii]nstall it/s);
  });
});

describe('baton run --issue', () => {
  test('runs only that issue and streams the progress of the agent', async () => {
    const here = board();

    const { code, stdout } = await here.baton('run', '--issue', 'task-1');

    expect(stdout).toContain('added `hello.txt`');
    expect(stdout).toContain('1 run, no failures.');
    expect(stdout).not.toContain('TASK-2');
    expect(code).toBe(0);
  });

  test.each([
    ['TASK-3', 'it waits for TASK-1 (To Do)'],
    ['TASK-9', 'There is no issue of that name in state "To Do" or "In Progress"'],
    ['TSK-1', 'Did you mean TASK-1?'],
  ])('%s is not started, and the reason is printed', async (name, why) => {
    const { code, stdout } = await board().baton('run', '--issue', name);

    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining(why) });
  });
});

describe('baton --dry-run', () => {
  test('prints which issues would start, in order, and why others would not, and creates nothing', async () => {
    const here = board('agent: { max_concurrent_agents: 1 }');
    here.write('backlog/tasks/task-4 - broken.md', '---\nid: [\n');

    const { code, stdout } = await here.baton('--dry-run');

    expect(stdout).toContain('Would start now, 1 at a time:\n  1. TASK-1  Say hello\n');
    expect(stdout).toMatch(/Would start later:\n {2}TASK-2 {2}Break: no free slot/);
    expect(stdout).toContain('Would not start:\n  TASK-3  Say more: it waits for TASK-1 (To Do)\n');
    expect(stdout).toMatch(/Could not be read:\n.*task-4 - broken\.md/);
    expect(readdirSync(here.dir).sort()).toEqual(['WORKFLOW.md', 'backlog']);
    expect(readdirSync(join(here.dir, '../home'))).toEqual([]);
    expect(code).toBe(0);
  });

  test('an obstacle to all issues is printed once', async () => {
    const here = board();
    here.write('WORKFLOW.md', here.read('WORKFLOW.md').replace('min_free_mb: 1', 'min_free_mb: 99999999'));

    const { code, stdout } = await here.baton('--dry-run');

    expect(stdout.match(/low_disk/g)).toHaveLength(1);
    expect(stdout).toContain('Would start later:\n  TASK-1  Say hello\n');
    expect(code).toBe(1);
  });

  test('includes the retries of an earlier run', async () => {
    const here = board();
    await here.baton('--once');

    const { stdout } = await here.baton('--dry-run');

    expect(stdout).toMatch(/TASK-2 {2}Break: its next run is due in \d+ s/);
  });
});

describe('the daemon', () => {
  test('works until it is stopped, applies edits at once, logs to the file, and cleans up', async () => {
    const here = place();
    here.workflow();
    here.write('WORKFLOW.md', here.read('WORKFLOW.md').replace('interval_ms: 300', 'interval_ms: 600000'));
    here.issue(1, 'Later', '- write `a.txt`: a', 'status: Draft');
    const { child, ended } = here.start('--log-file', 'baton.log', '--port', '0');
    const seen = (text: string) =>
      new Promise<void>((resolve) => {
        let all = '';
        child.stderr?.on('data', (chunk: string) => {
          all += chunk;
          if (all.includes(text)) resolve();
        });
      });
    await seen('"msg":"started"');

    here.issue(1, 'Now', '- write `a.txt`: a');
    await seen('"msg":"workspace removed"');
    child.kill('SIGTERM');
    const { code } = await ended;

    const log = readFileSync(join(here.dir, 'baton.log'), 'utf8');
    for (const msg of ['started', 'serving status over HTTP', 'run started', 'run ended', 'stopped'])
      expect(log).toContain(`"msg":"${msg}"`);
    expect(here.read('backlog/tasks/task-1 - x.md')).toContain('status: Done');
    expect({ code, left: processesIn(here.dir) }).toEqual({ code: 0, left: [] });
  });

  test('a second one names the first, and exits 2', async () => {
    const here = place();
    here.workflow();
    here.issue(1, 'A', 'x', 'status: Draft');
    const { child, ended } = here.start();
    await new Promise<void>((resolve) => {
      let all = '';
      child.stderr?.on('data', (chunk: string) => {
        all += chunk;
        if (all.includes('"msg":"started"')) resolve();
      });
    });

    const second = await here.baton('--once');
    child.kill('SIGTERM');

    expect(second).toMatchObject({ code: 2, stdout: '' });
    expect(second.stderr).toContain('already_running');
    expect(second.stderr).toContain(`pid ${child.pid}`);
    expect(second.stderr).toContain('WORKFLOW.md');
    expect((await ended).code).toBe(0);
  });

  test('a port in use is reported before anything starts', async () => {
    const here = board();
    const server = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;

    const { code, stderr } = await here.baton('--port', String(port));

    expect(stderr).toMatch(new RegExp(`port_in_use: .*${port}.*--port 0`, 's'));
    expect(here.read('backlog/tasks/task-1 - x.md')).toContain('status: To Do');
    expect(code).toBe(2);
  });
});
