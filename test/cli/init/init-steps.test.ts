import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { git } from '../cli-fixture.js';
import { type Place, place, processesIn } from '../command.js';

const RUN = '.baton/capabilities/skill/leftovers/run.mjs';
const START = ['init', '--steps', '--agent', 'demo', '-y'];

function repository(): Place {
  const here = place();
  git(here.dir, 'init', '--quiet');
  git(here.dir, 'commit', '--quiet', '--allow-empty', '--message', 'first');
  return here;
}

test('the files of init --steps pass the check and run unchanged to the last step, with the demo agent', async () => {
  const here = repository();

  const written = await here.baton(...START);
  const checked = await here.baton('check', '--json');
  const ran = await here.baton('run', '--issue', 'TASK-1');

  const { findings } = JSON.parse(checked.stdout) as { findings: { level: string; group: string }[] };
  expect([written.code, checked.code]).toEqual([0, 0]);
  expect(findings.filter(({ level, group }) => group !== 'Isolation' && level !== 'note')).toEqual([]);
  expect(ran.stdout).toMatch(
    /work done[\s\S]*look done[\s\S]*fix skipped[\s\S]*tidy done[\s\S]*review done[\s\S]*note done/,
  );
  expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining('1 run, no failures.') });
  expect(JSON.parse(here.read('baton-journal.jsonl'))).toMatchObject({
    input: { task_id: 'TASK-1', rounds: 1, clean: true },
    task: { id: 'TASK-1' },
  });
  expect(here.read('backlog/tasks/task-1 - Say-hello.md')).toContain('status: Done');
  expect(git(here.dir, 'branch', '--list', 'baton/TASK-1')).toContain('baton/TASK-1');
  expect(processesIn(here.dir)).toEqual([]);
});

test('init --steps can be run again after WORKFLOW.md was deleted, and does not change the skill', async () => {
  const here = repository();
  await here.baton(...START);
  here.write(RUN, '// mine\n');
  rmSync(join(here.dir, 'WORKFLOW.md'));

  const { code, stdout } = await here.baton(...START);

  expect(code).toBe(0);
  expect(stdout).not.toContain('run.mjs');
  expect(here.read(RUN)).toBe('// mine\n');
});
