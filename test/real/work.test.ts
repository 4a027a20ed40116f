import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { threadOf } from './baton-process.js';
import { gitRemote } from './git-remote.js';
import { textOf, toolOutputs } from './mock-model.js';
import { moveIssue, run, say } from './mock-replies.js';
import { testBed } from './test-bed.js';
import { until } from './until.js';

test('a file made by a shell command in the sandbox is committed and pushed to the branch of the issue, and the issue is Done', async () => {
  const bed = await testBed({
    settings: `hooks:
  after_create: BATON_REPO_URL="$BATON_WORKSPACE/../../remote.git" bash "$BATON_HOOKS/clone-or-update.sh"
  after_run: bash "$BATON_HOOKS/commit-and-push.sh"`,
  });
  const { board, model, dir } = bed;
  const remote = gitRemote(bed);
  board.add('TASK-1', 'Write a file');
  const outside = join(dir, 'outside-of-the-workspace');
  model.script(
    'TASK-1',
    run(
      `cat README > made-by-codex.txt && echo made >> made-by-codex.txt; echo x > '${outside}'; echo said-by-the-command`,
    ),
    moveIssue('Done'),
    say('I made the file.'),
  );

  const baton = bed.start();
  await baton.line('workspace removed', { issue_identifier: 'TASK-1' });
  await baton.stop();

  expect(remote.git('show', 'baton/TASK-1:made-by-codex.txt')).toBe('hello\nmade');
  expect(remote.git('log', '-1', '--format=%s', 'baton/TASK-1')).toBe('TASK-1: Write a file');
  expect(remote.git('rev-list', '--count', 'main')).toBe('1');
  expect(board.state('TASK-1')).toBe('Done');
  const [output = ''] = toolOutputs(model.requests[1]);
  expect(output).toContain('said-by-the-command');
  // The command wrote into a folder of its own sandbox.
  expect(existsSync(outside)).toBe(false);
});

test('update_issue called by the agent moves its issue, and the turn is allowed to end', async () => {
  const { board, model, dir, start, transcripts } = await testBed({ settings: 'server: { port: 0 }' });
  board.add('TASK-1', 'Move me', 'A text that only the board has.');
  // The turn lasts until Baton has logged the move: a check of the state alone would stop the run here.
  const cleanUp = run('mkfifo gate && cat gate');
  model.script('TASK-1', moveIssue('Done', 'All is well.'), cleanUp, say('I am done.'));

  const baton = start();
  const { url } = await baton.line('serving status over HTTP');
  const token = readFileSync(join(dir, 'state', 'http-token'), 'utf8').trim();
  const headers = { authorization: `Bearer ${token}` };
  await until('a running issue that is Done', 30_000, async () => {
    const state = (await (await fetch(`${url}/api/v1/state`, { headers })).json()) as { running: { state: string }[] };
    return state.running[0]?.state === 'Done' ? true : undefined;
  });
  const gate = join(dir, 'workspaces', 'TASK-1', 'gate');
  await until('the command at its gate', 30_000, () => (existsSync(gate) ? true : undefined));
  await writeFile(gate, 'cleaned up');
  const ended = await baton.line('run ended', { issue_identifier: 'TASK-1' });
  await baton.line('workspace removed');
  await baton.stop();

  expect(ended).toMatchObject({ outcome: 'success', turns: 1 });
  expect(baton.lines('stopping run')).toEqual([]);
  expect(baton.lines('run started')).toHaveLength(1);
  expect(board.state('TASK-1')).toBe('Done');
  expect(board.text('TASK-1')).toContain('All is well.');
  const [first, , third] = model.requests;
  expect(first?.tools).toContain('update_issue');
  expect(first?.apiKey).toBe('key-of-the-mock-model');
  expect(first?.input.map(textOf).join()).toContain('A text that only the board has.');
  expect(toolOutputs(third)).toEqual([
    expect.stringContaining('The issue is now in "Done".'),
    expect.stringContaining('cleaned up'),
  ]);
  expect(transcripts()).toContain('I am done.');
});

test('an issue that was not moved gets a second turn on the same thread, with guidance to continue', async () => {
  const { board, model, start } = await testBed();
  board.add('TASK-1', 'Take two turns');
  model.script('TASK-1', say('The first half is done.'), moveIssue('Done'), say('The second half is done.'));

  const baton = start();
  const ended = await baton.line('run ended', { issue_identifier: 'TASK-1' });
  await baton.stop();

  expect(ended).toMatchObject({ outcome: 'success', turns: 2 });
  const threads = baton.lines('turn began').map(threadOf);
  expect(threads).toHaveLength(2);
  expect(new Set(threads).size).toBe(1);
  const history = model.requests[1]?.input.map(textOf) ?? [];
  const places = ['Work on TASK-1: Take two turns', 'The first half is done.', 'This is turn 2 of at most 20'].map(
    (words) => history.findIndex((text) => text.includes(words)),
  );
  expect(places).not.toContain(-1);
  expect(places).toEqual([...places].sort((a, b) => a - b));
});

test('a command that asks to leave the sandbox is declined, and the turn continues to its end', async () => {
  const { board, model, dir, start, transcripts } = await testBed({ codex: 'approval_policy: on-request' });
  board.add('TASK-1', 'Ask for more');
  const outside = join(dir, 'outside-of-the-workspace');
  const escalated = { sandbox_permissions: 'require_escalated', justification: 'May I write outside?' };
  model.script('TASK-1', run(`touch '${outside}'`, escalated), moveIssue('Done'), say('I went on without it.'));

  const baton = start();
  const ended = await baton.line('run ended', { issue_identifier: 'TASK-1' });
  await baton.stop();

  expect(ended).toMatchObject({ outcome: 'success', turns: 1 });
  expect(transcripts()).toContain('item/commandExecution/requestApproval');
  expect(toolOutputs(model.requests[1])).toEqual([expect.stringContaining('rejected')]);
  expect(existsSync(outside)).toBe(false);
  expect(board.state('TASK-1')).toBe('Done');
});
