import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type LogsOptions, logs } from '../../src/cli/logs.js';
import { demoWorkflow, liveDaemon, printed, until, untilToldTo } from './client/live-daemon.js';
import { type Place, place, type Result } from './command.js';
import { told } from './working-daemon.js';

/** An issue whose first run failed; its second one did the work. */
function failsOnce(whenOver: Parameters<typeof place>[0]): Place {
  const here = place(whenOver);
  demoWorkflow(here, 'agent: { max_retry_backoff_ms: 200 }\nhooks: { before_run: "echo ready; echo steady" }');
  here.issue(1, 'Fail, then work', `- fail once\n- write \`a.txt\`: a`);
  return here;
}

const LAST = { follow: false, raw: false, all: false };
const loggedOf = (here: Place, issue: string, options: Partial<LogsOptions> = {}) =>
  told(here, (io) => logs({ ...LAST, issue, ...options }, io));

describe('baton logs', () => {
  const here = failsOnce(afterAll);
  let without: Result;
  beforeAll(async () => {
    const first = await liveDaemon(here);
    await first.state(({ done }) => done.length === 1);
    await first.stop();
    without = await here.baton('logs', 'TASK-1');
  });

  test('prints the newest run, hooks and their output included, with or without a daemon', async () => {
    expect(without).toMatchObject({
      code: 0,
      stderr: 'baton: no daemon is running; this is the log of the last one\n',
    });
    expect(without.stdout).toMatch(
      /^Run 2 of TASK-1 \(retry\) · \d\d:\d\d · success after \d+ s · \S+\n\d\d:\d\d:\d\d {2}run 2 began \(retry\)\n/,
    );
    expect(without.stdout).toMatch(/\n\d\d:\d\d:\d\d {2}hook before_run finished .*\n {10}│ ready\n {10}│ steady\n/);
    expect(without.stdout).toMatch(/ {2}called update_issue \(state: Done\): The demo agent did this:\n/);
    expect(without.stdout).toMatch(/ {2}the run finished after 1 turn.*\n$/);
  });

  test('--run prints another, by number or id, --all every one, --raw the JSON lines', async () => {
    const id = / · (\S+)\n/.exec((await loggedOf(here, 'TASK-1', { run: '1' })).stdout)?.[1] ?? '';

    const byId = await here.baton('logs', 'TASK-1', '--run', id);
    const all = await loggedOf(here, 'TASK-1', { all: true });
    const raw = await loggedOf(here, 'TASK-1', { raw: true, run: '1' });
    const none = await loggedOf(here, 'TASK-1', { run: '7' });

    expect(byId.stdout).toMatch(/^Run 1 of TASK-1 · .* · failed \(turn_failed\) after /);
    expect(all.stdout).toMatch(/^Run 1 of TASK-1 .*\n\nRun 2 of TASK-1 /s);
    const lines = raw.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['run_began', 'prompt', 'run_ended']));
    expect(none).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('TASK-1 has no run 7; there are 1, 2\n'),
    });
  });

  test('finds an issue regardless of case; an unknown issue exits with 1', async () => {
    const typed = await loggedOf(here, 'task-1');
    const unknown = await loggedOf(here, 'TSAK-1');
    const daemon = await liveDaemon(here);
    const by = await here.baton('logs', 'task-1', '--workflow', 'WORKFLOW.md');
    const unknownBy = await loggedOf(here, 'TSAK-1');
    await daemon.stop();

    expect(typed).toEqual(without);
    expect(by).toEqual({ code: 0, stdout: without.stdout, stderr: '' });
    expect(unknown).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^baton: TSAK-1 has had no run, .*Did you mean TASK-1\?\n$/),
    });
    expect(unknownBy).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^baton: TSAK-1 is neither claimed .*Did you mean TASK-1\?\n$/),
    });
  });

  test('without stored state it exits with 1', async () => {
    const empty = place();
    demoWorkflow(empty);

    expect(await loggedOf(empty, 'TASK-1')).toMatchObject({
      code: 1,
      stderr: 'baton: TASK-1 has had no run, and no daemon is running that might know it\n',
    });
  });

  test('outside of a workflow folder exits 2 with that reason', async () => {
    expect(await loggedOf(place(), 'TASK-1')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^baton: daemon_not_running: there is no \/.*WORKFLOW\.md/),
    });
  });

  test.each([[['-f', '--raw']], [['-f', '--run', '1']], [['--all', '--run', '1']]])(
    'refuses %j, which cannot be meant; exit 2',
    async (flags) => {
      const here = place();

      expect(await here.baton('logs', 'TASK-1', ...flags)).toMatchObject({ code: 2, stdout: '' });
    },
  );
});

describe('baton logs -f', () => {
  test('follows the run, the next daemon and the next run, and repeats nothing', async () => {
    const here = place();
    demoWorkflow(here);
    here.issue(1, 'Say hello', untilToldTo(here));
    const first = await liveDaemon(here);
    await first.state(({ running }) => (running[0]?.turn_count ?? 0) > 0);

    const { child, ended } = here.start('logs', 'TASK-1', '-f');
    const text = printed(child);
    await until('it tells the turn', () => text().includes('turn 1 began') || undefined);
    await first.kill();
    const second = await liveDaemon(here);
    await second.state(({ running }) => running[0]?.run_number === 2);
    await until('it tells the next run', () => text().includes('run 2 began (resumed)') || undefined);
    here.write('go', '');
    await second.state(({ done }) => done.length === 1);
    await until('it tells the end', () => /run 2 began.*the run finished/s.test(text()) || undefined);
    child.kill('SIGINT');

    const { code, stdout, stderr } = await ended;
    expect(code).toBe(0);
    for (const line of ['run 1 began', 'run 2 began (resumed)', 'the run finished'])
      expect(stdout.split(line), line).toHaveLength(2);
    expect(stderr).toMatch(/Waiting for the daemon \(Ctrl-C stops this\)\nbaton: the daemon is running again\n/);
  });

  test('waits for the first run of an issue', async () => {
    const here = place();
    demoWorkflow(here, 'agent: { max_concurrent_agents: 1 }');
    here.issue(1, 'First', untilToldTo(here));
    here.issue(2, 'Second', '- write `b.txt`: b');
    const daemon = await liveDaemon(here);
    await daemon.state(({ running }) => running.length === 1);

    expect(await loggedOf(here, 'TASK-2')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'baton: TASK-2 has had no run yet\n',
    });
    const { child, ended } = here.start('logs', 'task-2', '-f');
    const text = printed(child);
    let said = '';
    child.stderr?.on('data', (chunk: string) => {
      said += chunk;
    });
    await until('it waits', () => said.includes('TASK-2 has had no run yet; waiting for one\n') || undefined);
    here.write('go', '');
    await until('it tells the run', () => /run 1 began.*the run finished/s.test(text()) || undefined);
    child.kill('SIGINT');

    expect((await ended).code).toBe(0);
  });
});
