import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { place, processesIn } from '../command.js';

const START = ['init', '--tracker', 'command', '--agent', 'demo', '-y'];

test('the files of init for a command tracker pass the check and run unchanged, with the shipped program', async () => {
  const here = place();

  const written = await here.baton(...START);
  const checked = await here.baton('check', '--json');
  const ran = await here.baton('run', '--issue', 'TASK-1');

  const { findings, summary } = JSON.parse(checked.stdout) as {
    findings: { level: string; group: string }[];
    summary: object;
  };
  expect(written).toMatchObject({ code: 0, stdout: expect.stringMatching(/tracker\.mjs\n {2}board\.json\n/) });
  expect(written.stdout).toMatch(/run --issue TASK-1\n$/);
  expect(findings.filter(({ level, group }) => group !== 'Isolation' && level !== 'note')).toEqual([]);
  expect(summary).toMatchObject({ eligible: 1 });
  expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining('1 run, no failures.') });
  expect(JSON.parse(here.read('board.json'))).toMatchObject({ issues: [{ identifier: 'TASK-1', state: 'Done' }] });
  expect(processesIn(here.dir)).toEqual([]);
});

test('an existing program and board are not changed', async () => {
  const here = place();
  await here.baton(...START);
  here.write('tracker.mjs', '// mine\n');
  rmSync(join(here.dir, 'WORKFLOW.md'));

  const { code, stdout } = await here.baton(...START);

  expect(code).toBe(0);
  expect(stdout).not.toMatch(/tracker\.mjs|board\.json/);
  expect(stdout).toMatch(/run --dry-run\n$/);
  expect(here.read('tracker.mjs')).toBe('// mine\n');
});
