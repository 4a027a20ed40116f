import { join } from 'node:path';
import { expect, test } from 'vitest';
import { reportShape } from '../../../src/report/report-json.js';
import { type Place, place } from '../command.js';

/** With prices for the demo agent, and an issue for it. */
function project(): Place {
  const here = place();
  here.workflow('pricing: { models: { demo: { input: 2, cached_input: 1, output: 10 } } }');
  here.issue(1, 'Say hello', '- write `hello.txt`: hello', 'status: To Do\nlabels: [docs]');
  return here;
}

test('a report of work that the demo agent did names issue, runs, tokens and money, while the daemon is at work', async () => {
  const here = project();
  here.issue(2, 'Take long', '- run `sleep 600`');
  const { child, ended } = here.start('--log-level', 'info');
  const isAtWork = new Promise<'at work'>((resolve) => {
    let log = '';
    child.stderr?.on('data', (chunk) => {
      log += chunk;
      if (log.includes('issue is done') && log.split('run started').length > 2) resolve('at work');
    });
  });
  expect(await Promise.race([isAtWork, ended])).toBe('at work');

  const [json, text, byDay] = [
    await here.baton('report', '--json'),
    await here.baton('report', '--since', 'today'),
    await here.baton('report', '--by', 'day', '--md'),
  ];
  child.kill('SIGTERM');
  await ended;
  const after = await here.baton('report', '--json');

  const report = reportShape.parse(JSON.parse(json.stdout));
  expect({ code: json.code, stderr: json.stderr }).toEqual({ code: 0, stderr: '' });
  expect(report.totals).toMatchObject({
    issues: { worked_on: 2, done: 1, handed_over: 0 },
    runs: { success: 1, running: 1 },
    cost: { is_partial: false },
  });
  expect(report.totals.cost?.amount).toBeGreaterThan(0);
  expect(report.groups).toMatchObject([
    { name: 'TASK-1', issue: { title: 'Say hello', state: 'Done', is_done: true, runs: [{ model: 'demo' }] } },
    { name: 'TASK-2', issue: { state: null, runs: [{ outcome: 'running', ended_at: null }] } },
  ]);
  expect(text.stdout).toMatch(/^TASK-1 +Done +1 +finished .*Say hello$/m);
  expect(byDay.stdout).toMatch(/^\| \d{4}-\d\d-\d\d \| 2 \| 1 \|/m);
  expect(reportShape.parse(JSON.parse(after.stdout)).totals.runs).toMatchObject({ cancelled: 1, running: 0 });
});

test.each([
  [['report', '--since', 'soon'], /--since "soon": it must be today, yesterday/],
  [['report', '--by', 'week'], /Allowed choices are issue, label, author, day/],
  [['report', '--json', '--md'], /'--json' cannot be used with option '--md'/],
  [['report', '--nope'], /unknown option/],
  [['report', 'WORKFLOW.md', 'more'], /too many arguments/],
  [['report', '--state-dir', 'nowhere'], /there is no state directory/],
])('baton %j is a wrong call', async (args, message) => {
  const here = project();

  expect(await here.baton(...args)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(message) });
});

test('the report of another folder is asked for by its workflow', async () => {
  const here = project();
  here.write('elsewhere/x', '');

  const { code, stdout } = await here.baton('report', join('elsewhere', '..', 'WORKFLOW.md'));

  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('There is no state in ') });
});
