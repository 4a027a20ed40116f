import { describe, expect, test } from 'vitest';
import { demoWorkflow, liveDaemon, printed, until, untilToldTo } from '../client/live-daemon.js';
import { type Place, place } from '../command.js';

/** One issue whose first run fails and whose second one waits for the test. */
async function twoRuns(): Promise<Place> {
  const here = place();
  demoWorkflow(here, 'agent: { max_retry_backoff_ms: 200 }\nhooks: { before_run: "echo ready; echo steady" }');
  here.issue(1, 'Fail, then work', `- fail once\n- write \`a.txt\`: a`);
  const daemon = await liveDaemon(here);
  await daemon.state(({ done }) => done.length === 1);
  await daemon.stop();
  return here;
}

describe('baton logs', () => {
  test('prints the newest run, with or without a daemon, hooks and their output included', async () => {
    const here = await twoRuns();

    const without = await here.baton('logs', 'TASK-1');
    const daemon = await liveDaemon(here);
    const by = await here.baton('logs', 'TASK-1');
    await daemon.stop();

    expect(without).toMatchObject({
      code: 0,
      stderr: 'baton: no daemon is running; this was written down by the last one\n',
    });
    expect(by).toMatchObject({ code: 0, stderr: '' });
    expect(by.stdout).toBe(without.stdout);
    expect(by.stdout).toMatch(
      /^Run 2 of TASK-1 \(retry\) · \d\d:\d\d · success after \d+ s · \S+\n\d\d:\d\d:\d\d {2}run 2 began \(retry\)\n/,
    );
    expect(by.stdout).toMatch(/\n\d\d:\d\d:\d\d {2}hook before_run finished .*\n {10}│ ready\n {10}│ steady\n/);
    expect(by.stdout).toMatch(/ {2}called update_issue \(state: Done\)\n/);
    expect(by.stdout).toMatch(/ {2}the run finished after 1 turn.*\n$/);
  });

  test('--run prints another, by number or id, --all every one, --raw the JSON lines', async () => {
    const here = await twoRuns();
    const id = / · (\S+)\n/.exec((await here.baton('logs', 'TASK-1', '--run', '1')).stdout)?.[1] ?? '';

    const byId = await here.baton('logs', 'TASK-1', '--run', id);
    const all = await here.baton('logs', 'TASK-1', '--all');
    const raw = await here.baton('logs', 'TASK-1', '--raw', '--run', '1');
    const none = await here.baton('logs', 'TASK-1', '--run', '7');

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

  test('of an issue that nobody knows says so, and which one may be meant; exit 1', async () => {
    const here = await twoRuns();

    const without = await here.baton('logs', 'TSAK-1');
    await liveDaemon(here);
    const by = await here.baton('logs', 'TSAK-1');

    expect(without).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^baton: TSAK-1 has had no run, .*Did you mean TASK-1\?\n$/),
    });
    expect(by).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^baton: TSAK-1 is neither claimed .*Did you mean TASK-1\?\n$/),
    });
  });

  test('of an issue that has not run yet says so', async () => {
    const here = place();
    demoWorkflow(here, 'agent: { max_concurrent_agents: 1 }');
    here.issue(1, 'First', untilToldTo(here));
    here.issue(2, 'Second', 'x');
    const daemon = await liveDaemon(here);
    await daemon.state(({ running }) => running.length === 1);

    expect(await here.baton('logs', 'TASK-2')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'baton: TASK-2 has had no run yet\n',
    });
  });

  test('with nothing stored at all says what is missing', async () => {
    const here = place();
    demoWorkflow(here);

    expect(await here.baton('logs', 'TASK-1')).toMatchObject({
      code: 1,
      stderr: 'baton: TASK-1 has had no run, and no daemon is running that could know more\n',
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
  test('goes on while a run does, and with the next daemon and the next run, telling nothing twice', async () => {
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
    expect(stderr).toMatch(/Waiting for it \(Ctrl-C ends this\)\nbaton: the daemon is there again\n/);
  });

  test('waits for the first run of an issue', async () => {
    const here = place();
    demoWorkflow(here, 'agent: { max_concurrent_agents: 1 }');
    here.issue(1, 'First', untilToldTo(here));
    here.issue(2, 'Second', '- write `b.txt`: b');
    const daemon = await liveDaemon(here);
    await daemon.state(({ running }) => running.length === 1);

    const { child, ended } = here.start('logs', 'TASK-2', '-f');
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
