import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { place, processesIn } from './command.js';

test('the demo finishes five issues, keeps their work, tells where it is, and leaves no process', async () => {
  const here = place();

  const { code, stdout, stderr } = await here.baton('demo');

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  // Two at a time: the third begins after one of the first two has ended.
  expect(stdout.indexOf('TASK-4   ▶')).toBeGreaterThan(stdout.search(/[✓✗]/));
  expect(stdout).toMatch(
    /TASK-3 {3}✗ failed.*\nTASK-3 {5}tries again in [\d.]+ s\n[\s\S]*TASK-3 {3}▶ .*\(run 2, retry\)/,
  );
  expect(stdout).toMatch(/TASK-4 {5}turn 2 began/);
  expect(stdout.indexOf('TASK-2   ▶')).toBeGreaterThan(stdout.indexOf('TASK-1   ✓'));
  expect(stdout).toContain('All 5 issues are done.');
  expect(stdout).toContain('git -C baton-demo/project.git log --all');
  const repository = join(here.dir, 'baton-demo', 'project.git');
  const branches = execFileSync('git', ['-C', repository, 'branch', '--format=%(refname:short)'], { encoding: 'utf8' });
  expect(branches.trim().split('\n')).toEqual([
    'baton/TASK-1',
    'baton/TASK-2',
    'baton/TASK-3',
    'baton/TASK-4',
    'baton/TASK-5',
    'main',
  ]);
  expect(execFileSync('git', ['-C', repository, 'show', 'baton/TASK-1:greeting.txt'], { encoding: 'utf8' })).toContain(
    'Hello',
  );
  for (const name of readdirSync(join(here.dir, 'baton-demo/backlog/tasks')))
    expect(here.read(`baton-demo/backlog/tasks/${name}`)).toContain('status: Done');
  expect(processesIn(here.dir)).toEqual([]);
});

test('with an agent that is not installed the demo says what is missing, and exits 1', async () => {
  const here = place();

  const { code, stdout } = await here.baton('demo', 'tryout', '--agent', 'codex');

  expect(stdout).toMatch(/did not come to its end: .*codex/);
  expect(code).toBe(1);
});

test('a demo that is stopped says so, leaves no process, and exits 1', async () => {
  const here = place();
  const { child, ended } = here.start('demo');
  await new Promise<void>((resolve) => {
    child.stdout?.on('data', (text: string) => text.includes('▶') && resolve());
  });

  child.kill('SIGTERM');
  const { code, stdout } = await ended;

  expect(stdout).toContain('The demo did not come to its end: it was stopped before everything was done');
  expect({ code, left: processesIn(here.dir) }).toEqual({ code: 1, left: [] });
});
