import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type ReportOptions, report } from '../../src/cli/report.js';
import { SINCE_FORMS } from '../../src/report/parse-since.js';
import { reportShape } from '../../src/report/report-json.js';
import { defaultStateDir } from '../../src/state-dir.js';
import { openSqliteStore } from '../../src/store/sqlite-store.js';
import { workflowKey } from '../../src/workflow/workflow-key.js';
import { failed, finished, HOUR_MS, NOON_MS, run } from '../report/report-samples.js';
import { change } from '../store/stored-samples.js';
import { type World, world } from './cli-fixture.js';
import { type Place, place } from './command.js';

const WORKFLOW = '---\ntracker: { kind: local }\n---\nGo\n';
const PRICED =
  '---\ntracker: { kind: local }\npricing: { currency: EUR, models: { big: { input: 2, output: 10 } } }\n---\nGo\n';
const PAST = {
  runs: [
    run({ labels: ['x', 'y'], author: 'ann', tokens: { input: 1_000_000, cached: 500_000, output: 100_000 } }),
    run({ issueId: 'B', end: failed }),
    run({ issueId: 'old', startedAtMs: NOON_MS - 90 * HOUR_MS }),
  ],
  finished: [finished()],
};

/** Fills the state of the workflow, or another folder, with a store that stays in use. */
async function filled(io: World, past: Parameters<typeof change>[0] = PAST, dir?: string) {
  const key = await workflowKey(join(io.dir, 'WORKFLOW.md'));
  const stateDir = dir ?? defaultStateDir(key, io.env, io.homeDir);
  mkdirSync(stateDir, { recursive: true });
  const store = openSqliteStore({ dir: stateDir, onWarning: () => {} });
  onTestFinished(() => store.close());
  await store.write(change(past));
  return { stateDir };
}

function call(io: World, options: Partial<ReportOptions> = {}): Promise<number> {
  const defaults = { workflowPath: 'WORKFLOW.md', since: '24h', by: 'issue', form: 'text' } as const;
  return report({ ...defaults, ...options }, io, NOON_MS + 1);
}

describe('baton report', () => {
  test('reports the stored runs with prices while the store is in use, and changes nothing', async () => {
    const io = world();
    io.write('WORKFLOW.md', PRICED);
    const { stateDir } = await filled(io);
    const before = readdirSync(stateDir).sort();

    const code = await call(io);

    expect({ code, err: io.err() }).toEqual({ code: 0, err: '' });
    expect(io.out()).toContain('  2 issues worked on, 1 done\n  2 runs: 1 finished, 1 failed\n');
    // 500 000 at 2, as many cached at the same price, 100 000 at 10.
    expect(io.out()).toMatch(/^A +Done +1 +finished +600k +3\.00 +10 min +Title of A$/m);
    expect(io.out()).not.toContain('old');
    expect(readdirSync(stateDir).sort()).toEqual(before);
  });

  test('reports only tokens without prices', async () => {
    const io = world();
    io.write('WORKFLOW.md', WORKFLOW);
    await filled(io);

    await call(io, { form: 'json' });

    expect(reportShape.parse(JSON.parse(io.out()))).toMatchObject({
      currency: null,
      totals: { cost: null },
      notes: [],
    });
  });

  test.each(['issue', 'label', 'author', 'day'] as const)('by %s, its JSON has the documented shape', async (by) => {
    const io = world();
    io.write('WORKFLOW.md', PRICED);
    const { stateDir } = await filled(io);

    const code = await call(io, { by, form: 'json', since: '7d' });

    const json = reportShape.parse(JSON.parse(io.out()));
    expect(code).toBe(0);
    expect(json).toMatchObject({ by, state_dir: stateDir, currency: 'EUR', totals: { runs: { all: 3 } } });
    expect(json.until).toBe(new Date(NOON_MS + 1).toISOString());
  });

  test('its Markdown is a table', async () => {
    const io = world();
    io.write('WORKFLOW.md', WORKFLOW);
    await filled(io);

    await call(io, { form: 'md', by: 'label' });

    expect(io.out()).toMatch(/^\| label \| issues \|.*\n\| --- \| --: .*\n\| `x` \| 1 \| 1 \|/m);
    expect(io.out()).toContain('> An issue with several labels counts under each of them');
  });

  test('an invalid workflow costs the prices, not the report', async () => {
    const io = world();
    io.write('WORKFLOW.md', '---\ntracker: [\n---\n');
    await filled(io);

    const code = await call(io);

    expect(code).toBe(0);
    expect(io.out()).toMatch(/^A +Done +1 +finished/m);
    expect(io.out()).toContain(
      'There are no prices, because the workflow cannot be read: "workflow_parse_error: WORKFLOW.md:',
    );
  });

  test('a state directory that is named needs no workflow', async () => {
    const io = world();
    await filled(io, PAST, join(io.dir, 'state'));

    const code = await call(io, { stateDir: 'state' });

    expect(code).toBe(0);
    expect(io.out()).toMatch(/^A +Done/m);
    expect(io.out()).toContain('There are no prices, because the workflow cannot be read: "missing_workflow_file');
  });

  test('titles cannot move the cursor, in no form', async () => {
    const io = world();
    io.write('WORKFLOW.md', WORKFLOW);
    const title = 'red \u001b[31m\u202e text\nWhat Baton did';
    await filled(io, { runs: [run({ title })] });

    for (const form of ['text', 'md', 'json'] as const) await call(io, { form });

    expect(io.out()).not.toMatch(/\p{Cc}(?<!\n)|\u202e|^What Baton did$/mu);
    expect(io.out()).toContain('"title": "red \\u001b[31m\\u202e text\\nWhat Baton did"');
  });
});

describe('an empty report', () => {
  test('names the state directory and the last run', async () => {
    const io = world();
    io.write('WORKFLOW.md', WORKFLOW);
    const { stateDir } = await filled(io, { runs: [run({ startedAtMs: NOON_MS - 90 * HOUR_MS })] });

    const code = await call(io);

    expect(code).toBe(0);
    expect(io.out()).toMatch(/^Baton did nothing from .* to .*\.\n\nThe last run in "/);
    expect(io.out()).toContain(`"${stateDir}" began 2026-11-1`);
    const again = /--since (\S+) shows it/.exec(io.out())?.[1] ?? '';
    await call(io, { since: again });
    expect(io.out()).toMatch(/^A +– +1 +finished/m);
  });

  test('before the first start reports that, and creates nothing', async () => {
    const io = world();
    io.write('WORKFLOW.md', WORKFLOW);

    const code = await call(io);

    expect(code).toBe(0);
    expect(io.out()).toContain(`There is no state in "${join(io.homeDir, '.local/state/baton')}`);
    expect(existsSync(join(io.homeDir, '.local'))).toBe(false);
  });

  test('is whole as JSON and as Markdown too', async () => {
    const io = world();
    io.write('WORKFLOW.md', WORKFLOW);

    await call(io, { form: 'json' });
    const json = reportShape.parse(JSON.parse(io.out()));
    await call(io, { form: 'md' });

    expect(json).toMatchObject({ groups: [], totals: { runs: { all: 0 } } });
    expect(json.notes).toEqual([expect.stringMatching(/^There is no state in /)]);
    expect(io.out()).toMatch(/## Baton did nothing from .*\n\n> There is no state in `/);
  });
});

describe('an invalid report request', () => {
  test.each(['', 'tomorrow', '2026-02-30'])('--since %j is a wrong call that names the forms', async (since) => {
    const io = world();
    io.write('WORKFLOW.md', WORKFLOW);

    const code = await call(io, { since });

    expect({ code, out: io.out() }).toEqual({ code: 2, out: '' });
    expect(io.err()).toBe(`baton: --since ${JSON.stringify(since)}: it must be ${SINCE_FORMS}\n`);
  });

  test('a workflow that is not there and never was is a wrong call', async () => {
    const io = world();

    const code = await call(io, { workflowPath: 'other.md' });

    expect({ code, out: io.out() }).toEqual({ code: 2, out: '' });
    expect(io.err()).toMatch(/^baton: missing_workflow_file: .*other\.md/);
  });

  test('a state directory that is not there is a wrong call', async () => {
    const io = world();
    io.write('WORKFLOW.md', WORKFLOW);

    const code = await call(io, { stateDir: 'nowhere' });

    expect({ code, err: io.err() }).toEqual({
      code: 2,
      err: `baton: there is no state directory ${join(io.dir, 'nowhere')}\n`,
    });
  });

  test('a damaged store is named and left unchanged', async () => {
    const io = world();
    mkdirSync(join(io.dir, 'state'));
    writeFileSync(join(io.dir, 'state/baton.db'), 'no database '.repeat(1_000));

    const code = await call(io, { stateDir: 'state' });

    expect({ code, out: io.out() }).toEqual({ code: 1, out: '' });
    expect(io.err()).toMatch(/^baton: store_failed: .*state\/baton\.db/);
    expect(readdirSync(join(io.dir, 'state'))).toEqual(['baton.db']);
  });
});

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

test('the report of another folder is selected by its workflow', async () => {
  const here = project();
  here.write('elsewhere/x', '');

  const { code, stdout } = await here.baton('report', join('elsewhere', '..', 'WORKFLOW.md'));

  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('There is no state in ') });
});
