import { execFileSync } from 'node:child_process';
import { expect, inject, test } from 'vitest';
import { moveIssue, run, say } from './mock-replies.js';
import { testBed } from './test-bed.js';

test('tasks created with the Backlog.md CLI run in the order of their dependencies, and the CLI lists them under Done', async () => {
  const { dir, env, model, start } = await testBed();
  const backlog = (...args: string[]) =>
    execFileSync(process.execPath, [inject('backlog'), ...args], {
      cwd: dir,
      env,
      encoding: 'utf8',
      timeout: 30_000,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  execFileSync('git', ['init', '--quiet'], { cwd: dir, env });
  backlog('init', 'demo', '--defaults', '--integration-mode', 'none');
  backlog('task', 'create', 'Lay the ground', '-d', 'Described on the command line', '--priority', 'high');
  backlog('task', 'create', 'Build on it', '--dep', 'TASK-1');
  backlog('task', 'create', 'Something else', '--labels', 'small');
  for (const id of ['TASK-1', 'TASK-2', 'TASK-3']) {
    model.script(id, run(`echo ${id} > made.txt`), moveIssue('Done', 'Made by an agent.'), say('Done.'));
  }
  expect(backlog('task', 'list', '--plain')).toMatch(/^To Do:/);

  const baton = start();
  for (const id of ['TASK-1', 'TASK-2', 'TASK-3']) await baton.line('workspace removed', { issue_identifier: id });
  await baton.stop();

  const listing = backlog('task', 'list', '--plain');
  expect(listing).toMatch(/^Done:/);
  expect(listing).not.toContain('To Do:');
  for (const title of ['Lay the ground', 'Build on it', 'Something else']) expect(listing).toContain(title);
  const seen = backlog('task', 'view', 'TASK-1', '--plain');
  expect(seen).toContain('Described on the command line');
  expect(seen).toContain('Made by an agent.');
  // The second request of TASK-1 is the one whose answer moves it.
  const moved = model.requestsOf('TASK-1')[1];
  const next = model.requestsOf('TASK-2')[0];
  expect(moved && next && model.requests.indexOf(moved) < model.requests.indexOf(next)).toBe(true);
});
