import { expect, test } from 'vitest';
import { git } from '../cli-fixture.js';
import { type Place, place } from '../command.js';

/** A project whose hooks clone it and push nothing, with one issue for the demo agent. */
function project(): Place {
  const here = place();
  here.workflow(
    `hooks: { after_create: 'BATON_REPO_URL="$BATON_WORKFLOW_DIR" bash "$BATON_HOOKS/clone-or-update.sh"' }`,
  );
  here.issue(1, 'Say hello', '- write `hello.txt`: hello');
  git(here.dir, 'init', '--quiet');
  git(here.dir, 'add', 'WORKFLOW.md');
  git(here.dir, 'commit', '--quiet', '-m', 'first');
  return here;
}

test('work that no hook pushed is reported when its workspace is removed, and can be restored', async () => {
  const here = project();

  const { stdout: told } = await here.baton('--once');
  const listed = await here.baton('recover');
  const { code, stdout } = await here.baton('recover', 'task-1');

  expect(told).toContain(
    'TASK-1     unpushed work was saved before the workspace is removed: baton recover TASK-1 brings it back\n',
  );
  expect(listed).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^TASK-1 {2}Say hello\n {2}.*--saved TASK-1@/),
  });
  expect(code).toBe(0);
  expect(stdout).toContain('  git switch recovered/TASK-1\n');
  expect(git(here.dir, 'show', 'recovered/TASK-1:hello.txt')).toBe('hello');
  expect(git(here.dir, 'branch', '--show-current')).toBe('main');
});

test('recover works while the daemon runs, and for a workflow that no longer loads', async () => {
  const here = project();
  await here.baton('--once');
  const { child, ended } = here.start('--log-level', 'info');
  await new Promise<void>((resolve) => {
    child.stderr?.on('data', (chunk) => String(chunk).includes('nothing to start') && resolve());
  });

  const during = await here.baton('recover', 'TASK-1');
  child.kill('SIGTERM');
  await ended;
  here.write('WORKFLOW.md', '---\ntracker: [\n---\n');
  const after = await here.baton('recover', 'TASK-1');

  expect([during.code, after.code]).toEqual([0, 0]);
});

test.each([
  [['recover', 'TASK-1', 'WORKFLOW.md', 'more'], 2, /too many arguments/],
  [['recover', '--nope'], 2, /unknown option/],
  [['recover', 'TASK-1', 'other.md'], 2, /missing_workflow_file: there is no other\.md/],
  [['recover', 'TASK-1'], 1, /recover_failed: no daemon has run with WORKFLOW\.md/],
])('baton %j is refused with exit %i', async (args, code, message) => {
  const here = place();
  here.workflow();

  expect(await here.baton(...args)).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(message) });
});
