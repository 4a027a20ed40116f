import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { place } from './command.js';

describe('a place where it cannot work', () => {
  test('a folder that is no git repository: init says what still works', async () => {
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

  test.skipIf(process.platform !== 'linux')('a state directory where none can be is told at once', async () => {
    const here = place();
    here.workflow();
    here.issue(1, 'A', 'x');

    const { code, stderr } = await here.baton('--once', '--state-dir', '/proc/baton/state');

    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/\/proc\/baton.*--state-dir/) });
  });

  test('an empty HOME puts nothing into the folder that one is in', async () => {
    const here = place();
    here.workflow();

    await here.with({ HOME: '' }, '--once', '--state-dir', 'state');

    expect(readdirSync(here.dir).sort()).not.toContain('.local');
  });

  test('a temp folder that is not there is named, with what to set', async () => {
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

  test('a backlog that is not there: what to do is told by run, check and render', async () => {
    const here = place();
    here.workflow();

    const all = await Promise.all([here.baton('--once'), here.baton('check'), here.baton('render', 'TASK-1')]);

    for (const { code, stdout, stderr } of all) {
      expect(`${stdout}${stderr}`).toMatch(/backlog[\s\S]*(baton init|tracker\.provider\.path)/);
      expect(code).toBe(1);
    }
  });
});
