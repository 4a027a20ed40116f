import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { place } from './command.js';

describe('a place where it cannot work', () => {
  test('a folder that is not a git repository: init reports what still works', async () => {
    const here = place();

    const { code, stdout, stderr } = await here.baton('init');

    expect(stdout).toContain('There is no terminal for questions: the proposals are taken.');
    expect(`${stdout}${stderr}`).toContain('this is not a git repository');
    expect(existsSync(join(here.dir, 'WORKFLOW.md'))).toBe(true);
    expect(code).toBe(0);
  });

  test('a WORKFLOW.md that is there already is not touched by init', async () => {
    const here = place();
    here.write('WORKFLOW.md', 'mine');

    const { code, stderr } = await here.baton('init', '--yes');

    expect({ code, text: here.read('WORKFLOW.md') }).toEqual({ code: 2, text: 'mine' });
    expect(stderr).toContain('WORKFLOW.md');
    expect(readdirSync(here.dir)).toEqual(['WORKFLOW.md']);
  });

  test('a file in place of the state directory is reported with the remedy', async () => {
    const here = place();
    here.workflow();
    here.issue(1, 'A', 'x');
    writeFileSync(join(here.dir, 'taken'), '');

    const { code, stderr } = await here.baton('--once', '--state-dir', 'taken');

    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/store_failed: .*taken.*--state-dir/) });
  });

  test.skipIf(process.platform !== 'linux')('an impossible state directory is reported at once', async () => {
    const here = place();
    here.workflow();
    here.issue(1, 'A', 'x');

    const { code, stderr } = await here.baton('--once', '--state-dir', '/proc/baton/state');

    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/\/proc\/baton.*--state-dir/) });
  });

  test('an empty HOME writes nothing to the current folder', async () => {
    const here = place();
    here.workflow();

    await here.with({ HOME: '' }, '--once', '--state-dir', 'state');

    expect(readdirSync(here.dir).sort()).not.toContain('.local');
  });

  test('a missing temporary folder is named, with the variable to set', async () => {
    const here = place();
    here.workflow();
    here.issue(1, 'A', 'x');

    const { code, stderr } = await here.with({ TMPDIR: join(here.dir, 'none') }, '--once');

    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/project\/none.*TMPDIR/) });
  });

  test('a log file that cannot be written costs its lines, not the work', async () => {
    const here = place();
    here.workflow();
    here.issue(1, 'A', '- write `a.txt`: a');
    here.write('taken', '');

    const { code, stdout, stderr } = await here.baton('--once', '--log-file', 'taken/x.log', '--log-level', 'info');

    expect(stdout).toContain('1 run, no failures.');
    expect(stderr).toMatch(/taken.*log sink failed/);
    expect(code).toBe(0);
  });

  test('a missing backlog: run, check and render print the remedy', async () => {
    const here = place();
    here.workflow();

    const all = await Promise.all([here.baton('--once'), here.baton('check'), here.baton('render', 'TASK-1')]);

    for (const { code, stdout, stderr } of all) {
      expect(`${stdout}${stderr}`).toMatch(/backlog[\s\S]*(baton init|tracker\.provider\.path)/);
      expect(code).toBe(1);
    }
  });
});
