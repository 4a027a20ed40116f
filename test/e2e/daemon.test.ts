import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { forms } from '../runner/contain/workbench.js';
import { agentCommand, testDaemon, workflowText } from '../support/test-daemon.js';

const hooks = (extra = '') => `
hooks:
  after_create: 'echo made > made.txt; echo after_create >> ../../trace.txt'
  before_run: 'echo before_run >> ../../trace.txt'
  after_run: 'echo "after_run $BATON_RUN_OUTCOME" >> ../../trace.txt'
  before_remove: 'echo before_remove >> ../../trace.txt'
${extra}`;

const trace = async (dir: string) => (await readFile(join(dir, 'trace.txt'), 'utf8')).trim().split('\n');

describe('the whole daemon', () => {
  test('S2-01 an issue goes through workspace, hooks, prompt and agent until it leaves the active states', async () => {
    const daemon = await testDaemon({ settings: `${hooks()}\ncodex: { command: "${agentCommand('moves-issue')}" }` });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });

    await daemon.until('the issue is finished and its workspace removed', (state, event) => {
      return event?.type === 'workspace_removed' && Object.keys(state.claims).length === 0;
    });

    expect(await trace(daemon.dir)).toEqual(['after_create', 'before_run', 'after_run success', 'before_remove']);
    expect(daemon.tracker.get('1').state).toBe('Done');
    expect(await readdir(daemon.workspaces)).not.toContain('AB-1');
    expect(daemon.state.records['1']).toMatchObject({ runs: 1, tokens: 110 });
    expect(await daemon.stop()).toBe(0);
  });

  test('an agent with much output does not fill the log', async () => {
    const settings = `agent: { max_turns: 1 }\ncodex: { command: "${agentCommand('babbles')}" }`;
    const daemon = await testDaemon({ settings });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });

    await daemon.until('a run', (_, event) => event?.type === 'run_exited');

    const warnings = daemon.logLines.filter((line) => line.event === 'malformed' && line.level === 'warn');
    const more = warnings.filter(({ msg }) => msg === 'more of these are in the transcript only');
    expect([more.length, warnings.length]).toEqual([1, 101]);
  });

  test('a resource that never closes does not delay the exit', async () => {
    const daemon = await testDaemon();
    daemon.tracker.close = () => new Promise(() => {});

    expect(await daemon.stop()).toBe(0);
    expect(daemon.logLines).toContainEqual(expect.objectContaining({ msg: 'a resource did not close well' }));
  });

  test('S2-03 S2-04 a workspace survives a successful run, and the next run finds it unchanged', async () => {
    const daemon = await testDaemon({
      settings: `${hooks()}\nagent: { max_turns: 1 }\ncodex: { command: "${agentCommand('moves-issue', 'In Progress')}" }`,
    });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });

    await daemon.until('two runs', (state) => (state.records['1']?.runs ?? 0) >= 2);
    await daemon.stop();

    const made = (await trace(daemon.dir)).filter((line) => line === 'after_create');
    expect(made).toHaveLength(1);
    expect(await readFile(join(daemon.workspaces, 'AB-1', 'work.txt'), 'utf8')).toContain('Work on AB-1');
  });

  test('S2-12 a failed after_create is run again on the retry, in a new folder', async () => {
    const afterCreate = 'echo x >> ../../tries; test -f half.txt && exit 9; touch half.txt; exit 3';
    const daemon = await testDaemon({ settings: `hooks: { after_create: '${afterCreate}' }` });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });
    await daemon.until('a failure', (state) => state.claims['1']?.failures === 1);
    expect(await readdir(daemon.workspaces)).not.toContain('AB-1');

    daemon.dispatch({ type: 'retry_requested', issueId: '1' });
    await daemon.until(
      'a second run',
      (state, event) => event?.type === 'run_exited' && state.records['1']?.runs === 2,
    );

    expect(await readFile(join(daemon.dir, 'tries'), 'utf8')).toBe('x\nx\n');
    expect(daemon.logLines.filter((line) => line.hook === 'after_create').map((line) => line.detail)).toEqual(
      Array(2).fill('hook after_create exited with code 3 and printed nothing'),
    );
  });

  test('S2-14 S2-15 a failed before_run starts no agent and keeps the workspace, and after_run still runs', async () => {
    const daemon = await testDaemon({
      settings: `hooks: { after_create: 'echo precious > mine.txt', before_run: 'exit 1', after_run: 'echo "$BATON_RUN_OUTCOME" > ../../outcome' }\ncodex: { command: "touch ../../started" }`,
    });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });

    await daemon.until('a failure', (state) => state.claims['1']?.failures === 1);

    expect(await readdir(daemon.dir)).not.toContain('started');
    expect(await readFile(join(daemon.dir, 'outcome'), 'utf8')).toBe('failed\n');
    expect(await readFile(join(daemon.workspaces, 'AB-1', 'mine.txt'), 'utf8')).toBe('precious\n');
  });

  test.each([
    ['failed', 'exit 7', {}],
    ['timeout', 'sleep 60', { timeout_ms: 100 }],
  ])(
    'S2-16 an after_run that ends as %s changes no outcome, and shows beside the finished issue',
    async (outcome, script, more) => {
      const daemon = await testDaemon({
        settings: `hooks: ${JSON.stringify({ after_run: script, ...more })}\ncodex: { command: "${agentCommand('moves-issue')}" }`,
      });
      daemon.tracker.put({ id: '1', identifier: 'AB-1' });

      await daemon.until('finished', (_, event) => event?.type === 'workspace_removed');

      expect(daemon.logLines).toContainEqual(expect.objectContaining({ hook: 'after_run', outcome, level: 'warn' }));
      expect(daemon.state.finished).toMatchObject([{ identifier: 'AB-1', isTerminal: true, afterRunFailed: true }]);
    },
  );

  test('S2-35 a prompt that cannot be rendered fails the attempt before any agent starts', async () => {
    const daemon = await testDaemon({
      settings: 'codex: { command: "touch ../../started" }',
      body: '\nHello\n\n{{ issue.nope }}',
    });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });

    await daemon.until('a failure', (state) => state.claims['1']?.failures === 1);

    const { status } = daemon.state.claims['1'] ?? {};
    expect(status).toMatchObject({
      error: { code: 'template_render_error', message: expect.stringMatching(/WORKFLOW\.md:1\d:/) },
    });
    expect(await readdir(daemon.dir)).not.toContain('started');
  });

  test('S2-70 a missing agent command holds the daemon and is reported', async () => {
    const daemon = await testDaemon({ settings: 'codex: { command: no-such-agent-here }' });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });
    daemon.tracker.put({ id: '2', identifier: 'AB-2' });

    await daemon.until('a hold', (state) => state.holds.agent !== undefined);

    expect(daemon.state.holds.agent?.code).toBe('codex_not_found');
  });

  test('a change by another user stops the run, and its processes are gone before the slot is free', async () => {
    const daemon = await testDaemon({ settings: `${hooks()}\ncodex: { command: "${agentCommand('hangs', 'deaf')}" }` });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });
    await daemon.until(
      'a turn',
      (state) => state.claims['1']?.live.run?.session !== null && state.claims['1'] !== undefined,
    );

    daemon.tracker.move('1', 'Backlog');
    await daemon.until('released', (state) => Object.keys(state.claims).length === 0);

    expect(await trace(daemon.dir)).toEqual(['after_create', 'before_run', 'after_run cancelled']);
    expect(await readdir(daemon.workspaces)).toContain('AB-1');
  });

  test('S2-75 a new workflow applies to the next runs; an invalid one changes nothing', async () => {
    const daemon = await testDaemon({
      settings: 'hooks: { before_run: "echo one >> ../../versions; exit 1" }',
      allowChanges: true,
    });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });
    await daemon.until('a failure', (state) => state.claims['1']?.failures === 1);

    await writeFile(daemon.workflowPath, '---\ntracker: [\n---\n');
    await expect.poll(() => daemon.logLines.some((line) => line.code === 'workflow_parse_error')).toBe(true);
    await writeFile(
      daemon.workflowPath,
      workflowText({ settings: 'hooks: { before_run: "echo two >> ../../versions; exit 1" }' }),
    );
    await daemon.until('the new workflow', (_, event) => event?.type === 'config_changed');
    daemon.dispatch({ type: 'retry_requested', issueId: '1' });
    await daemon.until(
      'a second run',
      (state, event) => event?.type === 'run_exited' && state.records['1']?.runs === 2,
    );

    expect(await readFile(join(daemon.dir, 'versions'), 'utf8')).toBe('one\ntwo\n');
  });

  test('SEC-12 SEC-20 a tracker secret reaches neither agent, hook, log nor transcript', async () => {
    const canary = 'canary-5ecret-value';
    const daemon = await testDaemon({
      provider: '{ token: $TRACKER_TOKEN }',
      env: { TRACKER_TOKEN: canary },
      settings: `hooks: { before_run: 'env > ../../hook.env; echo "$TRACKER_TOKEN"; echo ${canary}' }\ncodex: { command: "env > ../../agent.env; echo ${canary} >&2; exit 1" }`,
    });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });
    await daemon.until('a run', (_, event) => event?.type === 'run_exited');
    await daemon.stop();

    const transcripts = await readdir(join(daemon.stateDir, 'transcripts'));
    const texts = await Promise.all([
      readFile(join(daemon.dir, 'hook.env'), 'utf8'),
      readFile(join(daemon.dir, 'agent.env'), 'utf8'),
      ...transcripts.map((name) => readFile(join(daemon.stateDir, 'transcripts', name), 'utf8')),
    ]);
    expect(transcripts).toHaveLength(1);
    expect([...texts, JSON.stringify(daemon.logLines)].filter((text) => text.includes(canary))).toEqual([]);
  });

  test.runIf(forms.includes('pidns'))('SEC-9b an agent cannot see the state directory', async () => {
    const daemon = await testDaemon({
      settings: `codex: { command: "ls -A ../../state > ../../seen; cat ../../state/transcripts/* >> ../../seen; exit 1" }`,
    });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });

    await daemon.until('a run', (_, event) => event?.type === 'run_exited');

    expect(await readFile(join(daemon.dir, 'seen'), 'utf8')).toBe('');
    expect(await readdir(daemon.stateDir)).toContain('transcripts');
  });

  test('SEC-1 SEC-10 hostile identifiers and titles create nothing outside the root and run no command', async () => {
    const daemon = await testDaemon({
      settings: `hooks: { before_run: 'printf "%s" "$BATON_ISSUE_TITLE" > title.txt; exit 1' }`,
    });
    const title = '$(touch pwned) `touch pwned` ; touch pwned\nnext';
    daemon.tracker.put({ id: '1', identifier: '../../x', title });
    daemon.tracker.put({ id: '2', identifier: '..', title });

    await daemon.until(
      'both failed',
      (state) => state.claims['1']?.failures === 1 && state.claims['2']?.status.kind === 'parked',
    );

    const [folder] = (await readdir(daemon.workspaces)).filter((name) => name !== '.baton');
    expect(folder).toBe('.._.._x');
    expect(await readFile(join(daemon.workspaces, folder ?? '', 'title.txt'), 'utf8')).toBe(title);
    expect(await readdir(join(daemon.workspaces, folder ?? ''))).toEqual(['title.txt']);
    expect(daemon.state.claims['2']?.status).toMatchObject({ reason: 'configuration' });
    expect(daemon.logLines).toContainEqual(
      expect.objectContaining({ msg: 'run ended', issue_identifier: '..', code: 'unsafe_identifier' }),
    );
  });

  test('the command in the log that restores saved work can be copied into a shell, whatever the identifier is', async () => {
    const daemon = await testDaemon({
      settings: `hooks: { before_run: 'git init -q && echo work > work.txt; exit 1' }`,
    });
    daemon.tracker.put({ id: '1', identifier: '$(touch pwned)' });
    await daemon.until('the end of the run', (_, event) => event?.type === 'run_exited');
    daemon.tracker.put({ id: '1', identifier: '$(touch pwned)', state: 'Done' });
    daemon.dispatch({ type: 'refresh_requested' });
    await daemon.until('the removal', (_, event) => event?.type === 'workspace_removed');

    expect(daemon.logLines).toContainEqual(
      expect.objectContaining({ detail: "baton recover '$(touch pwned)' brings it back" }),
    );
  });

  test('SEC-11 a NUL or a huge value in the environment fails the attempt, and the daemon continues', async () => {
    const daemon = await testDaemon({
      settings: `hooks: { before_run: 'true' }\ncodex: { command: "${agentCommand('moves-issue')}" }`,
    });
    daemon.tracker.put({ id: '1', identifier: 'AB-1', title: 'x\0y' });
    daemon.tracker.put({ id: '2', identifier: 'AB-2', title: 'x'.repeat(140_000) });
    daemon.tracker.put({ id: '3', identifier: 'AB-3' });

    await daemon.until('all seen', (state) => {
      return ['1', '2'].every((id) => state.claims[id]?.failures === 1) && daemon.tracker.get('3').state === 'Done';
    });

    expect(daemon.state.claims['1']?.status).toMatchObject({ error: { code: 'invalid_environment' } });
    expect(daemon.state.claims['2']?.status).toMatchObject({ error: { code: 'invalid_environment' } });
  });
});

describe('shutdown', () => {
  test('runs end, after_run hooks run, claims are kept, the exit code is 0', async () => {
    const daemon = await testDaemon({ settings: `${hooks()}\ncodex: { command: "${agentCommand('hangs', '')}" }` });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });
    await daemon.until('a turn', (state) => (state.claims['1']?.live.run?.session ?? null) !== null);

    expect(await daemon.stop()).toBe(0);

    expect(await trace(daemon.dir)).toEqual(['after_create', 'before_run', 'after_run interrupted']);
    expect(daemon.state.claims['1']?.status).toMatchObject({ kind: 'waiting', reason: 'resumed' });
    expect(daemon.logLines.at(-1)).toMatchObject({ msg: 'stopped', forced: false });
  });
});
