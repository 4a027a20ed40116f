import { cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { git } from './cli-fixture.js';
import { demoAgent, place } from './command.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('the WORKFLOW.md of this repository starts nothing without its label', async () => {
  const { code, stdout } = await place().baton('--dry-run', join(ROOT, 'WORKFLOW.md'));

  expect(stdout).toMatch(/Would not start:\n {2}TASK-1 .*it lacks the label "baton"\n$/);
  expect(code).toBe(0);
});

test('the WORKFLOW.md of this repository clones the folder it lies in, and pushes the work to the branch of the issue', async () => {
  const here = place();
  cpSync(join(ROOT, 'docs/backlog'), join(here.dir, 'docs/backlog'), { recursive: true });
  const [task = ''] = readdirSync(join(here.dir, 'docs/backlog/tasks'));
  const file = `docs/backlog/tasks/${task}`;
  here.write(file, here.read(file).replace('labels: []', 'labels: [baton]'));
  cpSync(join(ROOT, 'WORKFLOW.md'), join(here.dir, 'WORKFLOW.md'));
  here.write('WORKFLOW.md', here.read('WORKFLOW.md').replace(/command: codex app-server.*/, `command: ${demoAgent()}`));
  // A package without dependencies, for the `npm ci` of its hook.
  here.write('package.json', '{ "name": "x", "version": "1.0.0" }');
  const lock = { name: 'x', version: '1.0.0', lockfileVersion: 3, packages: { '': { name: 'x', version: '1.0.0' } } };
  here.write('package-lock.json', JSON.stringify(lock));
  git(here.dir, 'init', '--quiet');
  git(here.dir, 'add', '--all');
  git(here.dir, 'commit', '--quiet', '-m', 'Begin');

  const { code, stdout } = await here.baton('run', '--issue', 'TASK-1');

  expect(stdout).toContain('1 run, no failures.');
  expect(git(here.dir, 'show', 'baton/TASK-1:NOTES.md')).toContain('Complete commands and flags in bash');
  expect(here.read(file)).toContain('status: Done');
  expect(code).toBe(0);
});
