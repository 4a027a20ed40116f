import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { agentCommand, type TestDaemon, testDaemon, workflowText } from '../support/test-daemon.js';

const linesOf = async (file: string) => (await readFile(file, 'utf8')).trim().split('\n');

/** The texts of the turns that the fake agent received. */
const turnTexts = async (daemon: TestDaemon, key: string): Promise<string[]> => {
  const received = await linesOf(join(daemon.workspaces, key, 'received.jsonl'));
  return received
    .map((line) => JSON.parse(line) as { method?: string; params: { input: [{ text: string }] } })
    .filter((message) => message.method === 'turn/start')
    .map((message) => message.params.input[0].text);
};

const runsOf = (count: number) => (state: TestDaemon['state'], event: { type: string } | null) =>
  event?.type === 'run_exited' && state.records['1']?.runs === count;

describe('a workspace', () => {
  test('S2-10 contains only what hooks and the agent put there', async () => {
    const daemon = await testDaemon({ settings: 'codex: { command: "ls -A > ../../seen; exit 1" }' });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });

    await daemon.until('a run', runsOf(1));

    expect(await readFile(join(daemon.dir, 'seen'), 'utf8')).toBe('');
  });

  test('a dirty workspace is kept for the retry of a failed run', async () => {
    const daemon = await testDaemon({
      settings: `hooks: { after_create: 'git init --quiet . && echo made >> ../../made' }\ncodex: { command: "git status --porcelain >> ../../seen; echo precious >> half-done.txt; exit 1" }`,
    });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });
    await daemon.until('a failure', (state) => state.claims['1']?.failures === 1);

    daemon.dispatch({ type: 'retry_requested', issueId: '1' });
    await daemon.until('the retry', runsOf(2));

    expect(await readFile(join(daemon.dir, 'seen'), 'utf8')).toBe('?? half-done.txt\n');
    expect(await linesOf(join(daemon.workspaces, 'AB-1', 'half-done.txt'))).toEqual(['precious', 'precious']);
    expect(await linesOf(join(daemon.dir, 'made'))).toEqual(['made']);
  });

  test('saved work is deleted after workspace.keep_days, and a half-written save of a dead daemon at once', async () => {
    const daemon = await testDaemon({ settings: `codex: { command: "${agentCommand('moves-issue')}" }` });
    const saved = join(daemon.stateDir, 'saved');
    const today = `AB-8@${new Date().toISOString().replaceAll(':', '.')}`;
    await mkdir(join(saved, 'AB-7@2020-01-01T00.00.00.000Z'));
    await mkdir(join(saved, today));
    await mkdir(join(saved, `.partial-${today}`));
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });

    await daemon.until('removed', (_, event) => event?.type === 'workspace_removed');

    expect(await readdir(saved)).toEqual([today]);
  });

  test('of a finished issue is removed only after its unpushed work was saved', async () => {
    const daemon = await testDaemon({
      settings: `hooks: { after_create: 'git init --quiet .' }\ncodex: { command: "${agentCommand('moves-issue')}" }`,
    });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });

    await daemon.until('removed', (_, event) => event?.type === 'workspace_removed');

    const saved = await readdir(join(daemon.stateDir, 'saved'), { recursive: true });
    expect(saved.filter((name) => /\.(?:patch|bundle)$/.test(name))).not.toEqual([]);
    expect(daemon.logLines).toContainEqual(
      expect.objectContaining({ msg: 'unpushed work was saved before the workspace is removed' }),
    );
  });
});

describe('hooks', () => {
  test('S2-13 S2-15 before_run runs before every run, after_run after every run', async () => {
    const daemon = await testDaemon({
      settings: `hooks: { before_run: 'echo "before $BATON_ATTEMPT" >> ../../trace', after_run: 'echo "after $BATON_RUN_OUTCOME" >> ../../trace' }\ncodex: { command: "echo agent >> ../../trace; exit 1" }`,
    });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });
    await daemon.until('a failure', (state) => state.claims['1']?.failures === 1);

    daemon.dispatch({ type: 'retry_requested', issueId: '1' });
    await daemon.until('the retry', runsOf(2));

    const run = ['agent', 'after failed'];
    expect(await linesOf(join(daemon.dir, 'trace'))).toEqual(['before ', ...run, 'before 1', ...run]);
  });

  test('S2-15 S2-66 after_run also runs after a turn that timed out', async () => {
    const daemon = await testDaemon({
      settings: `hooks: { after_run: 'echo "$BATON_RUN_OUTCOME" > ../../outcome' }\ncodex: { command: "${agentCommand('hangs', 'on')}", turn_timeout_ms: 200 }`,
    });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });

    await daemon.until('a failure', (state) => state.claims['1']?.failures === 1);

    expect(await readFile(join(daemon.dir, 'outcome'), 'utf8')).toBe('timeout\n');
    expect(daemon.state.claims['1']?.status).toMatchObject({ error: { code: 'turn_timeout' } });
  });

  test('S2-17 S2-18 a failed before_remove is logged, and the workspace is removed', async () => {
    const daemon = await testDaemon({
      settings: `hooks: { before_remove: 'ls > ../../there; exit 4' }\ncodex: { command: "${agentCommand('moves-issue')}" }`,
    });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });

    await daemon.until('removed', (_, event) => event?.type === 'workspace_removed');

    expect(await readFile(join(daemon.dir, 'there'), 'utf8')).toContain('work.txt');
    expect(await readdir(daemon.workspaces)).not.toContain('AB-1');
    expect(daemon.logLines).toContainEqual(
      expect.objectContaining({ hook: 'before_remove', outcome: 'failed', issue_identifier: 'AB-1' }),
    );
  });

  test('S2-19 hooks.timeout_ms bounds a hook of a run', async () => {
    const daemon = await testDaemon({ settings: "hooks: { before_run: 'sleep 60', timeout_ms: 100 }" });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });

    await daemon.until('a failure', (state) => state.claims['1']?.failures === 1);

    expect(daemon.state.claims['1']?.status).toMatchObject({ error: { code: 'hook_timeout' } });
  });
});

test('S2-15 a slow after_run is ended during a shutdown, so everything is stored in time', async () => {
  const daemon = await testDaemon({
    settings: `hooks: { after_run: 'echo began > ../../after; sleep 60' }\nruntime: { shutdown_timeout_ms: 3000 }\ncodex: { command: "${agentCommand('hangs', 'on')}" }`,
  });
  daemon.tracker.put({ id: '1', identifier: 'AB-1' });
  await daemon.until('a turn', (state) => (state.claims['1']?.live.run?.session ?? null) !== null);

  expect(await daemon.stop()).toBe(0);

  expect(await readFile(join(daemon.dir, 'after'), 'utf8')).toBe('began\n');
  expect(daemon.logLines).toContainEqual(expect.objectContaining({ hook: 'after_run', outcome: 'timeout' }));
  expect(daemon.logLines.at(-1)).toMatchObject({ msg: 'stopped', forced: false });
});

describe('the environment of a run', () => {
  test('follows runtime.env, runtime.env_allow and hooks.env_allow', async () => {
    const daemon = await testDaemon({
      env: { FOR_BOTH: 'b', FOR_HOOKS: 'h', FOR_NOBODY: 'n' },
      settings: `runtime: { env_allow: [FOR_BOTH] }
hooks: { env_allow: ['FOR_H*'], before_run: 'env | grep ^FOR_ | sort > ../../hook' }
codex: { command: "env | grep ^FOR_ | sort > ../../agent; exit 1" }`,
    });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });

    await daemon.until('a run', runsOf(1));

    expect(await linesOf(join(daemon.dir, 'hook'))).toEqual(['FOR_BOTH=b', 'FOR_HOOKS=h']);
    expect(await linesOf(join(daemon.dir, 'agent'))).toEqual(['FOR_BOTH=b']);
  });

  test('has its own TMPDIR, shared by hooks and agent and removed after the run', async () => {
    const daemon = await testDaemon({
      settings: `hooks: { before_run: 'touch "$TMPDIR/mine"; echo "$TMPDIR" >> ../../tmp' }\ncodex: { command: "ls $TMPDIR/mine && echo $TMPDIR >> ../../tmp; exit 1" }`,
    });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });
    await daemon.until('a failure', (state) => state.claims['1']?.failures === 1);

    daemon.dispatch({ type: 'retry_requested', issueId: '1' });
    await daemon.until('the retry', runsOf(2));

    const [hook = '', agent, nextHook = '', nextAgent] = await linesOf(join(daemon.dir, 'tmp'));
    expect([agent, nextAgent]).toEqual([hook, nextHook]);
    expect(nextHook).not.toBe(hook);
    for (const folder of [hook, nextHook]) await expect(readdir(folder)).rejects.toThrow('ENOENT');
  });

  test('S2-39 a login shell runs the agent command', async () => {
    const daemon = await testDaemon({ settings: 'codex: { command: "type from_the_profile > ../../seen; exit 1" }' });
    await writeFile(join(daemon.dir, 'home', '.bash_profile'), 'from_the_profile() { :; }\n');
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });

    await daemon.until('a run', runsOf(1));

    expect(await readFile(join(daemon.dir, 'seen'), 'utf8')).toContain('from_the_profile is a function');
  });
});

describe('turns', () => {
  test('S2-36 an empty body gives the agent identifier, title and description', async () => {
    const daemon = await testDaemon({ body: '', settings: `codex: { command: "${agentCommand('hangs', 'on')}" }` });
    daemon.tracker.put({ id: '1', identifier: 'AB-1', title: 'Mend it', description: 'It is {{ broken }}.' });

    await daemon.until('a turn', (state) => (state.claims['1']?.live.run?.session ?? null) !== null);

    expect(await turnTexts(daemon, 'AB-1')).toEqual(['Work on the issue AB-1: Mend it\n\nIt is {{ broken }}.']);
  });

  test.each<[string, (daemon: TestDaemon) => void, number]>([
    ['moved meanwhile ends the run', (daemon) => void daemon.tracker.move('1', 'Backlog'), 1],
    ['gone meanwhile ends the run', (daemon) => daemon.tracker.remove('1'), 1],
    ['of which the tracker knows nothing right now goes on', (daemon) => daemon.tracker.unknown(['1']), 3],
    ['still active goes on until agent.max_turns', () => {}, 3],
  ])('S2-50 after a good turn an issue %s', async (_, meddle, turns) => {
    const daemon = await testDaemon({
      settings: `agent: { max_turns: 3 }\nhooks: { before_run: 'touch ../../ready; while [ ! -e ../../go ]; do sleep 0.02; done' }\ncodex: { command: "${agentCommand('obedient')}" }`,
    });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });
    await expect.poll(() => readdir(daemon.dir), { timeout: 10_000 }).toContain('ready');
    // From here on only the run itself reads the tracker: polls wait.
    const answer = daemon.tracker.issuesByStates;
    daemon.tracker.issuesByStates = () => new Promise(() => {});
    meddle(daemon);

    await writeFile(join(daemon.dir, 'go'), '');
    await daemon.until('the end of the run', (__, event) => event?.type === 'run_exited');

    daemon.tracker.issuesByStates = answer;
    expect(await turnTexts(daemon, 'AB-1')).toHaveLength(turns);
    expect(daemon.logLines).toContainEqual(expect.objectContaining({ msg: 'run ended', outcome: 'success' }));
  });
});

describe('a changed WORKFLOW.md', () => {
  test('with another workspace.root is in effect at once in an idle daemon', async () => {
    const daemon = await testDaemon({ allowChanges: true });
    const text = workflowText({}).replace('root: workspaces', 'root: elsewhere');

    await writeFile(daemon.workflowPath, text);
    await daemon.until(
      'the daemon is opened again',
      ({ config, shutdown }) => config.workspace.root === join(daemon.dir, 'elsewhere') && shutdown === null,
    );

    expect(daemon.logLines).toContainEqual(
      expect.objectContaining({
        msg: 'these keys keep their old values until no run is active',
        keys: ['workspace.root'],
      }),
    );
  });
});
