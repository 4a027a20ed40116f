import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { createWorkspaces } from '../../runner/workspace/workspaces.js';
import { MemoryTracker } from '../support/memory-tracker.js';
import { agentCommand, type TestDaemon, testDaemon, workflowText } from '../support/test-daemon.js';

const line = (daemon: TestDaemon, msg: string) => daemon.logLines.find((one) => one.msg === msg);

const transcriptOf = async (daemon: TestDaemon) => {
  const folder = join(daemon.stateDir, 'transcripts');
  const [name = ''] = await readdir(folder);
  return readFile(join(folder, name), 'utf8');
};

describe('the log of a run', () => {
  test('names issue and run in every line, and the session once it is known, but never a prompt', async () => {
    const daemon = await testDaemon({
      settings: `hooks: { before_run: 'true' }\ncodex: { command: "${agentCommand('moves-issue')}" }`,
      body: 'A prompt that belongs into the transcript',
    });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });
    await daemon.until('removed', (_, event) => event?.type === 'workspace_removed');
    await daemon.stop();

    const identity = { issue_id: '1', issue_identifier: 'AB-1', run_id: expect.any(String) };
    for (const msg of ['run started', 'hook finished', 'turn completed', 'run ended']) {
      expect(line(daemon, msg)).toMatchObject(identity);
    }
    for (const msg of ['turn began', 'turn completed', 'run ended']) {
      expect(line(daemon, msg)).toMatchObject({ session_id: 'thread-1-turn-1' });
    }
    expect(line(daemon, 'run ended')).toMatchObject({
      ...{ outcome: 'success', turns: 1, tokens: 110, duration_ms: expect.any(Number) },
    });
    expect(JSON.stringify(daemon.logLines)).not.toContain('belongs into the transcript');
  });

  test('its transcript contains prompt, hooks with their output, stderr, messages and the end', async () => {
    const daemon = await testDaemon({
      settings: `hooks: { before_run: 'echo from-the-hook' }\ncodex: { command: "echo from-stderr >&2; ${agentCommand('moves-issue')}" }`,
      body: 'from-the-prompt',
    });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });
    await daemon.until('removed', (_, event) => event?.type === 'workspace_removed');
    await daemon.stop();

    const transcript = await transcriptOf(daemon);
    const words = ['run_began', 'from-the-prompt', 'from-the-hook', 'from-stderr', 'turn_completed', 'run_ended'];
    expect(words.filter((word) => !transcript.includes(word))).toEqual([]);
  });
});

describe('an idle daemon', () => {
  test('logs once that its last issue is done, and then that there is nothing to start', async () => {
    const daemon = await testDaemon({ settings: `codex: { command: "${agentCommand('moves-issue')}" }` });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });
    await daemon.until('removed', (_, event) => event?.type === 'workspace_removed');
    await daemon.until('a poll', (_, event) => event?.type === 'observed');
    await daemon.stop();

    const messages = daemon.logLines.map(({ msg }) => msg);
    expect(messages.indexOf('issue is done')).toBeGreaterThan(0);
    expect(messages.lastIndexOf('nothing to start')).toBeGreaterThan(messages.indexOf('issue is done'));
    expect(messages).not.toContain('issue released');
  });

  test('logs each reason once, however often it polls', async () => {
    const daemon = await testDaemon();
    const reasons = () => daemon.logLines.filter(({ msg }) => msg === 'nothing to start').map(({ detail }) => detail);
    let polls = 0;
    await daemon.until('three polls', (_, event) => event?.type === 'observed' && ++polls === 3);
    daemon.tracker.put({ id: '1', identifier: 'AB-1', dispatchable: false });
    await daemon.until('three more', (_, event) => event?.type === 'observed' && ++polls === 6);
    await daemon.stop();

    expect(reasons()).toEqual([
      expect.stringContaining('No issue of the tracker is in an active state'),
      expect.stringContaining('AB-1'),
    ]);
  });
});

describe('faults in WORKFLOW.md', () => {
  test('SEC-21 a literal token causes a warning at start and is masked afterwards, also after a later edit', async () => {
    const daemon = await testDaemon({
      provider: '{ token: literal-canary-1 }',
      allowChanges: true,
      settings: "hooks: { before_run: 'echo literal-canary-1; exit 1' }",
    });
    daemon.tracker.put({ id: '1', identifier: 'AB-1' });
    await daemon.until('a failure', (state) => state.claims['1']?.failures === 1);
    await writeFile(
      daemon.workflowPath,
      workflowText({
        provider: '{ token: literal-canary-2 }',
        settings: "hooks: { before_run: 'echo literal-canary-2; exit 1' }",
      }),
    );
    await daemon.until('the new workflow', (_, event) => event?.type === 'config_changed');
    daemon.dispatch({ type: 'retry_requested', issueId: '1' });
    await daemon.until(
      'a second failure',
      (state) => state.records['1']?.runs === 2 && state.claims['1']?.failures === 1,
    );
    await daemon.stop();

    expect(daemon.logLines.filter((one) => one.msg === 'workflow warning')).toHaveLength(2);
    const folder = join(daemon.stateDir, 'transcripts');
    const transcripts = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')));
    expect([JSON.stringify(daemon.logLines), ...transcripts].filter((text) => text.includes('canary'))).toEqual([]);
  });

  test('an invalid Liquid prompt is rejected at start, and a reload keeps the last good settings', async () => {
    await expect(testDaemon({ body: '{% if %}' })).rejects.toMatchObject({ code: 'template_parse_error' });

    const daemon = await testDaemon();
    await writeFile(daemon.workflowPath, workflowText({ body: '{{ issue.title | nope }}' }));

    // The file is written in place, so a warning about the empty file may appear too.
    const codes = () =>
      daemon.logLines.flatMap(({ msg, code }) =>
        msg === 'workflow is faulty, the last good settings stay' ? [code] : [],
      );
    await expect.poll(codes, { timeout: 10_000 }).toContain('template_parse_error');
  });
});

describe('at start the daemon', () => {
  test('removes leftover workspaces whose issues are terminal, and keeps the others', async () => {
    const tracker = new MemoryTracker();
    tracker.put({ id: '1', identifier: 'AB-1', state: 'Done' });
    tracker.put({ id: '2', identifier: 'AB-2', state: 'Backlog' });

    const daemon = await testDaemon({
      tracker,
      before: async (dir) => {
        const workspaces = createWorkspaces({ root: join(dir, 'workspaces'), scope: tracker.scope });
        await mkdir(join(dir, 'workspaces'));
        for (const id of ['1', '2'])
          await workspaces.confirmCreated(await workspaces.prepare({ id, identifier: `AB-${id}` }));
      },
    });
    // The record of the owner is removed after the folder.
    const owners = () => readdir(join(daemon.workspaces, '.baton/owners'));
    await expect.poll(owners, { timeout: 10_000 }).toEqual(['AB-2.json']);

    const folders = await readdir(daemon.workspaces);
    expect(folders).not.toContain('AB-1');
    expect(folders).toContain('AB-2');
  });

  test('removes half-deleted workspaces of an earlier daemon', async () => {
    const daemon = await testDaemon({
      before: (dir) => mkdir(join(dir, 'workspaces/.baton/trash/AB-1.x/deep'), { recursive: true }).then(() => {}),
    });

    // The start does not wait for it, because it may take long.
    await vi.waitFor(async () => expect(await readdir(join(daemon.workspaces, '.baton/trash'))).toEqual([]));
  });
});
